package rewrite

import (
	"cmp"

	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// The bounds of one rewritten schema.
const (
	maxNodes   = 10_000  // subschemas: references can multiply them
	maxWritten = 4 << 20 // bytes of names, texts and values
	maxChanges = 5_000
	maxSteps   = 1 << 20 // of merging, comparing and references
)

// Room bounds the rewritten schemas of one peer together, beside the bounds of each:
// references can multiply what it lists. The zero value is the default bound.
type Room struct {
	Limit int // bytes; default 8 MiB

	written, changes int
}

// The default bounds of the schemas of one peer together.
const (
	defaultRoom = 8 << 20
	maxListed   = 20_000 // changes
)

// budget is what may still be written of one schema.
type budget struct {
	nodes, bytes, steps int
}

// budget is the room for another schema. Another one is for a second try.
func (r *Room) budget() *budget {
	limit := cmp.Or(r.Limit, defaultRoom)
	b := &budget{maxNodes, max(min(maxWritten, limit-r.written), 0), maxSteps}
	b.nodes = min(b.nodes, b.bytes/nodeBytes)
	return b
}

// take counts what was written, and reports it if there was no room for all.
func (r *Room) take(before, left budget, to *Report) {
	r.written += before.bytes - left.bytes
	if left.over() && before.bytes < maxWritten {
		to.Note("", "", Wider, "the schemas of one server are too large together")
	}
}

// nodeBytes are the fewest bytes of a subschema.
const nodeBytes = 16

// node takes a subschema. If there is no room, it takes all and returns false.
func (b *budget) node() bool {
	if b.nodes--; b.nodes < 0 {
		b.bytes = 0
		return false
	}
	return b.write(nodeBytes)
}

// write takes bytes.
func (b *budget) write(n int) bool { return take(&b.bytes, n) }

// work takes steps: what is merged and compared.
func (b *budget) work(n int) bool {
	if !take(&b.steps, n) {
		b.bytes = 0
		return false
	}
	return true
}

func (b *budget) over() bool { return b.bytes == 0 || b.nodes < 0 }

func take(left *int, n int) bool {
	if n > *left {
		*left = 0
		return false
	}
	*left -= n
	return true
}

// size is how many bytes a value has as JSON.
func size(v any) int { return len(tree.Show(v)) }
