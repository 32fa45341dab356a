package chat

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// Hosts fill some fields with other kinds of JSON than the API defines. The
// types of this file read these fields and never fail: one odd field does not
// lose the reply.

// looseString is a string, or the text of a number. Any other value is empty.
type looseString string

// UnmarshalJSON implements [json.Unmarshaler].
func (s *looseString) UnmarshalJSON(data []byte) error {
	*s = ""
	if text, ok := stringOf(data); ok {
		*s = looseString(wellFormed(text))
	} else if c := data[0]; c == '-' || '0' <= c && c <= '9' {
		*s = looseString(data)
	}
	return nil
}

// stringOf reads a JSON string, which a host may have cut within a character.
func stringOf(data []byte) (string, bool) {
	if len(data) < 2 || data[0] != '"' {
		return "", false
	}
	return unquote(data), true
}

// looseText is a string, or the text in a list of strings and parts. Thinking
// and other parts are left out. It may begin or end within a character: see
// [wellFormed].
type looseText string

// UnmarshalJSON implements [json.Unmarshaler].
func (t *looseText) UnmarshalJSON(data []byte) error {
	*t = ""
	if text, ok := stringOf(data); ok {
		*t = looseText(text)
		return nil
	}
	var parts []json.RawMessage
	if data[0] != '[' || json.Unmarshal(data, &parts) != nil {
		return nil
	}
	var b strings.Builder
	for _, raw := range parts {
		var part struct {
			Type looseString `json:"type"`
			Text looseText   `json:"text"`
		}
		if text, ok := stringOf(raw); ok {
			b.WriteString(text)
		} else if json.Unmarshal(raw, &part) == nil && (part.Type == "text" || part.Type == "") {
			b.WriteString(string(part.Text))
		}
	}
	*t = looseText(b.String())
	return nil
}

// looseJSON is JSON inside a string, as the API defines arguments, or bare
// JSON. It may begin or end within a character.
type looseJSON string

// UnmarshalJSON implements [json.Unmarshaler].
func (j *looseJSON) UnmarshalJSON(data []byte) error {
	*j = ""
	if string(data) == "null" {
		return nil
	}
	if text, ok := stringOf(data); ok {
		*j = looseJSON(text)
		return nil
	}
	var b bytes.Buffer
	if json.Compact(&b, data) == nil {
		*j = looseJSON(b.String())
	}
	return nil
}

// looseCount is a count. A negative or absurd count becomes 0.
type looseCount int

// UnmarshalJSON implements [json.Unmarshaler].
func (n *looseCount) UnmarshalJSON(data []byte) error {
	*n = 0
	f, err := strconv.ParseFloat(string(data), 64)
	if err == nil && f >= 0 && f < 1<<40 {
		*n = looseCount(f)
	}
	return nil
}

// looseIndex is an index, nil for none.
type looseIndex struct{ n *int }

// UnmarshalJSON implements [json.Unmarshaler].
func (i *looseIndex) UnmarshalJSON(data []byte) error {
	i.n = nil
	if n, err := strconv.Atoi(string(data)); err == nil {
		i.n = &n
	}
	return nil
}
