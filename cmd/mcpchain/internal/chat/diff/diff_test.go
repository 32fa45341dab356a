package diff_test

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/diff"
	"github.com/mcpchain/mcpchain/internal/check"
)

func marked(lines []diff.Line) string {
	var texts []string
	for _, l := range lines {
		texts = append(texts, l.Marked())
	}
	return strings.Join(texts, "\n")
}

func TestLines(t *testing.T) {
	long := strings.Repeat("same\n", 10)
	for _, tt := range []struct{ name, before, after, want string }{
		{"a line", "one\ntwo\nthree\n", "one\n2\nthree\n", "  one\n- two\n+ 2\n  three"},
		{"far lines", long + "a\n" + long, long + "b\n" + long, "…\n  same\n  same\n  same\n- a\n+ b\n  same\n  same\n  same"},
		{"in between", "a\nb\nc\nd", "b\nx\nd", "- a\n  b\n- c\n+ x\n  d"},
		{"all is new", "", "a\n\nb", "+ a\n+ \n+ b"},
		{"all is gone", "a\nb", "", "- a\n- b"},
		{"a line more", "a", "a\nb\n", "  a\n+ b"},
		{"nothing", "a\n", "a", "(nothing changes)"},
	} {
		t.Run(tt.name, func(t *testing.T) { check.Same(t, "", marked(diff.Lines(tt.before, tt.after)), tt.want) })
	}
}

// The diff of large texts is computed with bounded effort, and has all lines.
func TestLargeTexts(t *testing.T) {
	before := strings.Repeat("a\nb\n", 100_000)
	after := strings.Repeat("c\na\n", 100_000)
	removed, added := 0, 0
	for _, l := range diff.Lines(before, after) {
		switch l.Kind {
		case diff.Removed:
			removed++
		case diff.Added:
			added++
		}
	}
	check.That(t, removed == added && removed >= 100_000, "got %d lines removed and %d added, want as many, the ones that differ among them", removed, added)
}

func TestEdits(t *testing.T) {
	for _, tt := range []struct{ name, arguments, want, others string }{
		{"one", `{"path":"a.go","old_string":"x := 1","new_string":"x := 2"}`, "- x := 1\n+ x := 2", `{"path":"a.go"}`},
		{"several", `{"path":"a.go","edits":[{"oldText":"a","newText":"b"},{"oldText":"c","newText":"","all":true}],"dryRun":false}`,
			"- a\n+ b\nedit 2: {\"all\":true}\n- c", `{"dryRun":false,"path":"a.go"}`},
		{"no edit", `{"path":"a.go"}`, "", `{"path":"a.go"}`},
		{"one of several is no edit", `{"edits":[{"oldText":"a","newText":"b"},{"insert":"c"}]}`, "", `{"edits":[{"oldText":"a","newText":"b"},{"insert":"c"}]}`},
		{"not texts", `{"old":1,"new":2}`, "", `{"old":1,"new":2}`},
		{"a name twice", `{"old":"a","new":"b","new":"rm"}`, "", `{"old":"a","new":"b","new":"rm"}`},
		{"no object", `[1]`, "", `[1]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines, others := diff.Edits([]byte(tt.arguments))
			check.Same(t, "", []string{marked(lines), string(others)}, []string{tt.want, tt.others})
		})
	}
}
