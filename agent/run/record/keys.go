package record

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/mcpchain/mcpchain/agent/run"
)

const (
	maxSecretName = 255 // bytes; a box has the length in one byte
	secretSize    = 32  // bytes of a key of AES-256
)

// Keys encrypt with AES-256-GCM. Each run has keys of its own, which are derived from the secret, so one
// secret is good for any number of runs with up to 2^32 records each. Keys may be used concurrently. [NewKeys] makes
// them; to encrypt with the zero Keys panics.
type Keys struct {
	current string
	secrets map[string][]byte
}

// NewKeys returns keys that encrypt with the current secret, and decrypt what any of the secrets encrypted. A
// secret is 32 random bytes. Its name, of 1 to 255 bytes, is not secret: it precedes everything that the
// secret has encrypted. To rotate, add a secret with another name, and keep the previous one for as long as
// something encrypted by it exists. It is an error if the current secret is missing, if a secret or its name
// has another length, or if all bytes of a secret are equal.
func NewKeys(current string, secrets map[string][]byte) (*Keys, error) {
	if secrets[current] == nil {
		return nil, fmt.Errorf("keys: there is no secret %q, the current one", current)
	}
	k := &Keys{current: current, secrets: map[string][]byte{}}
	for name, key := range secrets {
		switch {
		case name == "" || len(name) > maxSecretName:
			return nil, fmt.Errorf("keys: the name of a secret has %d bytes, want 1 to %d", len(name), maxSecretName)
		case len(key) != secretSize:
			return nil, fmt.Errorf("keys: secret %q has %d bytes, want %d", name, len(key), secretSize)
		case bytes.Count(key, key[:1]) == len(key):
			return nil, fmt.Errorf("keys: secret %q is one byte %d times", name, secretSize)
		}
		k.secrets[name] = bytes.Clone(key)
	}
	return k, nil
}

// Format writes the name of the current secret and no secret, whatever the verb.
func (k *Keys) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "keys "+k.current) }

// ErrUnknownKey is the error of decryption without the secret that encrypted.
var ErrUnknownKey = errors.New("sealed with an unknown key")

// errForged is the error of sealed data that does not authenticate.
var errForged = fmt.Errorf("%w: sealed data was changed, truncated or moved", ErrCorrupt)

// maxSealed bounds the input of Seal and Open, in bytes.
const maxSealed = 16 << 20

// Seal encrypts and authenticates state of a run that leaves the process, for example in a
// page. A state of more than 16 MiB is an error.
//
// Seal does not prevent replay: older states stay valid. If a state must not be used twice,
// store a digest of the latest one.
func (k *Keys) Seal(key run.Key, state []byte) (string, error) {
	if len(state) > maxSealed {
		return "", fmt.Errorf("seal run %q: its state has %d bytes, want at most %d", key.ID, len(state), maxSealed)
	}
	box := k.forRun(key).seal(k.current, "state", "", state, rand.Text())
	return base64.RawURLEncoding.EncodeToString(box), nil
}

// Open decrypts what Seal returned for a run. The error matches [ErrUnknownKey] or [ErrCorrupt],
// unless the state is longer than 16 MiB.
func (k *Keys) Open(key run.Key, sealed string) ([]byte, error) {
	state, err := k.open(key, sealed)
	if err != nil {
		return nil, fmt.Errorf("open run %q: %w", key.ID, err)
	}
	return state, nil
}

func (k *Keys) open(key run.Key, sealed string) ([]byte, error) {
	if n := base64.RawURLEncoding.DecodedLen(len(sealed)); n > maxSealed+1<<10 {
		return nil, fmt.Errorf("sealed state has %d bytes, want at most %d", n, maxSealed)
	}
	if len(sealed)%4 == 1 { // a length that base64 cannot have: it was cut
		sealed = sealed[:len(sealed)-1]
	}
	box, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errForged, err)
	}
	return k.forRun(key).unseal("state", "", box)
}

// frame concatenates texts so that different lists of texts have different results.
func frame(texts ...string) []byte {
	var b []byte
	for _, s := range texts {
		b = binary.BigEndian.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	return b
}

// A box is: its form; the length of the secret's name, and the name; a mark of the run; the
// length of what follows; a nonce; the ciphertext with its tag. It authenticates all of this
// and its place: its kind ("state", "record", "answer", "blob"), its run, and the number of the
// record, the id of the question or the name of the blob.
const (
	boxForm   = 1
	markSize  = 8
	nonceSize = 12
	tagSize   = 16
)

type runKeys struct {
	*Keys
	run     run.Key
	derived map[string]*subkeys // by the name of their secret
}

// subkeys are the keys that a secret gives a run.
type subkeys struct {
	aead   cipher.AEAD
	nonces []byte // the key by which nonces are derived
	mark   []byte // distinguishes runs
}

// forRun returns the keys of a run. They are for one goroutine.
func (k *Keys) forRun(run run.Key) *runKeys { return &runKeys{k, run, map[string]*subkeys{}} }

// derive returns the keys that a secret gives the run. It derives them once.
func (k *runKeys) derive(secret string) *subkeys {
	if d := k.derived[secret]; d != nil {
		return d
	}
	if k.secrets[secret] == nil {
		panic("record: Keys have no secret: make them with NewKeys")
	}
	info := frame("mcpchain run", k.run.Tenant, k.run.ID)
	key, err := hkdf.Key(sha256.New, k.secrets[secret], nil, string(info), 32+32+markSize)
	if err != nil {
		panic(err) // impossible for this length
	}
	block, err := aes.NewCipher(key[:32])
	if err != nil {
		panic(err) // impossible for a key of 32 bytes
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // impossible for AES
	}
	d := &subkeys{aead, key[32:64], key[64:]}
	k.derived[secret] = d
	return d
}

// additionalData returns what a box with that header authenticates besides its text. place is the
// number of the record, the id of the question or the name of the blob.
func (k *runKeys) additionalData(kind, place string, header []byte) []byte {
	return append(frame(kind, k.run.Tenant, k.run.ID, place), header...)
}

// seal returns a box. The nonce is derived from the seed, the place and the text, so that with
// equal seeds equal texts have equal boxes.
func (k *runKeys) seal(secret, kind, place string, text []byte, seed string) []byte {
	keys := k.derive(secret)
	mac := hmac.New(sha256.New, keys.nonces)
	mac.Write(frame(seed, kind, place, string(text)))
	nonce := mac.Sum(nil)[:nonceSize]

	box := append([]byte{boxForm, byte(len(secret))}, secret...)
	box = append(box, keys.mark...)
	box = binary.BigEndian.AppendUint32(box, uint32(nonceSize+len(text)+tagSize))
	return keys.aead.Seal(append(box, nonce...), nonce, text, k.additionalData(kind, place, box))
}

// unseal opens a box of that kind and place. The error matches one of the errors of decryption: each
// bound is checked before the bytes behind it are read.
func (k *runKeys) unseal(kind, place string, box []byte) ([]byte, error) {
	if len(box) < 2 {
		return nil, errForged
	}
	if box[0] != boxForm {
		return nil, fmt.Errorf("%w: form %d, and this program knows the form %d", errForged, box[0], boxForm)
	}
	name := 2 + int(box[1])
	header := name + markSize + 4
	if len(box) < header {
		return nil, errForged
	}
	secret := string(box[2:name])
	if k.secrets[secret] == nil {
		return nil, fmt.Errorf("%w, %q", ErrUnknownKey, secret)
	}
	keys := k.derive(secret)
	if !hmac.Equal(keys.mark, box[name:name+markSize]) {
		return nil, errForged
	}
	if size := binary.BigEndian.Uint32(box[header-4:]); uint64(len(box)-header) != uint64(size) || size < nonceSize+tagSize {
		return nil, errForged
	}
	nonce, text := box[header:header+nonceSize], box[header+nonceSize:]
	opened, err := keys.aead.Open(nil, nonce, text, k.additionalData(kind, place, box[:header]))
	if err != nil {
		return nil, errForged
	}
	return opened, nil
}
