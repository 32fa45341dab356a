package rewrite

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/profile"
)

// Report lists the changes of one result, each once.
type Report struct {
	Changes []profile.Change
	Silent  bool // something was changed that matters to nobody, and is not listed
	Full    int  // the number of changes that are listed one by one; of the rest, only the first of each keyword and effect

	seen map[profile.Change]bool
}

// Note records a change.
func (r *Report) Note(at, keyword string, effect profile.Effect, text string) {
	c := profile.Change{Path: at, Keyword: keyword, Effect: effect, Note: text}
	key := c
	if len(r.Changes) >= r.Full {
		key = profile.Change{Keyword: keyword, Effect: effect}
		c.Note += "; and more of this kind"
	}
	if r.seen[key] {
		return
	}
	if r.seen == nil {
		r.seen = map[profile.Change]bool{}
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
