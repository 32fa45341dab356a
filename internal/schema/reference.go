package schema

import (
	"fmt"

	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// maxID bounds the identifiers of a schema and of its subschemas in bytes: each is
// repeated in many places.
const maxID = 1 << 10

// maxHops bounds the steps that it takes to resolve all references, each of which the
// validator seeks from every level around it, and from every level around those.
const maxHops = 4_000_000

// bytesPerHop are those of a reference that take as long as a step.
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

// reference counts what it takes to resolve the references of a subschema.
func (d *document) reference(s map[string]any, at string) error {
	for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		ref, ok := s[key].(string)
		if !ok {
			continue
		}
		d.hops += d.depth * d.depth * (1 + len(ref)/bytesPerHop)
		if d.hops > maxHops {
			return fmt.Errorf("at %q: too many references at %d levels of subschemas: put what refers to others into definitions at the root", tree.Join(at, key), d.depth)
		}
	}
	return nil
}
