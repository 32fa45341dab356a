package rewrite

import (
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/schema/tree"
)

// Effect says what a change does to the set of arguments that the schema allows.
type Effect int

const (
	// Same means that the model is told the same: in other words, or in a form
	// that is turned back before validation.
	Same Effect = iota

	// Narrower means that the model is not told of some arguments that the
	// original allows.
	Narrower

	// Wider means that the model is not held to something that the original
	// demands. Validation holds it to that.
	Wider
)

// String names the effect.
func (e Effect) String() string {
	switch e {
	case Narrower:
		return "narrower"
	case Wider:
		return "wider"
	}
	return "same"
}

// Change is one difference between a schema and its rewritten form.
type Change struct {
	Path    string // a JSON pointer into the original schema, through its references and merged parts; "…" for names beyond 1 KiB
	Keyword string // that the change is about, "" for the subschema as a whole
	Effect  Effect
	Note    string
}

// maxChanges bounds the list of changes. Beyond it, the first of each keyword and
// effect is listed.
const maxChanges = 5_000

// report lists the changes of one result, each once.
type report struct {
	changes []Change
	seen    map[Change]bool
	silent  bool // something was changed that is not listed
	full    int  // the number of changes that are listed one by one
}

// newReport is the report of another schema.
func newReport(room *Room) *report {
	return &report{full: min(maxChanges, max(maxListed-room.changes, 0))}
}

// note records a change.
func (r *report) note(at, keyword string, effect Effect, text string) {
	c := Change{Path: at, Keyword: keyword, Effect: effect, Note: text}
	key := c
	if len(r.changes) >= r.full {
		key = Change{Keyword: keyword, Effect: effect}
		c.Note += "; and more of this kind"
	}
	if r.seen[key] {
		return
	}
	if r.seen == nil {
		r.seen = map[Change]bool{}
	}
	r.seen[key] = true
	r.changes = append(r.changes, c)
}

// fail records why a schema cannot be strict.
func (r *report) fail(at, keyword, why string) bool {
	r.note(at, keyword, Same, "not strict: "+why)
	return false
}

// forget drops all that was recorded.
func (r *report) forget() { *r = report{full: r.full} }

// mark is a state of the report to return to.
func (r *report) mark() report {
	seen := make(map[Change]bool, len(r.seen))
	for c := range r.seen {
		seen[c] = true
	}
	return report{slices.Clone(r.changes), seen, r.silent, r.full}
}

// unwrap makes paths into a wrapped schema paths into the original.
func (r *report) unwrap(name string) {
	prefix := tree.Join("", "properties", name)
	for i, c := range r.changes {
		if rest, ok := strings.CutPrefix(c.Path, prefix); ok && (rest == "" || rest[0] == '/') {
			r.changes[i].Path = rest
		}
	}
}
