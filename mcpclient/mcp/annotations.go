package mcp

import (
	"encoding/json"
	"math"
	"math/big"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// Annotations say for whom a block is and how much it matters. They are hints: an audience or a
// priority in another form than these is read where its meaning is plain, and is nil otherwise.
type Annotations struct {
	Audience     []string `json:"audience,omitempty"` // "user", "assistant"; one of them may come as a string
	Priority     *float64 `json:"priority,omitempty"` // 0 to 1; it may come as a string
	LastModified string   `json:"lastModified,omitempty"`
}

// UnmarshalJSON implements [json.Unmarshaler].
func (a *Annotations) UnmarshalJSON(data []byte) error {
	*a = Annotations{}
	if jsonrpc.IsEmptyList(data) {
		return nil
	}
	type annotations Annotations
	read := struct {
		*annotations
		Audience json.RawMessage `json:"audience"`
		Priority json.RawMessage `json:"priority"`
	}{annotations: (*annotations)(a)}
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	a.Audience, a.Priority = audienceOf(read.Audience), floatOf(read.Priority)
	return nil
}

func decodeAnnotations(raw []byte) (*Annotations, bool) {
	if raw == nil {
		return nil, true
	}
	var a *Annotations
	err := json.Unmarshal(raw, &a)
	return a, err == nil
}

// audienceOf reads a list of strings, or one string for a list of one.
func audienceOf(raw []byte) (all []string) {
	if one, ok := jsonrpc.String(raw); ok && one != "" {
		return []string{one}
	}
	if json.Unmarshal(raw, &all) != nil {
		return nil
	}
	return all
}

// floatOf reads a number, which may be in a string, nil for anything else.
func floatOf(raw []byte) *float64 {
	n, err := numberOf(raw).Float64()
	if err != nil {
		return nil
	}
	return &n
}

// wholeOf reads a whole number, in whatever notation and maybe in a string, nil for
// anything else and beyond an int64.
func wholeOf(raw []byte) *int64 {
	text := numberOf(raw)
	if n, err := text.Int64(); err == nil {
		return &n
	}
	// 12.0 and 1e3. The float bounds the exponent, which alone can ask for a great deal of memory.
	if x, err := text.Float64(); err != nil || x != math.Trunc(x) || len(text) > maxSizeText {
		return nil
	}
	if n, ok := new(big.Rat).SetString(text.String()); ok && n.IsInt() && n.Num().IsInt64() {
		return new(n.Num().Int64())
	}
	return nil
}

// maxSizeText bounds the text of a number, in bytes.
const maxSizeText = 64

// numberOf is the text of a number, also of one in a string, "" for anything else.
func numberOf(raw []byte) (n json.Number) {
	if json.Unmarshal(raw, &n) != nil {
		return ""
	}
	return n
}
