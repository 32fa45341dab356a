package schema

import (
	"fmt"

	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// maxID bounds an identifier of a schema or a subschema, in bytes: each is repeated in many places.
const maxID = 1 << 10

// maxHops bounds the steps to resolve all references. The validator seeks each reference from every
// level around it, and again from every level around these.
const maxHops = 4_000_000

// bytesPerHop is the number of bytes of a reference that cost one step.
const bytesPerHop = 64

// identity refuses an identifier that is too long.
func (d *document) identity(s map[string]any, at string) error {
	for _, key := range []string{"$id", "id"} {
		if id, _ := s[key].(string); len(id) > maxID {
			return fmt.Errorf("at %q: %d bytes, want at most %d", tree.Join(at, key), len(id), maxID)
		}
	}
	return nil
}

// reference counts the steps to resolve the references of a subschema.
func (d *document) reference(s map[string]any, at string) error {
	for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		ref, ok := s[key].(string)
		if !ok {
			continue
		}
		d.hops += d.depth * d.depth * (1 + len(ref)/bytesPerHop)
		if d.hops > maxHops {
			return fmt.Errorf("at %q: too many references at %d levels of subschemas: "+
				"put what refers to others into definitions at the root", tree.Join(at, key), d.depth)
		}
	}
	return nil
}

// recursiveAnchor is the validator's name for the anchors that $recursiveAnchor declares.
const recursiveAnchor = "__jsonschema_recursive_anchor__"

// dynamicAnchors refuses a dynamic anchor whose name another part of the document has. The target of
// a reference would depend on the value, and so would the validator's work.
func (d *document) dynamicAnchors(s map[string]any, at string) error {
	var names []string
	if name, ok := s["$dynamicAnchor"].(string); ok {
		names = append(names, name)
	}
	if s["$recursiveAnchor"] == true {
		names = append(names, recursiveAnchor)
	}
	for _, name := range names {
		if other, ok := d.dynamic[name]; ok {
			return fmt.Errorf("at %q: a dynamic anchor of the same name is declared already at %q", at, other)
		}
		if d.dynamic == nil {
			d.dynamic = map[string]string{}
		}
		d.dynamic[name] = at
	}
	return nil
}
