package hosttext

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
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
	if lines := strings.Count(got, "\n"); lines != maxLines || !strings.HasSuffix(got, "…\n  (405 more characters are not shown)") {
		t.Errorf("got %d line breaks and %q, want %d", lines, got, maxLines)
	}
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
			if err := json.Unmarshal([]byte(got), &after); err != nil || JSONLine(encode(t, before)) != JSONLine(encode(t, after)) {
				t.Errorf("%q: got %v, %v; want the same value", text, after, err)
			}
		}
	}
	const indented = "{\r\n\t\"a\": \"b\"\r\n}"
	check.Equal(t, "what is escaped", EscapeJSON(indented), strings.ReplaceAll(indented, "\r", ""))
}

func encode(t *testing.T, v any) string {
	t.Helper()
	raw := check.Value(json.Marshal(v))(t)
	return string(raw)
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
		if line := Line(s, n); len([]rune(line)) > n || strings.ContainsAny(line, "\n\t\r\x1b") {
			t.Errorf("%q: got the line %q, want one of %d characters", s, line, n)
		}
	})
}
