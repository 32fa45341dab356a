package terminal

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/mcpchain/mcpchain/internal/check"
)

// The renderer counts the columns of tabs, and the terminal gets the tabs.
func TestTabs(t *testing.T) {
	for line, want := range map[string]struct {
		columns int
		shown   string
	}{
		"\tx":                           {9, "\tx"},
		"abc\tx\ty":                     {17, "abc\tx\ty"},
		"größe\tx":                      {9, "größe\tx"},
		strings.Repeat("x", 35) + "\ty": {41, strings.Repeat("x", 35) + "     y"}, // no tab leaves its row
		strings.Repeat("x", 80):         {81, strings.Repeat("x", 80) + " "},
		strings.Repeat("x", 40):         {41, strings.Repeat("x", 40) + " "},
	} {
		fitted := fitLine(line, 40)
		if got := ansi.StringWidth(fitted); got != want.columns {
			t.Errorf("%q: got %d columns, want %d", line, got, want.columns)
		}
		path := filepath.Join(t.TempDir(), "out")
		f, err := os.Create(path)
		check.Must(t, err)
		check.NoError(t, check.Err((&output{File: f}).Write([]byte(fitted))))
		check.NoError(t, f.Close())
		if got, err := os.ReadFile(path); err != nil || string(got) != want.shown {
			t.Errorf("%q: got %q, %v; want %q", line, got, err, want.shown)
		}
	}
}
