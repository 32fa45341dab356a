package screen

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// functionKey is a function key as some terminals send it: two characters after escape.
var functionKey = regexp.MustCompile("\x1b[NO].")

// CleanInput is what a person typed, without escape sequences and control characters: an
// arrow key that a terminal wrote out is no part of an answer. Line breaks and tabs stay.
func CleanInput(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cc, r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, ansi.Strip(functionKey.ReplaceAllString(text, "")))
}
