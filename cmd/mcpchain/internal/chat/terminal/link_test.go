package terminal

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

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
