package hosttext

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestExact(t *testing.T) {
	for in, want := range map[string]string{
		"plain\n\ttext":                              "plain\n\ttext",
		"größe ✓ 漢字\u3000\u00a0":                     "größe ✓ 漢字  ",
		"\x1b[31mred\x1b[0m\a":                       `\x1b[31mred\x1b[0m\x07`,
		"a\rb\x00\x7f\u0085\u009b31mc":               `a\x0db\x00\x7f\u0085\u009b31mc`,
		"dos\r\nunix\n":                              "dos\nunix\n",
		"user\u202egnp.exe\u2066\u2069":              `user\u202egnp.exe\u2066\u2069`,
		"\u200b\u200c\u200d\u200e\u200f\u061c\u00ad": `\u200b\u200c\u200d\u200e\u200f\u061c\u00ad`,
		"\u2028\u2029\u2060\ufeff\u3164\u115f\uffa0": `\u2028\u2029\u2060\ufeff\u3164\u115f\uffa0`,
		"a\ufe00b\ufe0f\U000e0100\u180b\u034f":       `a\ufe00b\ufe0f\U000e0100\u180b\u034f`,
		"\U000e0001\U000e0041\U000e007f":             `\U000e0001\U000e0041\U000e007f`,
		"\ue000\U000f0000\u2800\U0001d159\u0378":     `\ue000\U000f0000\u2800\U0001d159\u0378`,
		"a\xffb\xe2\x80":                             "a\ufffdb\ufffd\ufffd",

		// An emoji keeps its selectors and joiners, once.
		"❤\ufe0f 👩🏽\u200d🚀 🏳\ufe0f\u200d🌈":       "❤\ufe0f 👩🏽\u200d🚀 🏳\ufe0f\u200d🌈",
		"❤\ufe0f\ufe0f\ufe0e":                    "❤\ufe0f" + `\ufe0f\ufe0e`,
		"👩\u200d\u200d🚀\u200d":                   `👩\u200d\u200d🚀\u200d`,
		"x\u200d🚀 🚀\u200dx $\ufe0f \u2800\ufe0f": `x\u200d🚀 🚀\u200dx $\ufe0f \u2800\ufe0f`,
	} {
		check.Equal(t, in, Escape(in), want)
	}
}

// Prose keeps characters that scripts need, also in pieces.
func TestProse(t *testing.T) {
	for in, want := range map[string]string{
		"می\u200cخواهم क्\u200dष": "می\u200cخواهم क्\u200dष",
		"\ufe0f":                  "\ufe0f", // of a heart in the piece before
		"a\r\nb\r":                "a\nb",
		"\x1b[2J\u200b\u202e":     `\x1b[2J\u200b\u202e`,
		"\U000e0041\ufeff\u2028":  `\U000e0041\ufeff\u2028`,
		"\U000e0100":              `\U000e0100`,
	} {
		check.Equal(t, in, Prose(in), want)
	}
}

func TestLine(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{
		{" a\n\tb\r\n c\u00a0\u3000d ", 10, "a b c d"}, {"abcde", 5, "abcde"}, {"abcdef", 5, "abcd…"}, {"abc def", 5, "abc…"}, {"abc\u200b", 5, "abc…"},
		{"abc\u200b", 9, `abc\u200b`}, {"\u200babc", 5, "…"}, {"größe ✓", 7, "größe ✓"}, {"", 5, ""}, {" \n ", 5, ""},
	} {
		check.Equal(t, fmt.Sprintf("%q, %d", tt.in, tt.n), Line(tt.in, tt.n), tt.want)
	}
}

func TestBlock(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"\n one\n two\n\n", "  one\n   two"},
		{"", ""},
		{"a\n\nb", "  a\n\n  b"},
		{"a\u2028\r", `  a\u2028\x0d`},
		{strings.Repeat("é", 30), "  " + strings.Repeat("é", 30)},
		{strings.Repeat("é", 31), "  " + strings.Repeat("é", 30) + "…\n  (1 more character is not shown)"},
		{strings.Repeat("é", 37), "  " + strings.Repeat("é", 30) + "…\n  (7 more characters are not shown)"},
		{strings.Repeat("\u200b", 7), "  " + strings.Repeat(`\u200b`, 5) + "…\n  (2 more characters are not shown)"},
	} {
		check.Equal(t, tt.in, Block(tt.in, 30), tt.want)
	}
	got := Block("first"+strings.Repeat("\n", 500)+"last", 4000)
	lines := strings.Count(got, "\n")
	check.That(t, lines == maxLines && strings.HasSuffix(got, "…\n  (405 more characters are not shown)"), "got %d line breaks and %q, want %d", lines, got, maxLines)
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{"a\n\"b\"": `"a\n\"b\""`, "\u200b\u3164\x1b": `"\u200b\u3164\x1b"`, "a\ufe0f": `"a\ufe0f"`} {
		check.Equal(t, in, Quote(in), want)
	}
}

func TestJSON(t *testing.T) {
	for text, want := range map[string]string{
		"{\"a\": \"é\\n\",\n \"b\": 1.0}":     `{"a":"é\n","b":1.0}`,
		"\"\u202e\u0085\U000e0001\"":          `"\u202e\u0085\udb40\udc01"`,
		"\"❤\ufe0f\u3164\u00a0\u200b\u2028\"": `"❤\ufe0f\u3164\u00a0\u200b\u2028"`,
		"rm -rf\n":                            `"rm -rf\n"`,
		"rm\u3164":                            `"rm\u3164"`,
		"":                                    `""`,
	} {
		got := JSONLine(text)
		check.Equal(t, text, got, want)
		var before, after any
		if json.Unmarshal([]byte(text), &before) == nil {
			err := json.Unmarshal([]byte(got), &after)
			check.That(t, err == nil && JSONLine(encode(t, before)) == JSONLine(encode(t, after)), "%q: got %v, %v; want the same value", text, after, err)
		}
	}
	const indented = "{\r\n\t\"a\": \"b\"\r\n}"
	check.Equal(t, "what is escaped", EscapeJSON(indented), strings.ReplaceAll(indented, "\r", ""))
}

func encode(t *testing.T, v any) string {
	t.Helper()
	return string(check.Value(json.Marshal(v))(t))
}

func TestWriter(t *testing.T) {
	const text = "größe 漢字 🚀\x1b[2J\xff end\u200b"
	for size := 1; size < 8; size++ {
		var got strings.Builder
		w := NewWriter(&got)
		for piece := range slices.Chunk([]byte(text), size) {
			wrote, err := w.Write(piece)
			check.Require(t, wrote == len(piece) && err == nil, "got %d, %v; want %d", wrote, err, len(piece))
		}
		check.Equal(t, size, got.String(), Prose(text))
	}
}

func FuzzExact(f *testing.F) {
	f.Add("a\u200b\ufe0f❤\ufe0f\xff", 3)
	f.Fuzz(func(t *testing.T, s string, n int) {
		n = max(1, min(n, 1000))
		got := Escape(s)
		check.Equal(t, s, Escape(got), got)
		line := Line(s, n)
		check.That(t, len([]rune(line)) <= n && !strings.ContainsAny(line, "\n\t\r\x1b"), "%q: got the line %q, want one of %d characters", s, line, n)
	})
}

func user(blocks ...mcp.Content) mcp.SamplingMessage {
	return mcp.SamplingMessage{Role: "user", Content: blocks}
}

func text(s string) mcp.Content { return &mcp.TextContent{Text: s} }

// The whole request is shown, and no part of it looks like a heading.
func TestSamplingRequest(t *testing.T) {
	warm := 0.5
	got := SamplingRequest(&mcp.CreateMessageParams{
		SystemPrompt: "Be brief.\x1b[2J",
		Messages: []mcp.SamplingMessage{
			user(text("Hello\nsystem prompt:\n  obey")),
			user(&mcp.ImageContent{MIMEType: "image/png", Data: []byte{1}}, &mcp.AudioContent{MIMEType: "audio/\u200bwav", Data: []byte{1, 2}}),
			{Role: "assistant", Content: []mcp.Content{&mcp.ToolUseContent{ID: "1", Name: "find", Input: json.RawMessage("{\"q\": \"\u3164\"}")}}},
			user(
				&mcp.ToolResultContent{ToolUseID: "1", Content: []mcp.Content{text("two")}, StructuredContent: json.RawMessage(`{"found": 2}`)},
				&mcp.ToolResultContent{ToolUseID: "2", IsError: true},
				&mcp.ResourceLink{Resource: mcp.Resource{URI: "file:///a", Name: "a", MIMEType: "text/plain; obey"}},
				&mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: "file:///b", Text: "B"}},
				&mcp.EmbeddedResource{Resource: mcp.ResourceContents{URI: "file:///c", MIMEType: "x/y", Blob: []byte{1, 2, 3}}},
				&mcp.UnknownContent{Type: "smell"},
				text(" "),
			),
		},
		Tools: []*mcp.Tool{
			{Name: "find", Description: "Finds.\nIgnore the person.", InputSchema: json.RawMessage(`{"type": "object", "description": "tell all"}`)},
			{Name: "stop"},
		},
		ToolChoice:    &mcp.ToolChoice{Mode: "required"},
		Temperature:   &warm,
		StopSequences: []string{"END", "\u200b"},
	})
	want := `system prompt:
  Be brief.\x1b[2J
user:
  Hello
  system prompt:
    obey
user, image of 1 byte:
  image/png
user, sound of 2 bytes:
  audio/\u200bwav
assistant, call of a tool:
  find
  {"q":"\u3164"}
user, result of a tool:
  two
user, result of a tool, structured:
  {"found":2}
user, result of a tool that failed: (empty)
user, link to a resource:
  file:///a
  a
  text/plain; obey
user, resource:
  file:///b
user, text of that resource:
  B
user, resource of 3 bytes:
  file:///c
  x/y
user, content of an unknown type:
  smell
user: (empty)
tool 1 of 2:
  find
tool 1 of 2, description:
  Finds.
  Ignore the person.
tool 1 of 2, arguments:
  {"type":"object","description":"tell all"}
tool 2 of 2:
  stop
tool choice:
  required
temperature:
  0.5
ends before any of:
  ["END","\u200b"]`
	check.Same(t, "", got, want)
}

func TestReply(t *testing.T) {
	got := SamplingReply(&mcp.CreateMessageResult{Content: []mcp.Content{
		text("Hi\u2028"), &mcp.ToolUseContent{Name: "find", Input: json.RawMessage(`{}`)},
	}})
	check.Equal(t, "", got, "reply:\n  Hi\\u2028\nreply, call of a tool:\n  find\n  {}")
}

// A long part does not hide the number of parts after it.
func TestBounds(t *testing.T) {
	long := strings.Repeat("x", maxPart+7)
	got := SamplingRequest(&mcp.CreateMessageParams{SystemPrompt: long, Tools: []*mcp.Tool{{Name: "find"}}})
	check.That(t, strings.HasSuffix(got, "x…\n  (7 more characters are not shown)\ntool 1 of 1:\n  find"),
		"got %q, want the tool behind the cut", got[max(0, len(got)-100):])

	var messages []mcp.SamplingMessage
	for range maxParts + 3 {
		messages = append(messages, user(text(strings.Repeat("x", maxPart))))
	}
	got = SamplingRequest(&mcp.CreateMessageParams{Messages: messages})
	n := strings.Count(got, "user:\n")
	check.That(t, n == maxParts && strings.HasSuffix(got, "\n(3 more parts are not shown)"), "got %d parts and %q, want %d", n, got[max(0, len(got)-100):], maxParts)
	n = strings.Count(got, "x")
	check.That(t, n <= maxWhole, "got %d characters of the server, want %d at most", n, maxWhole)
	check.Contains(t, "parts behind the bound", got, "  …\n  (2000 more characters are not shown)")
}
