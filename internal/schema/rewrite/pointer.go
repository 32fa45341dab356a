package rewrite

import (
	"net/url"
	"strconv"
	"strings"
)

var (
	escapes   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapes = strings.NewReplacer("~1", "/", "~0", "~")
)

// elsewhere is a reference that resolve never finds a target for.
const elsewhere = "elsewhere"

// join appends segments to a JSON pointer.
func join(at string, segments ...string) string {
	for _, s := range segments {
		at += "/" + escapes.Replace(s)
	}
	return at
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

// pointerOf is a reference as the path of a change, "" for an anchor.
func pointerOf(ref string) string {
	if place, ok := fragment(ref); ok && strings.HasPrefix(place, "/") {
		return place
	}
	return ""
}

// Resolver finds what references inside of a document refer to. It is for one
// goroutine at a time.
type Resolver struct{ w writer }

// NewResolver makes a Resolver for a document, which must not change.
func NewResolver(root any) *Resolver { return &Resolver{writer{root: object(root)}} }

// Resolve returns what a reference at the level of the document refers to, by a
// pointer or by an anchor. There is nothing for one that leads elsewhere.
func (r *Resolver) Resolve(ref string) (v any, ok bool) { return r.w.resolve(ref) }

// resolve finds what a reference inside the document refers to. What has an $id of
// its own is another document, into which no pointer leads.
func (w *writer) resolve(ref string) (v any, ok bool) {
	place, ok := fragment(ref)
	switch {
	case !ok:
		return nil, false
	case place == "":
		return w.root, true
	case place[0] != '/':
		return w.anchored(place)
	}
	v = w.root
	for segment := range strings.SplitSeq(place[1:], "/") {
		switch node := v.(type) {
		case map[string]any:
			if w.movesBase(node) {
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

// anchored finds the subschema that has an anchor.
func (w *writer) anchored(name string) (v any, ok bool) {
	if w.anchors == nil {
		w.anchors = map[string]any{}
		w.anchor(w.root)
	}
	v, ok = w.anchors[name]
	return v, ok
}

// anchor lists the anchors of a subschema and of all below it.
func (w *writer) anchor(v any) {
	s := object(v)
	if s == nil || w.movesBase(s) {
		return
	}
	for _, key := range []string{"$anchor", "$dynamicAnchor"} {
		if name, ok := s[key].(string); ok {
			w.anchors[name] = s
		}
	}
	for _, key := range []string{"$id", "id"} { // an anchor, up to draft-07
		if name, ok := strings.CutPrefix(text(s[key]), "#"); ok && name != "" {
			w.anchors[name] = s
		}
	}
	eachBelow(s, w.anchor)
}

// movesBase reports whether references in a subschema have other targets than
// they have outside of it.
func (w *writer) movesBase(s map[string]any) bool {
	key := "$id"
	if strings.Contains(text(w.root["$schema"]), "draft-04") {
		key = "id"
	}
	id := text(s[key])
	return id != "" && id[0] != '#' && !same(s, w.root)
}

// eachBelow visits the subschemas that the keywords of one hold.
func eachBelow(s map[string]any, visit func(v any)) {
	for _, key := range holdsSchema {
		if sub, ok := s[key]; ok {
			visit(sub)
		}
	}
	for _, key := range append([]string{"items"}, holdsList...) {
		for _, sub := range list(s[key]) {
			visit(sub)
		}
	}
	for _, key := range append([]string{"dependencies"}, holdsMap...) {
		for _, sub := range object(s[key]) {
			visit(sub)
		}
	}
}
