package markdown

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/check"
)

const answer = "# Results\n\nHere is a **bold** word, some `inline code`, a Vec<String>, and\na [link](https://example.com/a).\n\n" +
	"- one\n- two\n  - deeper\n\n- three\n\n1. first\n2. second\n\n> said\n\n| Name | Size |\n|---|---:|\n| main.go | 4076 |\n| x | 1 |\n\n" +
	"```go\nfunc main() {\n\tfmt.Println(\"a very long line of code that is wider than the window of the terminal\")\n\n\tif x {\n\t\treturn\n\t}\n}\n```\nAfter *it*.\n"

const drawn = "Results\n\nHere is a bold word, some inline code, a\nVec<String>, and a link https://example.com/a.\n\n" +
	"• one\n• two\n  • deeper\n• three\n\n1. first\n2. second\n\n│ said\n\n Name                    │                   Size\n─────────────────────────┼────────────────────────\n main.go                 │                   4076\n x                       │                      1\n\n" +
	"```go\nfunc main() {\n\tfmt.Println(\"a very long line of code that is wider than the window of the terminal\")\n\n\tif x {\n\t\treturn\n\t}\n}\n```\n\nAfter it."

// Pieces of any size give the same lines, and completed lines do not change.
func TestStream(t *testing.T) {
	for size := 1; size <= len(answer); size += 13 {
		s := New(50)
		var lines []string
		for rest := answer; rest != ""; {
			n := min(size, len(rest))
			lines = append(lines, s.Add(rest[:n])...)
			s.Rest()
			rest = rest[n:]
		}
		got := strings.Join(append(lines, s.End()...), "\n")
		diff := cmp.Diff(drawn, ansi.Strip(got))
		check.Require(t, diff == "", "in pieces of %d: -want +got\n%s", size, diff)
		for _, colour := range []string{"\x1b[1mbold", "\x1b[3mit", "\x1b[36minline code"} {
			check.Contains(t, "", got, colour)
		}
	}
}

func TestRest(t *testing.T) {
	s := New(50)
	lines := s.Add("# One\ntwo **thr")
	check.That(t, ansi.Strip(strings.Join(lines, "|")) == "One", "got %q complete, want the heading", lines)
	rest := ansi.Strip(strings.Join(s.Rest(), "|"))
	check.That(t, rest == "|two **thr", "got the rest %q", rest)
	s.Add("ee**\n```\ncode\n")
	if rest := s.Add("  x\n"); len(rest) != 1 || rest[0] != "  x" {
		t.Errorf("got %q, want code to be complete line by line", rest)
	}
}

func TestNothingIsHidden(t *testing.T) {
	for source, want := range map[string]string{
		"a \x1b[2J b\u200b": `a \x1b[2J b\u200b`, "a &#27;[8m b &zwj; &lt;": "a &#27;[8m b &zwj; <",
		"<script>x</script> <b>y</b>": "<script>x</script> <b>y</b>", "`&#27;[2J`": "&#27;[2J",
		"[a](https://x/&#27;\\)": "", "![alt](https://x/y.png)": "image alt https://x/y.png",
		"[bank](https://evil.example)": "bank https://evil.example",
	} {
		s := New(70)
		got := ansi.Strip(strings.Join(append(s.Add(source), s.End()...), "\n"))
		check.That(t, want == "" || got == want, "%q: got %q, want %q", source, got, want)
	}
}

// Quotes and lists within each other that leave no room for their text, or take long to parse, are shown as they were written.
func TestDeepNesting(t *testing.T) {
	for _, source := range []string{strings.Repeat("> ", 80) + "x", strings.Repeat("- ", 500) + "x", strings.Repeat("1. ", 20_000) + "x"} {
		for _, width := range []int{minWidth, 80} {
			s := New(width)
			lines := append(s.Add(source), s.End()...)
			check.Equal(t, "text", strings.ReplaceAll(strings.Join(lines, ""), " ", ""), strings.ReplaceAll(source, " ", ""))
			check.That(t, len(lines) <= len(source)/width+2, "got %d lines of %d columns", len(lines), width)
		}
	}
}

var colours = regexp.MustCompile(`\x1b\[[0-9;:]*m`)

func FuzzStream(f *testing.F) {
	f.Add(answer, 30, 7)
	f.Add("&#27;[2J <a\x9b31m> [x](\x1b]8;;y\x07) ``` \x90q", 20, 1)
	if raw, err := os.ReadFile("../../../../../README.md"); err == nil {
		f.Add(string(raw), 60, 100)
	}
	f.Fuzz(func(t *testing.T, text string, width, size int) {
		s := New(min(width, 200))
		size = max(1, size)
		var lines []string
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			lines = append(lines, s.Add(rest[:n])...)
			rest = rest[n:]
		}
		for _, line := range append(append(lines, s.Rest()...), s.End()...) {
			plain := colours.ReplaceAllString(line, "")
			check.That(t, hosttext.Prose(plain) == plain && !strings.Contains(plain, "\n"), "%q: got the line %q, want it safe to show", text, line)
		}
	})
}

// A long unfinished block is not rendered for each piece, and a line without an end is shown in parts.
func TestLongRest(t *testing.T) {
	const word = "word "
	s := New(50)
	s.Add(strings.Repeat(word, smallRest/len(word)+1))
	before := s.Rest()
	s.Add(word)
	check.Same(t, "", s.Rest(), before)
	s.Add(strings.Repeat(word, smallRest/redrawShare/len(word)))
	check.That(t, !cmp.Equal(before, s.Rest()), "a part of it more is not drawn")
	s.End()

	const words = 3 * maxBlock / len(word)
	var lines []string
	for range words {
		lines = append(lines, s.Add(word)...)
	}
	check.That(t, len(lines) != 0, "all of a line is held back")
	check.Equal(t, "words", strings.Count(ansi.Strip(strings.Join(append(lines, s.End()...), " ")), "word"), words)
}

// No line is longer than the window, also where words are broken at hyphens: a terminal would show a blank row below it.
// The window may become narrower meanwhile.
func TestHyphens(t *testing.T) {
	names := "- gzip-file-as-resource, toggle-simulated-logging, toggle-subscriber-updates, trigger-long-running-operation, " +
		"trigger-elicitation-request, trigger-url-elicitation, trigger-sampling-request, " + strings.Repeat("word ", smallRest/len("word ")) + "simulate-research-query, read_file, read_text_file, read_media_file\n"
	for width := 40; width < 120; width++ {
		s := New(2 * width)
		s.Add(names)
		s.Rest()
		s.Resize(width)
		for _, line := range append(s.Rest(), s.End()...) {
			got := ansi.StringWidth(line)
			check.That(t, got <= width, "got %d columns, want at most %d: %s", got, width, line)
		}
	}
}
