package screen

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// functionKey matches an arrow or function key that a terminal sends as SS2 or SS3, which [ansi.Strip] leaves in part.
var functionKey = regexp.MustCompile("\x1b[NO].")

// CleanInput removes escape sequences and control characters from what a person typed: a terminal may have written
// out an arrow key. Line breaks and tabs stay.
func CleanInput(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cc, r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, ansi.Strip(functionKey.ReplaceAllString(text, "")))
}

// Indent indents a line of a peer's text, so that it differs from the program's own lines.
func Indent(line string) string { return "  " + strings.ReplaceAll(line, "\t", "    ") }

// Plural returns a count with an English noun that takes an s.
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
