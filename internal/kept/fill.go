package kept

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// reference is an object in the arguments of a call that stands for the text of a result, or
// with a pointer for a value in its JSON. The other members describe that value. They are set
// when it is first looked up, and verified afterwards.
type reference struct {
	Handle  string  `json:"$result"`
	Pointer *string `json:"pointer,omitempty"`
	Size    int     `json:"size,omitempty"` // bytes
	Kind    string  `json:"kind,omitempty"`
	Shape   string  `json:"shape,omitempty"`
	SHA256  string  `json:"sha256,omitempty"`
}

// Bounds of references in the arguments of one call.
const (
	maxReferences = 100
	maxFilled     = 32 << 20 // bytes
	maxDepth      = 100      // nesting of a reference
)

var handle = regexp.MustCompile(`^r[0-9a-f]{16}$`)

// Refers reports whether arguments may contain a reference.
func Refers(arguments string) bool { return strings.Contains(arguments, `"$result"`) }

// filler replaces the references in the arguments of one call by results.
type filler struct {
	data func(handle string) ([]byte, error)
	n    int // number of references
	size int // bytes of their values
}

// Fill replaces references by results. In shown each reference has the description of its
// value, in sent it is the value. data returns the full text of a result. Objects that only
// resemble a reference stay as they are.
func Fill(arguments []byte, data func(handle string) ([]byte, error)) (shown, sent []byte, err error) {
	if !jsontext.Value(arguments).IsValid(lenient...) {
		return nil, nil, errors.New("arguments with a reference have to be one JSON object")
	}
	f := &filler{data: data}
	return f.value(bytes.TrimSpace(arguments), 0)
}

// value fills a value, which is valid JSON without space around it. Values that are nested deeper
// than maxDepth stay as they are.
func (f *filler) value(v []byte, depth int) (shown, sent []byte, err error) {
	if depth > maxDepth || v[0] != '{' && v[0] != '[' || !bytes.Contains(v, []byte(`"$result"`)) {
		return v, v, nil
	}
	if r := decodeReference(v); r != nil {
		return f.resolve(r)
	}
	d := jsontext.NewDecoder(bytes.NewReader(v), lenient...)
	_, _ = d.ReadToken()
	object := v[0] == '{'
	shown, sent = []byte{v[0]}, []byte{v[0]}
	for first := true; d.PeekKind() != '}' && d.PeekKind() != ']'; first = false {
		var before []byte
		if !first {
			before = append(before, ',')
		}
		if object {
			name, err := d.ReadValue()
			if err != nil {
				return nil, nil, err
			}
			before = append(append(before, name...), ':')
		}
		item, err := d.ReadValue()
		if err != nil {
			return nil, nil, err
		}
		a, b, err := f.value(item.Clone(), depth+1)
		if err != nil {
			return nil, nil, err
		}
		shown, sent = append(append(shown, before...), a...), append(append(sent, before...), b...)
	}
	last := v[len(v)-1]
	return append(shown, last), append(sent, last), nil
}

// decodeReference decodes an object as a reference, nil if it is not one.
func decodeReference(v []byte) *reference {
	d := json.NewDecoder(bytes.NewReader(v))
	d.DisallowUnknownFields()
	var r reference
	if v[0] != '{' || d.Decode(&r) != nil || !handle.MatchString(r.Handle) {
		return nil
	}
	return &r
}

// resolve returns a reference with the description of its value, and the value. It is an error if the
// reference holds the digest of another value.
func (f *filler) resolve(r *reference) (shown, sent []byte, err error) {
	f.n++
	if f.n > maxReferences {
		return nil, nil, fmt.Errorf("arguments have more than %d references", maxReferences)
	}
	data, err := f.data(r.Handle)
	if err != nil {
		return nil, nil, err
	}
	described := reference{Handle: r.Handle, Pointer: r.Pointer}
	if r.Pointer == nil {
		described.Kind, described.Shape = Describe(data)
		sent, err = jsontext.AppendQuote(nil, strings.ToValidUTF8(string(data), "\ufffd"))
	} else if data, err = Value(data, *r.Pointer); err == nil {
		described.Kind, described.Shape = JSON, describeValue(data)
		sent = bytes.Clone(data)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("result %q: %w", r.Handle, err)
	}
	f.size += len(sent)
	if f.size > maxFilled {
		return nil, nil, fmt.Errorf("results in the arguments have more than %d MiB", maxFilled>>20)
	}
	sum := sha256.Sum256(data)
	described.Size = len(data)
	described.SHA256 = hex.EncodeToString(sum[:])
	if r.SHA256 != "" && r.SHA256 != described.SHA256 {
		return nil, nil, fmt.Errorf("result %q is not the one that the arguments name: its sha256 is %s", r.Handle, described.SHA256)
	}
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(described); err != nil {
		return nil, nil, err
	}
	return bytes.TrimSpace(out.Bytes()), sent, nil
}

// describeValue describes a value of JSON, an object by its members.
func describeValue(value []byte) string {
	if value[0] == '{' {
		return describeShape(value)
	}
	return valueShape(jsontext.NewDecoder(bytes.NewReader(value), lenient...))
}
