package screen

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
)

// functionKey matches an arrow or function key that a terminal sends as SS2 or SS3, which
// [ansi.Strip] leaves in part.
var functionKey = regexp.MustCompile("\x1b[NO].")

// CleanInput removes escape sequences and control characters from what a person typed: a terminal
// may have written out an arrow key. Line breaks and tabs stay.
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

// Cost formats amounts in millionths by currency, such as "0.12 USD". It returns "" for no amounts.
func Cost(amounts map[string]int64) string {
	var parts []string
	for _, currency := range slices.Sorted(maps.Keys(amounts)) {
		amount := float64(amounts[currency]) / 1e6
		switch {
		case amounts[currency] == 0:
			parts = append(parts, "0 "+currency)
		case amount < 0.01:
			parts = append(parts, fmt.Sprintf("%.2g %s", amount, currency))
		default:
			parts = append(parts, fmt.Sprintf("%.2f %s", amount, currency))
		}
	}
	return strings.Join(parts, " + ")
}
