package rewrite

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/pattern"
)

// Document is a schema that is looked through: what its references refer to and
// what its patterns match, for as long as its steps last. It is for one goroutine
// at a time.
type Document struct {
	Root map[string]any // which must not change
	Left int            // steps that may still be spent

	anchors  map[string]any              // what they stand at, nil before the first is sought
	patterns map[string]*pattern.Pattern // nil for those of another language
}

// Spend takes steps from what is left. Where there are not enough, nothing is
// left, and it returns false.
func (d *Document) Spend(n int) bool {
	if n > d.Left {
		d.Left = 0
		return false
	}
	d.Left -= n
	return true
}

// Matches reports whether a text matches a pattern, which is compiled once. That is
// not known of patterns of another language, which validation leaves to the server,
// too, and of what would take too long.
func (d *Document) Matches(expr, text string) (matches, known bool) {
	if d.Left == 0 {
		return false, false
	}
	compiled := d.compiled(expr)
	if !d.Spend(8) || compiled == nil || !d.Spend(compiled.Work(text)/workPerStep) {
		return false, false
	}
	return compiled.MatchString(text), true
}

// workPerStep is the work of matching a text that is as much as one step.
const workPerStep = 128

// compiled is a pattern, nil for one of another language. What all patterns of a
// schema compile to is bounded when that is compiled.
func (d *Document) compiled(expr string) *pattern.Pattern {
	compiled, there := d.patterns[expr]
	if !there {
		compiled, _ = pattern.Compile(expr)
		if d.patterns == nil {
			d.patterns = map[string]*pattern.Pattern{}
		}
		d.patterns[expr] = compiled
	}
	return compiled
}

// Resolve returns what a reference at the level of the document refers to, by a
// pointer or by an anchor. There is nothing for one that leads elsewhere: what has
// an $id of its own is another document. A long reference takes steps, and there is
// nothing without them, either.
func (d *Document) Resolve(ref string) (v any, ok bool) {
	if !d.Spend(len(ref) / 64) {
		return nil, false
	}
	place, ok := fragment(ref)
	switch {
	case !ok:
		return nil, false
	case place == "":
		return d.Root, true
	case place[0] != '/':
		return d.anchored(place)
	}
	v = d.Root
	for segment := range strings.SplitSeq(place[1:], "/") {
		switch node := v.(type) {
		case map[string]any:
			if d.movesBase(node) {
				return nil, false
			}
			if v, ok = node[unescapes.Replace(segment)]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(segment)
			if err != nil || i < 0 || i >= len(node) {
				return nil, false
			}
			v = node[i]
		default:
			return nil, false
		}
	}
	return v, true
}

// plain follows references.
func (d *Document) plain(v any) map[string]any {
	s := object(v)
	for range 16 {
		ref, ok := s["$ref"].(string)
		if !ok {
			return s
		}
		target, _ := d.Resolve(ref)
		s = object(target)
	}
	return nil
}

// fragment is what a reference says of a place in the document.
func fragment(ref string) (place string, ok bool) {
	place, ok = strings.CutPrefix(ref, "#")
	if !ok {
		return "", false
	}
	place, err := url.PathUnescape(place)
	return place, err == nil
}

// anchored finds the subschema that has an anchor.
func (d *Document) anchored(name string) (v any, ok bool) {
	if d.anchors == nil {
		d.anchors = map[string]any{}
		d.anchor(d.Root)
	}
	v, ok = d.anchors[name]
	return v, ok
}

// anchor lists the anchors of a subschema and of all below it.
func (d *Document) anchor(v any) {
	s := object(v)
	if s == nil || d.movesBase(s) {
		return
	}
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		if name, ok := s[key].(string); ok {
			d.anchors[name] = s
		}
	}
	for _, key := range []string{"$id", "id"} { // an anchor, up to draft-07
		if name, ok := strings.CutPrefix(text(s[key]), "#"); ok && name != "" {
			d.anchors[name] = s
		}
	}
	eachBelow(s, d.anchor)
}

// movesBase reports whether references in a subschema have other targets than
// they have outside of it.
func (d *Document) movesBase(s map[string]any) bool {
	key := "$id"
	if strings.Contains(text(d.Root["$schema"]), "draft-04") {
		key = "id"
	}
	id := text(s[key])
	return id != "" && id[0] != '#' && !same(s, d.Root)
}
