package chat

import (
	"context"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/person"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/talk"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/terminal"
	"github.com/mcpchain/mcpchain/internal/models"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// marks are texts that the program itself never writes: sequences with a rare parameter, and invisible characters.
const marks = "\x1b[7777m\x1b]8;;http://7777.example\a\u009b7777m\x1bP7777\x1b\\\x1b_7777\x1b\\\u202e\u200b\x00\x7f"

// strange matches what a peer brought onto the terminal: invisible characters, or a sequence with the rare parameter.
var strange = regexp.MustCompile(`[\p{Cf}\x00-\x06\x0e-\x1a\x1c-\x1f\x7f-\x{9f}]|\x1b\[[0-9;:<=>?]*7777|\x1b[\]P][^\x1b\a]*7777|\x1b[X^_k]`)

// openStrange starts a conversation on an emulated terminal. talked is closed when the session has ended.
func openStrange(t *testing.T, ofServer, ofModel string) (m *emulator, talked chan struct{}) {
	t.Helper()
	t.Setenv("TERM", "xterm-256color")
	t.Setenv("NO_COLOR", "")
	endpoint := httptest.NewServer(babbling("ask", ofModel, &heard{}))
	t.Cleanup(endpoint.Close)
	file, tty := pseudoTerminal(t)
	const columns, rows = 80, 300
	resize(t, tty, columns, rows)
	m, talked = watchScreen(t, file, columns, rows), make(chan struct{})
	go func() {
		defer close(talked)
		defer tty.Close()
		ctx, interrupts := talk.WatchSignals()
		defer interrupts.Stop()
		s := terminal.Open(ctx, terminal.Options{In: tty, Out: tty, Interrupt: interrupts.Interrupt})
		defer s.Close()
		if err := converseOn(ctx, s, interrupts, endpoint.URL, ofServer); err != nil {
			t.Error(err)
		}
	}()
	return m, talked
}

func converseOn(ctx context.Context, s *terminal.Terminal, interrupts *talk.Interrupts, endpoint, ofServer string) error {
	model, err := talk.OpenModel(ctx, models.Model{BaseURL: endpoint, Name: "m"}, "", s)
	if err != nil {
		return err
	}
	defer model.Close()
	failures := &person.Failures{}
	who := person.New(s, false, nil, failures)
	lent, err := model.Sampler(who, nil)
	if err != nil {
		return err
	}
	servers := &talk.Servers{Good: []adapter.Server{{Name: "box", Transport: talkative(ofServer, &heard{})}}}
	if err := servers.Serve(who, lent, s, mcpclient.Timeouts{}); err != nil {
		return err
	}
	session, err := talk.Open(ctx, talk.Config{Screen: s, Interrupts: interrupts, Person: who, Failures: failures, Model: model, Servers: servers})
	if err != nil {
		return err
	}
	defer session.Close()
	return session.Talk(ctx)
}

// command enters a command and waits for its end.
func (m *emulator) command(line string) {
	m.t.Helper()
	m.typed(line + "\r")
	m.until(line+" is over", func(screen string) bool {
		return strings.Contains(screen, "you › "+line+"\n") && strings.HasSuffix(screen, "\nyou ›\n")
	})
}

// offered requests the completions of a line, and clears the line.
func (m *emulator) offered(line string) {
	m.t.Helper()
	m.typed(line + "\t")
	m.await("Tab next")
	m.typed(ctrlC)
	m.until("the list is closed", func(screen string) bool {
		return !strings.Contains(screen, "Tab next") && strings.HasSuffix(screen, "\nyou ›\n")
	})
}

// No escape sequence of the person, a server or a model reaches a terminal with an editor.
func FuzzTerminal(f *testing.F) {
	for _, sequence := range []string{"\x1b[2J", "\x1b]0;title\a\u009b31m", "# a **b**\n\n| c |\n|---|\n| \x1b]52;c;eA==\x1b\\ |\n\n```\n\x1b[8m\n```\n[a](http://b\x1b[m) &#27;[8m"} {
		f.Add("hello "+sequence+" you", sequence, "I say "+sequence)
	}
	f.Fuzz(func(t *testing.T, typed, ofServer, ofModel string) {
		all := typed + ofServer + ofModel
		if len(all) > 2000 || strings.Count(all, "\n") > 30 || strings.ContainsAny(all, "›┃[]") && !strings.Contains(all, "\x1b") {
			t.Skip() // the test would take it for the program's
		}
		typed = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cf, r) { // the person's own
				return -1
			}
			return r
		}, strings.ReplaceAll(typed, "\x1b[201~", ""))
		m, talked := openStrange(t, ofServer+marks, ofModel+marks)
		m.enter("you ›\n", pasted("say "+typed+"\x1b[7777m"))
		m.await("you › say")
		m.typed("\r")
		m.enter("[y]es", "?")
		m.enter("[f]orbid\n", "y") // without [?], which was answered
		m.await("Enter continues")
		m.enter("┃ First", "\r")
		m.enter("┃ Second", "\r")
		m.enter("Send this to box?  [y]es", "y")
		m.until("the turn is over", func(screen string) bool { return strings.HasSuffix(screen, "\nyou ›\n") })
		for _, line := range []string{"/tools", "/tool ask", "/resources", "/read x://y", "/prompts", "/prompt p a=1", "/servers", "/reasoning", "/show", "/usage"} {
			m.command(line)
		}
		for _, line := range []string{"/tool ", "/read ", "/prompt p ", "@box"} {
			m.offered(line)
		}
		m.typed(ctrlD)
		for deadline := time.After(patience); m.shown != nil; {
			select {
			case piece, open := <-m.shown:
				if m.take(piece); !open {
					m.shown = nil
				}
			case <-deadline:
				t.Fatalf("the conversation does not end:\n%s", m.screen())
			}
		}
		<-talked
		if at := strange.FindIndex(m.whole); at != nil {
			t.Errorf("the terminal got %q", m.whole[max(0, at[0]-40):min(len(m.whole), at[1]+40)])
		}
	})
}
