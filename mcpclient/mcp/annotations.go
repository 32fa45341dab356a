package mcp

import (
	"encoding/json"
	"math"
	"strings"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// Annotations are hints about a block: for whom it is meant, and how important it is. An audience of
// one string and a priority in a string are read, too; a value in any other form is left out.
type Annotations struct {
	Audience     []string `json:"audience,omitempty"` // "user", "assistant"; a single string is accepted
	Priority     *float64 `json:"priority,omitempty"` // 0 to 1; it may come as a string
	LastModified string   `json:"lastModified,omitempty"`
}

func (a *Annotations) UnmarshalJSON(data []byte) error {
	*a = Annotations{}
	if jsonrpc.IsEmptyList(data) {
		return nil
	}
	type annotations Annotations
	read := struct {
		*annotations
		Audience     json.RawMessage `json:"audience"`
		Priority     json.RawMessage `json:"priority"`
		LastModified json.RawMessage `json:"lastModified"`
	}{annotations: (*annotations)(a)}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	if one, ok := jsonrpc.String(read.Audience); ok && one != "" {
		a.Audience = []string{one}
	} else {
		a.Audience = stringsOf(read.Audience)
	}
	a.Priority = floatOf(read.Priority)
	a.LastModified, _ = jsonrpc.String(read.LastModified)
	return nil
}

// decodeAnnotations returns nil for none, and false unless raw is an object or empty.
func decodeAnnotations(raw []byte) (*Annotations, bool) {
	if raw == nil {
		return nil, true
	}
	var a *Annotations
	err := json.Unmarshal(raw, &a)
	return a, err == nil
}

// stringsOf reads a list of strings, nil for anything else.
func stringsOf(raw []byte) (all []string) {
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	return all
}

// Icon is an image for a user interface.
type Icon struct {
	Src      string   `json:"src"`
	MIMEType string   `json:"mimeType,omitempty"`
	Sizes    []string `json:"sizes,omitempty"` // "48x48", or "any"; from one string the first 64
	Theme    string   `json:"theme,omitempty"`
}

// maxSizes bounds the sizes that are read from one string.
const maxSizes = 64

// UnmarshalJSON implements [json.Unmarshaler]. Sizes may be one string with blanks between them, as
// in drafts of revision 2025-11-25; in any other form they are left out.
func (i *Icon) UnmarshalJSON(data []byte) error {
	type members Icon
	*i = Icon{}
	read := struct {
		*members
		Sizes json.RawMessage `json:"sizes"`
	}{members: (*members)(i)}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	text, ok := jsonrpc.String(read.Sizes)
	if !ok {
		i.Sizes = stringsOf(read.Sizes)
	}
	for size := range strings.FieldsSeq(text) {
		if len(i.Sizes) == maxSizes {
			break
		}
		i.Sizes = append(i.Sizes, size)
	}
	return nil
}

// floatOf reads a number, which may be in a string, nil for anything else.
func floatOf(raw []byte) *float64 {
	n, err := numberOf(raw).Float64()
	if err != nil {
		return nil
	}
	return &n
}

// wholeOf reads a whole number in any notation, such as 12.0 and 1e3, which may be in a string. It returns nil for
// anything else, and for a number beyond an int64 or, with a fraction or an exponent, beyond 2^53.
func wholeOf(raw []byte) *int64 {
	text := numberOf(raw)
	if n, err := text.Int64(); err == nil {
		return &n
	}
	if x, err := text.Float64(); err == nil && x == math.Trunc(x) && math.Abs(x) < 1<<53 {
		return new(int64(x))
	}
	return nil
}

// numberOf returns the text of a number, which may be in a string, "" for anything else.
func numberOf(raw []byte) (n json.Number) {
	if json.Unmarshal(raw, &n) != nil {
		return ""
	}
	return n
}
