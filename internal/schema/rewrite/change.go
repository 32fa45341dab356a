package rewrite

import (
	"maps"
	"slices"
	"strings"
)

// Effect says what a change does to the set of arguments that the schema allows.
type Effect int

const (
	// Same means that the rewritten schema says the same, perhaps in a form that is
	// decoded before validation.
	Same Effect = iota

	// Narrower means that the rewritten schema forbids some arguments that the
	// original allows.
	Narrower

	// Wider means that the rewritten schema allows some arguments that the original
	// forbids. Validation still refuses them.
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
	Keyword string // the changed keyword; "" for the whole subschema
	Effect  Effect
	Note    string
}

// Report lists the changes of one result, each once.
type Report struct {
	Changes []Change
	Silent  bool // something was changed that matters to nobody, and is not listed
	Full    int  // the number of changes that are listed one by one; of the rest, only the first of each keyword and effect

	seen map[Change]bool
}

// Note records a change.
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

// Reset drops all changes.
func (r *Report) Reset() { *r = Report{Full: r.Full} }

// Clone returns a copy, from which an attempt can be undone.
func (r *Report) Clone() Report {
	return Report{slices.Clone(r.Changes), r.Silent, r.Full, maps.Clone(r.seen)}
}

// Unwrap removes a prefix from the paths of the changes below it.
func (r *Report) Unwrap(prefix string) {
	for i, c := range r.Changes {
		if rest, ok := strings.CutPrefix(c.Path, prefix); ok && (rest == "" || rest[0] == '/') {
			r.Changes[i].Path = rest
		}
	}
}
