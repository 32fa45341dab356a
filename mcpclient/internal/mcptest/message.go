package mcptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// envelope has the members of a message that a script needs.
type envelope struct {
	ID     json.RawMessage            `json:"id"`
	Method string                     `json:"method"`
	Params map[string]json.RawMessage `json:"params"`
}

func (e *envelope) isRequest() bool { return e.Method != "" && e.ID != nil }

// withoutMeta checks that a request has the members of the meta section, and a
// tool call its progress token, and removes them.
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
	return edit(message, "params", func(params []byte) []byte {
		rest := edit(params, "_meta", func([]byte) []byte {
			if len(meta) == 0 {
				return nil
			}
			return encode(meta)
		})
		if string(rest) == "{}" {
			return nil
		}
		return rest
	}), nil
}

// edit changes one member of an object, or removes it if it becomes nil.
func edit(object []byte, key string, change func([]byte) []byte) []byte {
	out := []byte{'{'}
	err := jsonrpc.Members(object, func(k, value []byte) {
		if string(k) == key {
			if value = change(value); value == nil {
				return
			}
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(jsonrpc.AppendString(out, string(k)), ':')
		out = append(out, value...)
	})
	if err != nil {
		panic(err) // it was decoded before
	}
	return append(out, '}')
}

func encode(v any) []byte {
	raw, err := jsonrpc.Marshal(v)
	if err != nil {
		panic(err) // it was decoded before
	}
	return raw
}

// diffJSON compares two JSON values, "" if they are equal. The string "*" in
// want stands for any value.
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
