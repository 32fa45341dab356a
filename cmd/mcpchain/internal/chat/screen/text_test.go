package screen

import (
	"strings"
	"testing"
	"unicode"
)

func TestCleanInput(t *testing.T) {
	for typed, want := range map[string]string{
		"Anna\x1b[D\x1b[Dx":          "Annax",
		"\x1b[A\x1bOPhi":             "hi",
		"a\tb\nc\r":                  "a\tb\nc",
		"\x1b]0;title\x07größe 漢字 🚀": "größe 漢字 🚀",
		"\x1b[200~pasted\x1b[201~":   "pasted",
		"x\x00\x7f\u009b31my":        "x31my",
		"\x1b":                       "",
	} {
		if got := CleanInput(typed); got != want {
			t.Errorf("%q: got %q, want %q", typed, got, want)
		}
	}
}

func FuzzCleanInput(f *testing.F) {
	f.Add("a\x1b[31mb\x9b\u009d\x1b]8;;x\x07")
	f.Fuzz(func(t *testing.T, typed string) {
		got := CleanInput(typed)
		if i := strings.IndexFunc(got, func(r rune) bool { return unicode.Is(unicode.Cc, r) && r != '\n' && r != '\t' }); i >= 0 {
			t.Errorf("%q: got %q, want no control characters", typed, got)
		}
		if again := CleanInput(got); again != got {
			t.Errorf("%q: got %q, and of that %q", typed, got, again)
		}
	})
}
