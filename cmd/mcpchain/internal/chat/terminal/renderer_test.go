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
		check.Equal(t, line, ansi.StringWidth(fitted), want.columns)
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

// An address cannot end the sequence of its link or begin another one, and is bounded.
func TestLinked(t *testing.T) {
	const begin, end = "\x1b]8;;", "x\x1b]8;;\x07"
	for address, want := range map[string]string{
		"http://127.0.0.1:1/a":                "http://127.0.0.1:1/a\x07",
		"http://a/\x07\x1b]0;owned\x07\u202e": "http://a/\\x07\\x1b]0;owned\\x07\\u202e\x07",
		strings.Repeat("a", 3000):             strings.Repeat("a", maxAddress-1) + "…\x07",
	} {
		check.Equal(t, "", hyperlink("x", address), begin+want+end)
	}
}

// Terminals that would print the sequence get no link.
func TestLinksByName(t *testing.T) {
	for name, want := range map[string]bool{"xterm-256color": true, "xterm-kitty": true, "linux": false, "vt100": false, "screen.xterm": false} {
		check.Equal(t, name, hasLinks(name), want)
	}
}
