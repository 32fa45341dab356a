package rewrite

import (
	"maps"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/profile"
)

// report lists the changes of one result, each once.
type report struct {
	changes []profile.Change
	seen    map[profile.Change]bool
	full    int  // the number of changes that are listed one by one; of the rest, only the first of each keyword and effect
	silent  bool // something was changed that matters to nobody, and is not listed
}

// record adds a change, unless it is listed already.
func (r *report) record(at, keyword string, effect profile.Effect, text string) {
	c := profile.Change{Path: at, Keyword: keyword, Effect: effect, Note: text}
	key := c
	if len(r.changes) >= r.full {
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
	r.changes = append(r.changes, c)
}

// clone returns a copy. Assigning it to *r later undoes the changes in between.
func (r *report) clone() report {
	return report{slices.Clone(r.changes), maps.Clone(r.seen), r.full, r.silent}
}

// unwrap removes a prefix from the paths of the changes below it.
func (r *report) unwrap(prefix string) {
	for i, c := range r.changes {
		if rest, ok := strings.CutPrefix(c.Path, prefix); ok && (rest == "" || rest[0] == '/') {
			r.changes[i].Path = rest
		}
	}
}
