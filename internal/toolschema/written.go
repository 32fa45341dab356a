package toolschema

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/schema/rewrite"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// Written is a schema rewritten for a provider.
type Written struct {
	Parameters json.RawMessage
	Root       map[string]any // the same, decoded; nil for [profile.Plain]
	Strict     bool           // the schema is within the subset of [profile.OpenAIStrict]
	Wrapped    bool           // all arguments are in the property Schema.Wrapper
	Undo       bool           // [Schema.Arguments] may have to undo the rewriting in the model's arguments
	Changes    []profile.Change
}

// For rewrites the schema for a provider. A schema that needs no changes stays the same, byte for
// byte, except for Gemini and GoogleAI. room bounds the schemas of one peer together; see [rewrite.For].
func (s *Schema) For(target profile.Profile, room *rewrite.Room) *Written {
	w := &Written{Parameters: s.Parameters}
	w.noteCompletion(s.Root(), target)
	if target == profile.Plain {
		return w
	}
	r := rewrite.For(target, s.Root(), room)
	w.Root, w.Strict = r.Root, r.Strict
	w.Changes = append(w.Changes, r.Changes...)
	if r.Changed {
		if raw, err := jsonrpc.Marshal(r.Root); err == nil { // it came from JSON
			w.Parameters = json.RawMessage(bytes.TrimSpace(raw))
		}
	}
	w.Wrapped = s.Wrapper != "" && tree.Object(r.Root["properties"])[s.Wrapper] != nil
	w.Undo = w.Wrapped || r.Changed && target != profile.OpenAI && target != profile.LlamaCpp
	return w
}

// noteCompletion reports what [New] added to the schema. For [profile.Plain] it also reports null
// values that were removed; for other targets the rewriting reports them.
func (w *Written) noteCompletion(root map[string]any, target profile.Profile) {
	for _, key := range []string{"type", "properties", "required"} {
		_, present := root[key]
		switch {
		case present && target == profile.Plain && isNull(root, key):
			w.Changes = append(w.Changes, profile.Change{Keyword: key, Effect: profile.Same, Note: "null was removed"})
		case !present && key != "required":
			c := profile.Change{Keyword: key, Effect: profile.Same, Note: "the missing keyword is added"}
			references := target != profile.Gemini && target != profile.GoogleAI // these have no references
			if key == "type" && references && tree.RefersToRoot(root) {
				c.Effect = profile.Narrower
			}
			w.Changes = append(w.Changes, c)
		}
	}
}

// withProperties adds keywords that providers need to the root of a schema, and removes null, as
// some servers write it for an absent value. Of members with the same name only the last stays: a
// fingerprint does not cover the others. The rest stays the same, byte for byte.
func withProperties(raw []byte, root map[string]any) json.RawMessage {
	if isNull(root, "properties") || isNull(root, "required") || writtenMembers(raw) > members(root) {
		root = maps.Clone(root)
		maps.DeleteFunc(root, func(key string, v any) bool { return v == nil && (key == "properties" || key == "required") })
		if written, err := jsonrpc.Marshal(root); err == nil { // it came from JSON
			raw = bytes.TrimSpace(written)
		}
	}
	var add []string
	if _, ok := root["type"]; !ok {
		add = append(add, `"type":"object"`)
	}
	if _, ok := root["properties"]; !ok {
		add = append(add, `"properties":{}`)
	}
	if len(add) == 0 {
		return bytes.Clone(raw)
	}
	out := append([]byte{'{'}, strings.Join(add, ",")...)
	if len(root) > 0 {
		out = append(out, ',')
	}
	return append(out, raw[1:]...)
}

// isNull reports whether a keyword is present and null.
func isNull(s map[string]any, key string) bool {
	v, ok := s[key]
	return ok && v == nil
}

// members counts the members of all objects in a decoded value.
func members(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		n = len(v)
		for _, member := range v {
			n += members(member)
		}
	case []any:
		for _, item := range v {
			n += members(item)
		}
	}
	return n
}

// writtenMembers counts the members of all objects in valid JSON, by their colons.
func writtenMembers(raw []byte) (n int) {
	inString := false
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			inString = !inString
		case ':':
			if !inString {
				n++
			}
		}
	}
	return n
}
