package screen

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// function is a function key as some terminals send it: two characters after escape.
var function = regexp.MustCompile("\x1b[NO].")

// Typed is what a person typed, without escape sequences and control characters: an
// arrow key that a terminal wrote out is no part of an answer. Line breaks and tabs stay.
func Typed(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cc, r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, ansi.Strip(function.ReplaceAllString(text, "")))
}
