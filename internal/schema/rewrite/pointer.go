package rewrite

import "strings"

var (
	escapes   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapes = strings.NewReplacer("~1", "/", "~0", "~")
)

// elsewhere is a reference that never has a target.
const elsewhere = "elsewhere"

// join appends segments to a JSON pointer.
func join(at string, segments ...string) string {
	for _, s := range segments {
		at += "/" + escapes.Replace(s)
	}
	return at
}

// pointerOf is a reference as the path of a change, "" for an anchor.
func pointerOf(ref string) string {
	if place, ok := fragment(ref); ok && strings.HasPrefix(place, "/") {
		return place
	}
	return ""
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
