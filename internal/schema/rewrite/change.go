package rewrite

import (
	"maps"
	"slices"
	"strings"
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

// Report lists the changes of one result, each once.
type Report struct {
	Changes []Change
	Silent  bool // something was changed that is not listed
	Full    int  // changes that are listed one by one; of the others, the first of each keyword and effect is

	seen map[Change]bool
}

// Note records a
func (r *Report) Note(at, keyword string, effect Effect, text string) {
	c := Change{Path: at, Keyword: keyword, Effect: effect, Note: text}
	key := c
	if len(r.Changes) >= r.Full {
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
	r.Changes = append(r.Changes, c)
}

// Reset drops all that was recorded.
func (r *Report) Reset() { *r = Report{Full: r.Full} }

// Clone is a copy to return to.
func (r *Report) Clone() Report {
	return Report{slices.Clone(r.Changes), r.Silent, r.Full, maps.Clone(r.seen)}
}

// Unwrap makes paths below a prefix paths without it.
func (r *Report) Unwrap(prefix string) {
	for i, c := range r.Changes {
		if rest, ok := strings.CutPrefix(c.Path, prefix); ok && (rest == "" || rest[0] == '/') {
			r.Changes[i].Path = rest
		}
	}
}
