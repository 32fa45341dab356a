package inspect

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/signin"
	"github.com/mcpchain/mcpchain/internal/testenv/peer"
	"github.com/mcpchain/mcpchain/internal/tryout"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// A server behind a sign-in says so. -sign-in signs in, and the next run uses the kept token.
func TestSignIn(t *testing.T) {
	t.Parallel()
	notes := peer.StartProtected(t, tryout.NewServer(), time.Hour)
	dir := t.TempDir()
	path := filepath.Join(dir, "mcp.json")
	check.Must(t, os.WriteFile(path, []byte(`{"mcpServers":{"notes":{"url":"`+notes.URL+`","oauth":{"scopes":"notes:read"}}}}`), 0o600))
	signIns := 0
	for _, step := range []struct {
		flags   []string
		status  int
		want    string
		signIns int
	}{
		{nil, statusMissing, `the server wants a sign-in: add the flags -sign-in -server "notes"`, 0},
		{[]string{"-sign-in"}, statusFine, "can be used: demo 1.0.0", 1},
		{[]string{"-call", "add", `{"a":1,"b":2}`}, statusFine, "1 + 2 = 3\n", 1},
	} {
		var out bytes.Buffer
		open := func(ctx context.Context, address string) error {
			signIns++
			check.That(t, strings.Contains(address, "notes%3Aread") && !strings.Contains(address, "notes%3Awrite"),
				"got %s, want the scopes of the file", address)
			return notes.Browse(ctx, address)
		}
		p := &program{user: &signin.Lines{In: strings.NewReader("y\n"), Out: &out, Open: open}, out: &out, err: &out}
		status := p.run(t.Context(), append([]string{path, "-tokens", filepath.Join(dir, "tokens")}, step.flags...))
		check.Require(t, status == step.status && strings.Contains(out.String(), step.want) && signIns == step.signIns,
			"%v: got %d and %d sign-ins, want %d and %d; output:\n%s\nwant %q", step.flags, status, signIns, step.status, step.signIns, &out, step.want)
	}
}

// A call that needs more scopes asks for another sign-in.
func TestSignInForACall(t *testing.T) {
	t.Parallel()
	notes := peer.StartProtected(t, peer.Notes(), time.Hour)
	dir := t.TempDir()
	path := filepath.Join(dir, "mcp.json")
	check.Must(t, os.WriteFile(path, []byte(`{"mcpServers":{"notes":{"url":"`+notes.URL+`","oauth":{"scopes":"notes:read"}}}}`), 0o600))
	in, keyboard := io.Pipe()
	defer keyboard.Close()
	out := &noticing{text: "Open it in your browser?", do: func() { go io.WriteString(keyboard, "y\n") }}
	p := &program{user: &signin.Lines{In: in, Out: out, Open: notes.Browse}, out: out, err: out}
	status := p.run(t.Context(), []string{path, "-tokens", filepath.Join(dir, "tokens"), "-sign-in", "-call", "add_note", `{"text":"x"}`})
	check.That(t, status == statusFine && strings.Contains(out.String(), "add_note done x") && notes.Tokens() == 2,
		"got %d and %d tokens:\n%s", status, notes.Tokens(), &out.Buffer)
}

// noticing calls a function when a text is written.
type noticing struct {
	bytes.Buffer
	text string
	do   func()
}

func (w *noticing) Write(p []byte) (int, error) {
	if strings.Contains(string(p), w.text) {
		w.do()
	}
	return w.Buffer.Write(p)
}

// A sign-in without input says what it waits for.
func TestSignInWithoutInput(t *testing.T) {
	t.Parallel()
	notes := peer.StartProtected(t, tryout.NewServer(), time.Hour)
	dir := t.TempDir()
	path := filepath.Join(dir, "mcp.json")
	check.Must(t, os.WriteFile(path, []byte(`{"mcpServers":{"notes":{"url":"`+notes.URL+`"}}}`), 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &noticing{text: "standard input has ended; sign in on that page", do: cancel}
	p := &program{user: &signin.Lines{In: strings.NewReader(""), Out: io.Discard}, out: io.Discard, err: out}
	status := p.run(ctx, []string{path, "-tokens", dir, "-sign-in"})
	check.That(t, status == statusMissing && ctx.Err() == context.Canceled, "got %d, %s", status, &out.Buffer)
}

// If the tokens cannot be kept, servers are inspected without. It is an error for those who sign in, or name the folder.
func TestNoFolderForTokens(t *testing.T) {
	notes := peer.StartProtected(t, tryout.NewServer(), time.Hour)
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	check.Must(t, os.WriteFile(file, nil, 0o600))
	for _, name := range []string{"XDG_CONFIG_HOME", "HOME", "AppData"} {
		t.Setenv(name, file)
	}
	path := filepath.Join(dir, "mcp.json")
	check.Must(t, os.WriteFile(path, []byte(`{"mcpServers":{"notes":{"url":"`+notes.URL+`"}}}`), 0o600))
	for flags, want := range map[string]string{
		"":                `the server wants a sign-in: add the flags -sign-in -server "notes"`,
		"-sign-in":        "mcpchain: -tokens: file store: mkdir " + file,
		"-tokens " + file: "mcpchain: -tokens: file store: ",
	} {
		var out bytes.Buffer
		p := &program{out: &out, err: &out}
		status := p.run(t.Context(), append([]string{path}, strings.Fields(flags)...))
		check.That(t, status != statusFine && strings.Contains(out.String(), want), "%q: got %d, %s, want %s", flags, status, &out, want)
	}
}

// Without an answer, the server that needs it cannot be used, and the file's texts reach the terminal escaped.
func TestInputWithoutAnswer(t *testing.T) {
	t.Parallel()
	status, out, stderr := inspectFile(t, `{"inputs":[{"type":"promptString","id":"key","description":"The \u001b[2Jkey"}],
		"servers":{"s":{"command":"x","env":{"KEY":"${input:key}"}}}}`)
	check.That(t, status == statusMissing && strings.Contains(out, `cannot be used: `) && strings.Contains(out, `input "key": there is no answer: standard input has ended; give it a line for each input, or write ${NAME}`) && strings.Contains(stderr, `The \x1b[2Jkey: `),
		"got %d, %q and %q", status, out, stderr)
}

// In a script, lines of standard input are the answers, as the guide says. An empty line is the default.
func TestInputsInAScript(t *testing.T) {
	t.Parallel()
	_, file, _ := strings.Cut(string(check.Value(os.ReadFile("../../../../docs/mcp-json.md"))(t)), "```json\n{\n  \"inputs\"")
	file, _, _ = strings.Cut(file, "```")
	path := filepath.Join(t.TempDir(), "mcp.json")
	check.Must(t, os.WriteFile(path, []byte(`{"inputs"`+file), 0o600))
	for _, tt := range []struct{ lines, region, err string }{
		{"k1\nus\n", "us", ""}, {"k1\n\n", "eu", ""}, {"k1\nus", "us", ""},
		{"k1\n", "", `input "region": there is no answer`}, {"k1\nasia\n", "", `input "region"`},
	} {
		cfg, err := (&options{file: path}).load(t.Context(), &signin.Lines{In: strings.NewReader(tt.lines), Out: io.Discard})
		check.Require(t, err == nil && len(cfg) == 1, "%q: got %+v, %v", tt.lines, cfg, err)
		s := cfg[0]
		if tt.err != "" {
			check.That(t, s.Err != nil && strings.Contains(s.Err.Error(), tt.err), "%q: got %v, want %s", tt.lines, s.Err, tt.err)
			continue
		}
		c, ok := s.Transport.(*mcpclient.Command)
		check.That(t, ok && slices.Contains(c.Env, "KEY=k1") && slices.Contains(c.Env, "REGION="+tt.region),
			"%q: got %+v and %v, want both answers", tt.lines, s.Transport, s.Err)
	}
}
