package rewrite

import (
	"strconv"
	"strings"
)

var (
	escapes   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapes = strings.NewReplacer("~1", "/", "~0", "~")
)

// join appends segments to a JSON pointer.
func join(at string, segments ...string) string {
	for _, s := range segments {
		at += "/" + escapes.Replace(s)
	}
	return at
}

// target finds what a reference inside the document refers to.
func (w *writer) resolve(ref string) (v any, ok bool) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && !strings.HasPrefix(pointer, "/") {
		return nil, false
	}
	v = w.root
	if pointer == "" {
		return v, true
	}
	for segment := range strings.SplitSeq(pointer[1:], "/") {
		switch node := v.(type) {
		case map[string]any:
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
