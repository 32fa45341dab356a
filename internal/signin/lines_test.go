package signin

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// The person sees the host of the page, and warnings about the address.
func TestShowLink(t *testing.T) {
	for url, want := range map[string]string{
		"https://auth.example.com/a?b=c": "Sign in at auth.example.com:\n\n  https://auth.example.com/a?b=c\n\n",
		"http://auth.xn--exmpl-cua.com/": "Sign in at auth.xn--exmpl-cua.com:\n\n  http://auth.xn--exmpl-cua.com/\n\n" +
			"Warning: http is not encrypted: others can read and change what the page says.\n" +
			"Warning: a browser may show xn--exmpl-cua in other letters, like another name (it is in punycode).\n",
	} {
		var out strings.Builder
		l := &Lines{Out: &out}
		l.ShowLink("Sign in at", check.Value(hosttext.ParseLink(url))(t))
		check.Equal(t, url, out.String(), want)
	}
}

// Inputs are asked for at standard input. The default of a password is not shown.
func TestInput(t *testing.T) {
	choice := config.Input{ID: "place", Default: "Bee", Choices: []string{"Ann\x1b[2J", "Bee"}}
	for name, tt := range map[string]struct {
		in                 config.Input
		typed, want, shown string
	}{
		"text":          {config.Input{ID: "key", Description: "The\nkey\x1b[2J"}, "k k\n", "k k", `The key\x1b[2J: `},
		"by its number": {choice, "1\n", "Ann\x1b[2J", "  1) Ann\\x1b[2J\n  2) Bee\nplace [Bee]: "},
		"by its label":  {choice, "Bee\n", "Bee", "place [Bee]: "},
		"by a number":   {config.Input{ID: "n", Choices: []string{"2", "1"}}, "1\n", "1", "n: "},
		"the default":   {choice, "\n", "Bee", "place [Bee]: "},
		"password":      {config.Input{ID: "key", Password: true, Default: "d"}, "k\n", "k", "key: "},
	} {
		var out bytes.Buffer
		l := &Lines{In: strings.NewReader(tt.typed), Out: &out}
		got, err := l.Input(t.Context(), &tt.in)
		check.That(t, err == nil && got == tt.want && strings.HasSuffix(out.String(), tt.shown), "%s: got %q, %v and %q, want %q and %q", name, got, err, &out, tt.want, tt.shown)
	}
}

// TestOverdueQuestion: a sign-in that is over opens no browser, and its question does not take the next answer.
func TestOverdueQuestion(t *testing.T) {
	in, typed := io.Pipe()
	defer typed.Close()
	l := &Lines{In: in, Out: io.Discard, Open: func(context.Context, string) error { t.Error("opened"); return nil }}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	page := &Visit{Link: check.Value(hosttext.ParseLink("https://auth.example.com/"))(t)}
	check.Is(t, check.Err(l.Visit(over, "mail", page)), context.Canceled)
	go func() { _, _ = io.WriteString(typed, "line\n") }()
	check.Equal(t, "the answer", check.Value(l.Ask(t.Context(), "next: "))(t), "line")
}
