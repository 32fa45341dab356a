package terminal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/internal/check"
)

// Also on a screen that is as narrow as a character, the lines come to an end.
func TestNarrowScreen(t *testing.T) {
	for width := 1; width <= 3; width++ {
		rest, got := []string{"日本語 text"}, ""
		for n := 0; len(rest) > 0 && n < 20; n++ {
			var portion []string
			portion, rest = nextPortion(rest, width, 1)
			got += strings.Join(portion, "")
		}
		got = strings.ReplaceAll(got, " ", "")
		check.That(t, len(rest) == 0 && got == "日本語text", "%d columns: got %q, and %q is left", width, got, rest)
	}
}

// No portion is higher than the room, whatever the lengths of the lines, and nothing is lost.
func TestNextPortion(t *testing.T) {
	const width, room = 10, 4
	lengths := []int{0, 9, 10, 11, 39, 40, 41, 200}
	for n := range 512 {
		lines := []string{"\tx"}
		for i, c := range fmt.Sprintf("%o", n) {
			lines = append(lines, strings.Repeat(string(rune('a'+i)), lengths[c-'0']))
		}
		want := strings.Join(lines, "")
		got := ""
		for rest := lines; len(rest) > 0; {
			var portion []string
			portion, rest = nextPortion(rest, width, room)
			rows := 0
			for _, line := range portion {
				columns := ansi.StringWidth(line)
				rows += 1 + columns/width
				check.Require(t, columns == 0 || columns%width > 0, "%q fills its last row", line)
				got += line
			}
			check.Require(t, len(portion) > 0 && rows <= room, "%q: got %d rows, want at most %d", portion, rows, room)
		}
		plain := strings.NewReplacer(" ", "", "\t", "")
		check.Require(t, plain.Replace(got) == plain.Replace(want), "got %q, want %q", got, want)
	}
}
