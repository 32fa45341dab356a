package mcptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

type envelope struct {
	ID     json.RawMessage            `json:"id"`
	Method string                     `json:"method"`
	Params map[string]json.RawMessage `json:"params"`
}

func (e *envelope) isRequest() bool { return e.Method != "" && e.ID != nil }

// withoutMeta checks that a request has the members of the meta section, and a tool call its
// progress token, and removes them. The members of what it returns are sorted.
func (s *Script) withoutMeta(message []byte) ([]byte, error) {
	var e envelope
	if err := json.Unmarshal(message, &e); err != nil {
		return nil, fmt.Errorf("the client sent something that is not a message: %w: %q", err, message)
	}
	raw := e.Params["_meta"]
	if !e.isRequest() || s.meta == nil && raw == nil {
		return message, nil
	}
	var meta map[string]json.RawMessage
	if err := json.Unmarshal(raw, &meta); err != nil {
		return nil, fmt.Errorf("_meta of the client's %s: %w", e.Method, err)
	}
	if token, ok := meta["progressToken"]; ok && e.Method == "tools/call" && !s.tokens {
		if !bytes.Equal(token, e.ID) {
			s.t.Errorf("%s: the client's call has the progress token %s, want its id %s", s.path, token, e.ID)
		}
		delete(meta, "progressToken")
	}
	for key, want := range s.meta {
		if diff := diffJSON(want, meta[key]); diff != "" {
			s.t.Errorf("%s: _meta %q of the client's %s, got +, want -:\n%s", s.path, key, e.Method, diff)
		}
		delete(meta, key)
	}
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(message, &whole); err != nil {
		return nil, err
	}
	put(e.Params, "_meta", meta)
	put(whole, "params", e.Params)
	return jsonrpc.Marshal(whole)
}

// put replaces a member of an object, or removes it if the value has no members.
func put(object map[string]json.RawMessage, key string, value map[string]json.RawMessage) {
	if len(value) == 0 {
		delete(object, key)
		return
	}
	raw, err := jsonrpc.Marshal(value)
	if err != nil {
		panic(err) // it was decoded before
	}
	object[key] = raw
}

// diffJSON compares two JSON values, "" if they are equal. The string "*" in want stands for any value.
func diffJSON(want, got []byte) string {
	var w, g any
	if err := decode(want, &w); err != nil {
		return fmt.Sprintf("want %q is not JSON: %v", want, err)
	}
	if err := decode(got, &g); err != nil {
		return fmt.Sprintf("got %q is not JSON: %v", got, err)
	}
	return cmp.Diff(fill(w, g), g)
}

// fill puts values of got in the places of "*" in want.
func fill(want, got any) any {
	switch w := want.(type) {
	case string:
		if w == "*" {
			return got
		}
	case map[string]any:
		g, _ := got.(map[string]any)
		for key, v := range w {
			if value, ok := g[key]; ok {
				w[key] = fill(v, value)
			}
		}
	case []any:
		g, _ := got.([]any)
		for i := range min(len(w), len(g)) {
			w[i] = fill(w[i], g[i])
		}
	}
	return want
}

// decode keeps the text of numbers.
func decode(data []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(to)
}

// sortLike puts the messages of got into the order of want. Other messages fill the free places.
func sortLike(got, want [][]byte) [][]byte {
	out := make([][]byte, len(want))
	rest := slices.Clone(got)
	for i, w := range want {
		j := slices.IndexFunc(rest, func(g []byte) bool { return diffJSON(w, g) == "" })
		if j >= 0 {
			out[i] = rest[j]
			rest = slices.Delete(rest, j, j+1)
		}
	}
	for i := range out {
		if out[i] == nil {
			out[i], rest = rest[0], rest[1:]
		}
	}
	return out
}
