package chat

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/internal/testenv/peer"
	"github.com/mcpchain/mcpchain/internal/tryout"
)

// The program names a file that is not used with the demo model, and how to use it.
func TestFileBesideTheDemoModel(t *testing.T) {
	t.Parallel()
	cmd := command(t)
	cmd.Dir = t.TempDir()
	path := filepath.Join(cmd.Dir, "mcp.json")
	put(t, path, entries(t, "mine=good"), 0o600)
	const word = "servers: the demo server only, as there is no model of yours. The file mcp.json is not used: -base-url and -model name a model that uses it\n"
	finish(t, again(t, cmd), "hello\n").check(t, converse(t, "hello\n").stdout, 0, word)
	script := again(t, cmd)
	script.Args = append(script.Args, "-json", "-prompt", "hello")
	o := finish(t, script, "")
	o.check(t, o.stdout, 0, word)
	check.That(t, !strings.Contains(o.stdout, "mcp.json") && strings.Contains(o.stdout, `"problems":[]`), "got %s, want the word on stderr alone", o.stdout)
	demo := again(t, cmd)
	demo.Args = append(demo.Args, "-demo")
	o = finish(t, demo, "hello\n")
	check.That(t, !strings.Contains(o.stderr, "mcp.json"), "got %s, want no word if the demo server was asked for", o.stderr)
	m := openScreenOf(t, again(t, cmd))
	m.golden("demo-file")
	m.leave()

	// The file of the person is named by its path.
	check.Must(t, os.Remove(path))
	mine := filepath.Join(m.home(), ".config", "mcpchain", "mcp.json")
	check.Must(t, os.MkdirAll(filepath.Dir(mine), 0o700))
	put(t, mine, entries(t, "mine=good"), 0o600)
	o = finish(t, again(t, cmd), "hello\n")
	o.check(t, o.stdout, 0, "The file "+mine+" is not used: ")
}

// A server that cannot be reached at the start joins later, with its instructions, and the person is told.
func TestServerThatComesLate(t *testing.T) {
	t.Parallel()
	address := testenv.FreeAddress(t)
	p := start(t, "-config", configure(t, `late=!{"url": "http://`+address+`"}`), "-yes")
	p.await(p.stderr, "connection refused")
	listener := check.Value(net.Listen("tcp", address))(t)
	late := tryout.NewServer()
	web := &http.Server{Handler: sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return late }, &sdk.StreamableHTTPOptions{Stateless: true}), ReadHeaderTimeout: time.Minute}
	defer web.Close()
	go func() { _ = web.Serve(listener) }()
	p.await(p.stderr, "the server late is there now; the next question can use its tools")
	p.ask("What is 17 plus 25?", p.stderr, "server late tells the model: Tools for trying things out")
	p.await(p.stdout, "17 + 25 = 42")
}

// The first program connects to a lazy server and keeps its list of tools. The next one connects at the first call.
func TestLazyServer(t *testing.T) {
	t.Parallel()
	path, home := configure(t, "mine=!"+strings.TrimSuffix(entry(t, "good"), "}")+`, "start": "lazy"}`), t.TempDir()
	run := func(args ...string) outcome {
		cmd := command(t, append([]string{"-config", path, "-yes"}, args...)...)
		cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+home)
		return finish(t, cmd, "/servers\nWhat is 17 plus 25?\n/servers\n")
	}
	if o := run(); o.status != 0 || strings.Contains(o.stderr, "by its first call") || !strings.Contains(o.stdout+o.stderr, "17 + 25 = 42") {
		t.Errorf("the first program: got %+v", o)
	}
	o := run()
	check.That(t, o.status == 0 && strings.Contains(o.stderr, "server mine: 7 tools, connected to by its first call") && strings.Contains(o.stdout+o.stderr, "17 + 25 = 42"),
		"the next program: got %+v", o)
	before, after, _ := strings.Cut(o.stdout+o.stderr, "17 + 25")
	check.That(t, strings.Contains(before, "ready, connected to by its first call") || strings.Contains(after, "ready, revision"), "got %+v, want the state before and after the call", o)
}

// The start does not wait for a slow server, which joins when it is ready.
func TestSlowServer(t *testing.T) {
	t.Parallel()
	slow := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return tryout.NewServer() }, &sdk.StreamableHTTPOptions{Stateless: true})
	ready, goOn := context.WithCancel(t.Context())
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		<-ready.Done()
		slow.ServeHTTP(w, r)
	}))
	defer web.Close()
	defer goOn()
	cmd := here(t, []string{"good", `slow=!{"url": "` + web.URL + `"}`}, "-yes")
	cmd.Env = append(cmd.Env, impatient+"=1")
	m := openScreenOf(t, cmd)
	m.await("server slow: is still being connected to")
	m.ask("What is 1 plus 2?", "The result: 1 + 2 = 3.")
	goOn()
	m.await("the server slow is there now")
	m.leave()
}

// signing runs the program with a protected server. The person's browser writes addresses to a file.
type signing struct {
	t      *testing.T
	notes  *peer.Protected
	cmd    *exec.Cmd
	opened string
	heard  func() string // returns the requests to the model
}

// asked returns the last request to the model.
func (s *signing) asked() string {
	all := strings.Split(strings.TrimSpace(s.heard()), "\n")
	return all[len(all)-1]
}

func newSigning(t *testing.T, flags ...string) *signing {
	t.Helper()
	s := &signing{t: t, notes: peer.StartProtected(t, peer.Notes(), time.Hour)}
	model, asked := overheard(t)
	s.heard = asked
	s.cmd = command(t, append(append(model, "-config", configure(t, `notes=!{"url": "`+s.notes.URL+`"}`)), flags...)...)
	bin := t.TempDir()
	s.opened = filepath.Join(bin, "opened")
	script := "#!/bin/sh\nprintf '%s\\n' \"$1\" > " + s.opened + ".part && mv " + s.opened + ".part " + s.opened + "\n"
	put(t, filepath.Join(bin, "xdg-open"), script, 0o700)
	for i, v := range s.cmd.Env {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			s.cmd.Env[i] = "PATH=" + bin + ":" + path
		}
	}
	return s
}

// start starts the program again for the same person.
func (s *signing) start() *emulator { return openScreenOf(s.t, again(s.t, s.cmd)) }

// browse signs in at the page that the program opens.
func (s *signing) browse() {
	s.t.Helper()
	for begin := time.Now(); time.Since(begin) < patience; time.Sleep(10 * time.Millisecond) {
		address, err := os.ReadFile(s.opened)
		if err != nil {
			continue
		}
		check.Must(s.t, os.Remove(s.opened))
		check.Must(s.t, s.notes.Browse(s.t.Context(), strings.TrimSpace(string(address))))
		return
	}
	s.t.Fatal("no page was opened")
}

var page = regexp.MustCompile(`http://127\.0\.0\.1:\d+/auth\?[^\s\x1b]+`)

// The program signs in at its start, keeps the token for the next start, and signs in again when the token is refused.
func TestSignIn(t *testing.T) {
	t.Parallel()
	s := newSigning(t, "-yes")
	m := s.start()
	m.await("The server notes wants you to sign in at 127.0.0.1:N.")
	m.enter("[y]es", "y")
	s.browse()
	m.await("server notes: 2 tools")
	m.ask("call list_notes", "list_notes done")
	m.leave()

	m = s.start()
	m.await("server notes: 2 tools")
	m.enter("you ›\n", "call add_note {\"text\":\"buy milk\"}\r", "The server notes wants you to sign in")
	m.enter("[m]yself", "m", "[p]aste", "p", "The address:  it is not shown", "nonsense\r")
	m.await("that is not the address of the last page")
	addresses := page.FindAllString(string(m.whole), -1)
	check.Require(t, len(addresses) != 0, "no address on the screen:\n%s", m.screen())
	check.Contains(t, "more access", addresses[0], "notes%3Awrite")
	var back *url.URL
	check.Must(t, s.notes.Provider.BrowseUntil(t.Context(), addresses[0], func(u *url.URL) { back = u }))
	m.enter("[p]aste", "p", "The address:  it is not shown", back.String()+"\r", "add_note done buy milk")
	m.leave()
	check.Equal(t, "sign-ins in the browser; the other was pasted", len(s.notes.SignIns()), 1)
}

// /login and /logout sign in and out, and the person can decline.
func TestLogin(t *testing.T) {
	t.Parallel()
	s := newSigning(t, "-yes")
	m := s.start()
	m.enter("[n]o", "n", "wants a sign-in: /login notes")
	m.ask("/login other", "no server is called other")
	m.enter("you ›\n", "/login notes\r")
	m.until("the question is there again", func(screen string) bool {
		return strings.Count(screen, "wants you to sign in") > 1 && strings.Contains(screen, "[y]es")
	})
	m.typed("y")
	s.browse()
	m.await("you are signed in to notes: 2 tools")
	m.ask("hello", "I am a demo model")
	for _, want := range []string{"Keep notes short.", `"name":"list_notes"`, `"name":"add_note"`} {
		check.Contains(t, "the questions to the model", s.asked(), want)
	}
	m.ask("/logout notes", "you are signed out of notes")
	m.enter("you ›\n", "What is your name?\r")
	m.await("I was given no tools") // the model is asked before the screen shows that a turn has begun
	got := s.asked()
	check.That(t, !strings.Contains(got, "Keep notes short.") && !strings.Contains(got, `"name":"list_notes"`), "the model was asked %s\nwant nothing of a server that was left", got)
	m.enter("you ›\n", "/login notes\r", "[y]es", "y", "[c]ancel", "c", "sign in to notes: you did not sign in")
	m.enter("you ›\n", "/login notes\r", "[y]es  [m]yself", ctrlC, "interrupted")
	m.leave()
}

// Without a terminal, the program says where to sign in.
func TestSignInWithoutATerminal(t *testing.T) {
	t.Parallel()
	finish(t, again(t, newSigning(t).cmd), "").check(t, "", 1,
		`mcp.json:2: server "notes": the server wants a sign-in: start mcpchain on a terminal once, and say /login notes`)
}
