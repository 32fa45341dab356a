package rewrite

import (
	"math/big"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// readable reports whether a pattern is of the language that arguments are
// validated in.
func readable(pattern string) bool {
	_, err := syntax.Parse(pattern, syntax.Perl)
	return err == nil
}

// named reports whether a name fits what propertyNames says, down to a depth.
// That is not known of all that it can say.
func (w *writer) named(says any, name string, depth int) (fits, known bool) {
	s := w.plain(says)
	switch {
	case says == true, says == nil:
		return true, true
	case never(says):
		return false, true
	case s == nil, depth == 0, !w.doc.Spend(breadth(s)):
		return false, false
	}
	known = true
	for _, key := range keys(s) {
		fits, sure := true, true
		switch v := s[key]; key {
		case "type":
			fits = slices.Contains(types(s), "string")
		case "const", "enum":
			fits = slices.Contains(constants(map[string]any{key: v}), any(name))
		case "minLength", "maxLength":
			length := big.NewRat(int64(utf8.RuneCountInString(name)), 1)
			fits = within(length, s["minLength"], s["maxLength"])
		case "pattern":
			fits, sure = w.doc.Matches(text(v), name)
		case "not":
			fits, sure = w.named(v, name, depth-1)
			fits = !fits
		case "allOf":
			for _, part := range list(v) {
				also, partSure := w.named(part, name, depth-1)
				fits, sure = fits && also, sure && partSure
			}
		default:
			sure = slices.Contains(remarks, key)
		}
		if sure && !fits {
			return false, true
		}
		known = known && sure
	}
	return true, known
}
