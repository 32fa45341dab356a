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

	"github.com/mcpchain/mcpchain/agent/run"
)

// Secret is a key of 32 random bytes, with a name for it that is not secret. The name
// stands before all that the key has sealed; give another key another name.
type Secret struct {
	ID  string // 1 to 255 bytes
	Key []byte `json:"-"`
}

// String is the name of the key.
func (s Secret) String() string { return "secret " + s.ID }

// GoString is the name of the key.
func (s Secret) GoString() string { return s.String() }

// Keys seal what must not be read or changed elsewhere, by AES-256-GCM. Each run has
// keys of its own, which are derived from the secret: one secret is good for any number
// of runs, and for 2^32 records in each. Keys may be used concurrently.
type Keys struct {
	current string
	secrets map[string][]byte
}

// NewKeys returns keys that seal with the current secret, and open what any of them
// sealed. To change the secret, give the last one as an older one for as long as there
// is something that it sealed. The error is for a secret that is not as [Secret] says, for two of one
// name, and for a key that is one byte 32 times.
func NewKeys(current Secret, older ...Secret) (*Keys, error) {
	k := &Keys{current: current.ID, secrets: map[string][]byte{}}
	for _, s := range append([]Secret{current}, older...) {
		switch {
		case s.ID == "" || len(s.ID) > 255:
			return nil, fmt.Errorf("keys: the name of a secret has %d bytes, want 1 to 255", len(s.ID))
		case k.secrets[s.ID] != nil:
			return nil, fmt.Errorf("keys: two secrets have the name %q", s.ID)
		case len(s.Key) != 32:
			return nil, fmt.Errorf("keys: secret %q has %d bytes, want 32", s.ID, len(s.Key))
		case bytes.Count(s.Key, s.Key[:1]) == len(s.Key):
			return nil, fmt.Errorf("keys: secret %q is one byte 32 times", s.ID)
		}
		k.secrets[s.ID] = bytes.Clone(s.Key)
	}
	return k, nil
}

// String is the name of the current secret.
func (k *Keys) String() string { return "keys " + k.current }

// GoString is the name of the current secret.
func (k *Keys) GoString() string { return k.String() }

// The errors of what was sealed.
var (
	ErrTruncated  = errors.New("what was sealed is cut short")
	ErrUnknownKey = errors.New("it was sealed with an unknown key")
	ErrForeign    = errors.New("it was sealed for another run")
	ErrForged     = errors.New("what was sealed was changed, or stood in another place")
)

// maxSealed bounds a state that leaves the server, in bytes.
const maxSealed = 16 << 20

// Seal makes the state of a run, as JSON, one that may leave the server: it cannot be read or changed there. A
// state of more than 16 MiB is an error.
//
// An older state stays good. If a state must not be used twice, keep a digest of the last one.
func (k *Keys) Seal(key run.Key, state []byte) (string, error) {
	if len(state) > maxSealed {
		return "", fmt.Errorf("seal run %q: its state has %d bytes, want at most %d", key.ID, len(state), maxSealed)
	}
	box := k.of(key).seal(k.current, "state", "", state, rand.Text())
	return base64.RawURLEncoding.EncodeToString(box), nil
}

// Open returns what Seal was given for a run. The error matches [ErrTruncated],
// [ErrUnknownKey], [ErrForeign] or [ErrForged], unless the state is of more than 16 MiB.
func (k *Keys) Open(key run.Key, sealed string) ([]byte, error) {
	state, err := k.open(key, sealed)
	if err != nil {
		return nil, fmt.Errorf("open run %q: %w", key.ID, err)
	}
	return state, nil
}

func (k *Keys) open(key run.Key, sealed string) ([]byte, error) {
	if n := base64.RawURLEncoding.DecodedLen(len(sealed)); n > maxSealed+1<<10 {
		return nil, fmt.Errorf("it has %d bytes, want at most %d", n, maxSealed)
	}
	if len(sealed)%4 == 1 { // no text of bytes, but the start of one
		sealed = sealed[:len(sealed)-1]
	}
	box, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForged, err)
	}
	return k.of(key).unseal("state", "", box)
}

// frame joins texts so that no other texts give the same bytes.
func frame(texts ...string) []byte {
	var b []byte
	for _, s := range texts {
		b = binary.BigEndian.AppendUint64(b, uint64(len(s)))
		b = append(b, s...)
	}
	return b
}

// A box is: its form; the length of the secret's name, and the name; a mark of the run;
// the length of what follows; a nonce; the text with its tag. It proves all of that, and
// where it stands: its kind ("state", "record", "answer"), its run, and its place there
// (the number of a record, the id of a question).
const (
	boxForm   = 1
	markSize  = 8
	nonceSize = 12
	tagSize   = 16
)

// runKeys are the keys of one run.
type runKeys struct {
	*Keys
	run     run.Key
	derived map[string]*subkeys // by the name of their secret
}

type subkeys struct {
	aead   cipher.AEAD
	nonces []byte
	mark   []byte // tells runs apart
}

func (k *Keys) of(run run.Key) *runKeys { return &runKeys{k, run, map[string]*subkeys{}} }

// under derives the keys of the run from a secret.
func (k *runKeys) under(secret string) *subkeys {
	if d := k.derived[secret]; d != nil {
		return d
	}
	info := frame("mcpchain run", k.run.Tenant, k.run.ID)
	key, err := hkdf.Key(sha256.New, k.secrets[secret], nil, string(info), 32+32+markSize)
	if err != nil {
		panic(err) // not for this length
	}
	block, err := aes.NewCipher(key[:32])
	if err != nil {
		panic(err) // not for a key of 32 bytes
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(err) // not for AES
	}
	d := &subkeys{aead, key[32:64], key[64:]}
	k.derived[secret] = d
	return d
}

// proves is what a box with that header proves.
func (k *runKeys) proves(kind, at string, header []byte) []byte {
	return append(frame(kind, k.run.Tenant, k.run.ID, at), header...)
}

// seal makes a box. The nonce comes of the seed, the place and the text: with an equal
// seed equal texts have equal boxes.
func (k *runKeys) seal(secret, kind, at string, text []byte, seed string) []byte {
	keys := k.under(secret)
	mac := hmac.New(sha256.New, keys.nonces)
	mac.Write(frame(seed, kind, at, string(text)))
	nonce := mac.Sum(nil)[:nonceSize]

	box := append([]byte{boxForm, byte(len(secret))}, secret...)
	box = append(box, keys.mark...)
	box = binary.BigEndian.AppendUint32(box, uint32(nonceSize+len(text)+tagSize))
	proved := k.proves(kind, at, box)
	return keys.aead.Seal(append(box, nonce...), nonce, text, proved)
}

// unseal opens a box.
func (k *runKeys) unseal(kind, at string, box []byte) ([]byte, error) {
	if len(box) < 2 {
		return nil, ErrTruncated
	}
	if box[0] != boxForm {
		return nil, fmt.Errorf("%w: it has the form %d, and this program knows the form %d", ErrForged, box[0], boxForm)
	}
	name := 2 + int(box[1])
	header := name + markSize + 4
	if len(box) < header {
		return nil, ErrTruncated
	}
	secret := string(box[2:name])
	if k.secrets[secret] == nil {
		return nil, fmt.Errorf("%w, %q", ErrUnknownKey, secret)
	}
	keys := k.under(secret)
	if !hmac.Equal(keys.mark, box[name:name+markSize]) {
		return nil, ErrForeign
	}
	switch rest, size := uint64(len(box)-header), uint64(binary.BigEndian.Uint32(box[header-4:])); {
	case rest < size:
		return nil, ErrTruncated
	case rest > size || size < nonceSize+tagSize:
		return nil, ErrForged
	}
	nonce, text := box[header:header+nonceSize], box[header+nonceSize:]
	opened, err := keys.aead.Open(nil, nonce, text, k.proves(kind, at, box[:header]))
	if err != nil {
		return nil, ErrForged
	}
	return opened, nil
}
