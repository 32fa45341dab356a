package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"
)

// Marshal is json.Marshal, but does not escape HTML, and replaces invalid UTF-8 in raw messages as well.
func Marshal(v any) ([]byte, error) {
	e := encoders.Get().(*encoder)
	defer e.release()
	if err := e.json.Encode(v); err != nil {
		return nil, err
	}
	return bytes.Clone(validUTF8(bytes.TrimSuffix(e.buf.Bytes(), []byte("\n")))), nil
}

// validUTF8 replaces invalid UTF-8 by U+FFFD. encoding/json does so in strings, but not in raw messages.
func validUTF8(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	return bytes.ToValidUTF8(text, []byte("\uFFFD"))
}

type encoder struct {
	buf  bytes.Buffer
	json *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := new(encoder)
	e.json = json.NewEncoder(&e.buf)
	e.json.SetEscapeHTML(false)
	return e
}}

const maxPooledBuffer = 64 << 10

// release puts e back into the pool, unless its buffer has grown too large to keep.
func (e *encoder) release() {
	if e.buf.Cap() <= maxPooledBuffer {
		e.buf.Reset()
		encoders.Put(e)
	}
}

// OneLine checks raw and returns it without line breaks or invalid UTF-8. It returns raw itself if it has none.
func OneLine(raw json.RawMessage) (json.RawMessage, error) {
	if err := Check(raw); err != nil {
		return nil, err
	}
	raw = validUTF8(raw)
	if bytes.IndexByte(raw, '\n') < 0 && bytes.IndexByte(raw, '\r') < 0 {
		return raw, nil
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Check returns an error unless raw is one JSON value, nested at most [MaxDepth] deep.
func Check(raw []byte) error {
	s := scanner{data: raw}
	err := s.value()
	switch {
	case errors.Is(err, errDepth):
		return fmt.Errorf("JSON %w", err)
	case err != nil:
		return fmt.Errorf("not valid JSON: %w", err)
	}
	if s.space(); s.pos != len(raw) {
		return fmt.Errorf("not valid JSON: text after the value at byte %d", s.pos)
	}
	return nil
}

const beforeID = `{"jsonrpc":"` + Version + `","id":`

// AppendRequest appends a request up to its params. The caller appends a comma
// and the member params, or nothing, and then the closing brace.
func AppendRequest(b []byte, id int64, method string) []byte {
	b = append(b, beforeID...)
	b = strconv.AppendInt(b, id, 10)
	return AppendString(append(b, `,"method":`...), method)
}

// AppendNotification appends a notification. params is a JSON object or nil.
func AppendNotification(b []byte, method string, params []byte) []byte {
	const start = `{"jsonrpc":"` + Version + `","method":`
	b = slices.Grow(b, len(start)+len(`"","params":}`)+len(method)+len(params))
	b = AppendString(append(b, start...), method)
	if len(params) > 0 {
		b = append(b, `,"params":`...)
		b = append(b, params...)
	}
	return append(b, '}')
}

// AppendResult appends a response with a result. id is echoed unchanged.
func AppendResult(b []byte, id, result json.RawMessage) []byte {
	return appendResponse(b, id, `,"result":`, result)
}

// AppendError appends a response with an error, a JSON object. id is echoed unchanged.
func AppendError(b []byte, id, rpcError json.RawMessage) []byte {
	return appendResponse(b, id, `,"error":`, rpcError)
}

func appendResponse(b []byte, id json.RawMessage, member string, value json.RawMessage) []byte {
	b = append(append(b, beforeID...), id...)
	b = append(append(b, member...), value...)
	return append(b, '}')
}

// AppendString appends s as a JSON string.
func AppendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' || c >= 0x7f {
			quoted, err := Marshal(s)
			if err != nil {
				quoted = []byte(`""`) // a string always marshals
			}
			return append(b, quoted...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}
