package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/peer"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/oauth"
)

// life is the life of an access token: the test waits for its end.
const life = 3 * time.Second

// protected is a protected server and the test that uses it.
type protected struct {
	*peer.Protected
	t *testing.T
}

func startNotes(t *testing.T) *protected {
	return &protected{peer.StartProtected(t, peer.Notes(), life), t}
}

// run runs the program for a person who agrees to open the browser.
func (n *protected) run(args ...string) string {
	n.t.Helper()
	ctx, cancel := context.WithTimeout(n.t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	p := &program{you: personAt(strings.NewReader("y\n"), &out, n.Browse), out: &out}
	err := p.run(ctx, append(args, n.URL))
	check.Require(n.t, err == nil, "%v\n%s", err, &out)
	return out.String()
}

func personAt(in io.Reader, out io.Writer, open func(context.Context, string) error) *person {
	return &person{in: bufio.NewReader(in), out: out, open: open}
}

// Flags that would be ignored are mistakes.
func TestFlagsThatExcludeEachOther(t *testing.T) {
	const server = "http://127.0.0.1:1/mcp"
	for _, args := range [][]string{{"-sign-out", "-call", "x", server}, {"-sign-out", "-paste", server}} {
		var out bytes.Buffer
		p := &program{you: personAt(strings.NewReader(""), &out, nil), out: &out}
		check.Text(t, p.run(t.Context(), args), " without ", args)
	}
}

// TestSignInRefreshRestartStepUp runs the whole flow with real peers.
func TestSignInRefreshRestartStepUp(t *testing.T) {
	t.Parallel()
	n := startNotes(t)
	dir := t.TempDir()
	before := 0
	step := func(what, output, want string, newTokens, signIns int) { // on a slow machine there may be more tokens
		t.Helper()
		tokens, gotSignIns := n.Tokens(), len(n.SignIns())
		check.Require(t, strings.Contains(output, want) && tokens >= before+newTokens && gotSignIns == signIns,
			"%s: got %d new tokens, %d sign-ins, want %d, %d; output:\n%s", what, tokens-before, gotSignIns, newTokens, signIns, output)
		before = tokens
	}
	step("sign in", n.run("-store", dir, "-call", "list_notes"), `\x1b[2Jlist_notes done`, 1, 1)
	if got := n.SignIns()[0]; !strings.Contains(got, "notes%3Aread") || strings.Contains(got, "notes%3Awrite") {
		t.Errorf("asked for %q, want read access only", got)
	}
	expire(t)
	step("restart and refresh", n.run("-store", dir), `add_note: A tool.\x1b[2J`, 1, 1)
	expire(t)
	step("step up", n.run("-store", dir, "-call", "add_note"), "add_note done", 2, 2)
	got := n.SignIns()[1]
	check.That(t, strings.Contains(got, "notes%3Aread") && strings.Contains(got, "notes%3Awrite"), "asked for %q, want both scopes", got)
	expire(t)
	step("refresh what was extended", n.run("-store", dir, "-call", "add_note"), "add_note done", 1, 2)
	n.run("-store", dir, "-sign-out")
	step("sign in again", n.run("-store", dir), "The server wants you to sign in at", 1, 3)
}

// expire waits for the end of all tokens.
func expire(t *testing.T) {
	t.Helper()
	select {
	case <-time.After(life + time.Second):
	case <-t.Context().Done():
	}
}

// TestExpiryInUse: a connected client does not notice the end of a token.
func TestExpiryInUse(t *testing.T) {
	t.Parallel()
	n := startNotes(t)
	transport := check.Value(oauth.New(n.URL, &oauth.Options{Grant: &oauth.AuthorizationCode{Receiver: oauth.Loopback(n.Browse, 0)}}))(t)
	defer func() { _ = transport.Close() }()
	client := check.Value(mcpclient.Connect(t.Context(), &mcpclient.HTTP{URL: n.URL, Client: transport.Client()}, nil))(t)
	defer func() { _ = client.Close() }()
	for range 2 {
		var calls sync.WaitGroup
		for range 8 {
			calls.Go(func() {
				res, err := client.CallTool(t.Context(), "list_notes", nil)
				check.That(t, err == nil && res.Err() == nil, "got %v, %v", res, err)
			})
		}
		calls.Wait()
		expire(t)
	}
	tokens, signIns := n.Tokens(), len(n.SignIns())
	check.That(t, tokens >= 2 && signIns == 1, "got %d tokens, %d sign-ins, want at least 2, 1", tokens, signIns)
}

// TestService: a program signs in as itself at the same server.
func TestService(t *testing.T) {
	t.Parallel()
	n := startNotes(t)
	transport, err := oauth.New(n.URL, &oauth.Options{Grant: oauth.ClientCredentials{
		{Issuer: n.Provider.Issuer, ID: "service", Secret: "the-secret-of-the-service"},
	}})
	check.Must(t, err)
	defer func() { _ = transport.Close() }()
	client := check.Value(mcpclient.Connect(t.Context(), &mcpclient.HTTP{URL: n.URL, Client: transport.Client()}, nil))(t)
	defer func() { _ = client.Close() }()
	for _, tool := range []string{"list_notes", "add_note"} {
		res, err := client.CallTool(t.Context(), tool, nil)
		check.That(t, err == nil && res.Err() == nil, "%s: got %v, %v", tool, res, err)
	}
	signIns := len(n.SignIns())
	check.That(t, signIns == 0, "got %d sign-ins, want none", signIns)
}

// TestNoBrowser: without a terminal, or without a browser on this machine, the person opens the shown URL.
func TestNoBrowser(t *testing.T) {
	t.Parallel()
	n := startNotes(t)
	for typed, tries := range map[string]int{"": 0, "y\n": 1} {
		out, screen := io.Pipe()
		opened := 0
		done := make(chan error, 1)
		go func() {
			p := &program{you: personAt(strings.NewReader(typed), screen, func(context.Context, string) error {
				opened++
				return errors.New("there is no browser")
			}), out: screen}
			err := p.run(t.Context(), []string{"-store", t.TempDir(), n.URL})
			_ = screen.CloseWithError(io.EOF)
			done <- err
		}()
		lines, address := bufio.NewScanner(out), ""
		for lines.Scan() && !strings.Contains(lines.Text(), "Waiting") {
			if strings.Contains(lines.Text(), n.Provider.Issuer) {
				address = strings.TrimSpace(lines.Text())
			}
		}
		go func() { check.NoError(t, n.Provider.Browse(t.Context(), address)) }()
		rest, err := io.ReadAll(out)
		check.That(t, err == nil && strings.Contains(string(rest), `list_notes: A tool.\x1b[2J`), "got %q, %v", rest, err)
		check.NoError(t, <-done)
		check.Equal(t, "attempts to open a browser", opened, tries)
	}
}

// TestPasted is a machine without a browser.
func TestPasted(t *testing.T) {
	t.Parallel()
	n := startNotes(t)
	in, person := io.Pipe()
	out, screen := io.Pipe()
	done := make(chan error, 1)
	go func() {
		p := &program{you: personAt(in, screen, nil), out: screen}
		err := p.run(t.Context(), []string{"-store", t.TempDir(), "-paste", n.URL})
		_ = screen.CloseWithError(io.EOF)
		done <- err
	}()
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.Contains(lines.Text(), n.Provider.Issuer) {
	}
	address := ""
	err := n.Provider.BrowseUntil(t.Context(), strings.TrimSpace(lines.Text()), func(u *url.URL) { address = u.String() })
	check.Must(t, err)
	go func() { // the input may end without a line break
		_, _ = io.WriteString(person, address)
		_ = person.Close()
	}()
	rest, err := io.ReadAll(out)
	check.That(t, err == nil && strings.Contains(string(rest), `list_notes: A tool.\x1b[2J`), "got %q, %v", rest, err)
	check.NoError(t, <-done)
}

// The commands of the guide work.
func TestCommandsOfTheGuide(t *testing.T) {
	t.Parallel()
	guide := check.Value(os.ReadFile("../../docs/authorization.md"))(t)
	commands := regexp.MustCompile(`(?m)^go run \./examples/oauth (.*)$`).FindAllStringSubmatch(string(guide), -1)
	check.Equal(t, "commands", len(commands), 2)
	for _, c := range commands {
		p := &program{out: io.Discard}
		check.NoError(t, check.Err(p.parse(strings.Fields(c[1]))), c[0])
	}
}
