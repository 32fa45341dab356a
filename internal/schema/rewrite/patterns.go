package rewrite

import "regexp"

// matches reports whether a name matches a pattern. That is not known of patterns
// of another language, which are left to the server by validation, too, and of
// what would take too long.
func (w *writer) matches(pattern, name string) (matches, known bool) {
	if !w.compares.spend(16 + len(name)/16) {
		return false, false
	}
	compiled, there := w.patterns[pattern]
	if !there {
		compiled, _ = regexp.Compile(pattern)
		if w.patterns == nil {
			w.patterns = map[string]*regexp.Regexp{}
		}
		w.patterns[pattern] = compiled
	}
	return compiled != nil && compiled.MatchString(name), compiled != nil
}
