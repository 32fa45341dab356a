package chat

import (
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/peer"
)

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
