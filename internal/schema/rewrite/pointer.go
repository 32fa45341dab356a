package rewrite

import (
	"strconv"
	"strings"
)

var (
	escapes   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapes = strings.NewReplacer("~1", "/", "~0", "~")
)

// elsewhere is a reference that never has a target.
const elsewhere = "elsewhere"

// maxPath bounds the path of a change in bytes, but for one cutMark for every level
// beyond: long names can be around many subschemas.
const maxPath = 1 << 10

// cutMark stands for a segment that there is no room for.
const cutMark = "…"

// join appends segments to a JSON pointer.
func join(at string, segments ...string) string {
	for _, s := range segments {
		if len(at)+len(s) > maxPath {
			s = cutMark
		}
		at += "/" + escapes.Replace(s)
	}
	return at
}

// quote writes a name for a note.
func quote(name string) string {
	if len(name) > maxPath {
		name = strings.ToValidUTF8(name[:maxPath], "") + cutMark
	}
	return strconv.Quote(name)
}

// pointerOf is a reference as the path of a change, "" for an anchor and for one
// that is too long.
func pointerOf(ref string) string {
	if place, ok := fragment(ref); ok && strings.HasPrefix(place, "/") && len(place) <= maxPath {
		return place
	}
	return ""
}

// RefersToRoot reports whether a reference of a schema leads to its root, so that
// what is added to that holds elsewhere, too.
func RefersToRoot(root map[string]any) bool {
	doc := &Document{Root: root, Left: maxSteps}
	found := false
	var seek func(v any)
	seek = func(v any) {
		s := object(v)
		for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
			ref, _ := s[key].(string)
			if ref = "#" + strings.TrimPrefix(strings.TrimPrefix(ref, text(root["$id"])), "#"); s[key] != nil && !found {
				target, _ := doc.Resolve(ref)
				found = same(target, root)
			}
		}
		if !found {
			eachBelow(s, seek)
		}
	}
	seek(root)
	return found
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
