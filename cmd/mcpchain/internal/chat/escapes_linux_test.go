package chat

import (
	"context"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/talk"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/terminal"
	"github.com/mcpchain/mcpchain/internal/check"
)

// marks are texts that the program itself never writes: sequences with a rare parameter, and invisible characters.
const marks = "\x1b[7777m\x1b]8;;http://7777.example\a\u009b7777m\x1bP7777\x1b\\\x1b_7777\x1b\\\u202e\u200b\x00\x7f"

// strange matches what a peer brought onto the terminal: invisible characters, or a sequence with the rare parameter.
var strange = regexp.MustCompile(`[\p{Cf}\x00-\x06\x0e-\x1a\x1c-\x1f\x7f-\x{9f}]|\x1b\[[0-9;:<=>?]*7777|\x1b[\]P][^\x1b\a]*7777|\x1b[X^_k]`)

// onScreen calls use with a terminal of 80 columns, which closes afterwards.
func onScreen(t *testing.T, rows int, history string, use func(context.Context, *terminal.Terminal, *talk.Interrupts)) *emulator {
	t.Helper()
	t.Setenv("TERM", "xterm-256color")
	t.Setenv("NO_COLOR", "")
	file, tty := pseudoTerminal(t)
	resize(t, tty, 80, uint16(rows))
	m := watchScreen(t, file, 80, rows)
	m.status = make(chan int, 1)
	go func() {
		defer func() { m.status <- 0 }()
		defer tty.Close()
		ctx, interrupts := talk.WatchSignals()
		defer interrupts.Stop()
		s := terminal.Open(ctx, terminal.Options{In: tty, Out: tty, Interrupt: interrupts.Interrupt, History: history})
		defer s.Close()
		use(ctx, s, interrupts)
	}()
	return m
}

// harmless checks that no peer has brought a sequence onto the terminal.
func (m *emulator) harmless() {
	m.t.Helper()
	if at := strange.FindIndex(m.whole); at != nil {
		m.t.Errorf("the terminal got %q", m.whole[max(0, at[0]-60):min(len(m.whole), at[1]+40)])
	}
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
		typed = personal(typed)
		endpoint := httptest.NewServer(babbling("ask", ofModel+marks, &heard{}))
		defer endpoint.Close()
		m := onScreen(t, 300, "", func(ctx context.Context, s *terminal.Terminal, interrupts *talk.Interrupts) {
			session, err := strangeSession(ctx, s, interrupts, endpoint.URL, talkative(ofServer+marks, &heard{}))
			if err != nil {
				t.Error(err)
				return
			}
			defer session.Close()
			check.NoError(t, session.Talk(ctx))
		})
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
		m.ended(0)
		m.harmless()
	})
}
