package mcp

import (
	"encoding/json"

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
