package rewrite

import (
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// The bounds of one rewritten schema.
const (
	maxNodes   = 10_000  // subschemas: references can multiply them
	maxWritten = 4 << 20 // bytes of names, texts and values
	maxChanges = 5_000
	maxSteps   = 1 << 20 // steps of merging, comparing and resolving
)

// Room bounds the rewritten schemas of one peer together, in addition to the bounds of each:
// references can make a small schema large. The zero value is empty.
type Room struct{ written, changes int }

// The bounds of the schemas of one peer together.
const (
	maxRoom   = 8 << 20 // bytes
	maxListed = 20_000  // changes
)

// budget limits how much may still be written for one schema.
type budget struct {
	nodes, bytes, steps int
}

// budget returns the budget of the next schema. Each attempt to write it starts with a copy.
func (r *Room) budget() budget {
	b := budget{maxNodes, max(min(maxWritten, maxRoom-r.written), 0), maxSteps}
	b.nodes = min(b.nodes, b.bytes/nodeBytes)
	return b
}

// spend counts the bytes between two states of a budget. It records a change if the room was too small.
func (r *Room) spend(before, after budget, changes *report) {
	r.written += before.bytes - after.bytes
	if after.isExhausted() && before.bytes < maxWritten {
		changes.record("", "", profile.Wider, "the schemas of one server are too large together")
	}
}

// nodeBytes is the size of the smallest subschema.
const nodeBytes = 16

// node counts a subschema. If the budget is too small, it empties the budget and returns false.
func (b *budget) node() bool {
	if b.nodes--; b.nodes < 0 {
		b.bytes = 0
		return false
	}
	return b.write(nodeBytes)
}

// write counts bytes of the written schema. It returns false if the budget is too small.
func (b *budget) write(n int) bool { return deduct(&b.bytes, n) }

// work counts steps of merging and comparing. If the budget is too small, it empties the budget and returns false.
func (b *budget) work(n int) bool {
	if !deduct(&b.steps, n) {
		b.bytes = 0
		return false
	}
	return true
}

// isExhausted reports whether nothing more may be written.
func (b *budget) isExhausted() bool { return b.bytes == 0 || b.nodes < 0 }

// deduct subtracts n from left. If left is too small, it becomes 0, and deduct returns false.
func deduct(left *int, n int) bool {
	if n > *left {
		*left = 0
		return false
	}
	*left -= n
	return true
}

// size returns the length of a value as JSON, in bytes.
func size(v any) int { return len(tree.Show(v)) }
