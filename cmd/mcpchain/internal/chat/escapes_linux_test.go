package chat

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/diff"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/talk"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/terminal"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/typist"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
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
	m.typed(line+"\t", "Tab next", ctrlC)
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
		m.enter("you ›\n", pasted("say "+typed+"\x1b[7777m"), "you › say", "\r", "[y]es", "?")
		m.enter("[f]orbid\n", "y") // without [?], which was answered
		m.await("Enter continues")
		m.enter("┃ First", "\r", "┃ Second", "\r", "Send this to box?  [y]es", "y")
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

// everything calls all methods of a screen with a text of a peer. It returns the person's answers.
func everything(ctx context.Context, s screen.Screen, peer string) (typed []string, err error) {
	const brief = "\u202e\x1b[7777m" // for places where the end of a text is cut
	call := agent.Call{ID: "1", Name: peer, Server: "box", Tool: "do " + peer, Arguments: `{"a":` + quotedJSON(peer) + `}`}
	answers := []screen.Answer{{Key: 'y', Label: "yes"}, {Key: 'n', Label: "no"}}
	result := func(text string, err error, isError bool) *adapter.Result {
		return &adapter.Result{Text: text, Err: err, IsError: isError}
	}
	content := []mcp.Content{&mcp.TextContent{Text: peer}}

	s.Note(screen.Tool, "a note: %s", peer)
	s.List(screen.Tool, "a list: %s", peer)
	s.Deliver("an answer: " + peer)
	s.Begin()
	for _, e := range []agent.Event{
		&agent.ModelStart{}, &agent.ReasoningDelta{Text: peer}, &agent.TextDelta{Text: "streamed: " + peer}, &agent.ModelEnd{Text: peer, Streamed: true,
			Reasoning: peer},
		&agent.ModelEnd{Text: "whole: " + peer}, &agent.ModelEnd{Text: "with calls: " + peer},
		&agent.ToolStart{Call: call},
		&agent.ToolProgress{Call: call, Progress: mcp.Progress{Progress: 1, Message: "half " + peer}},
		&agent.ToolEnd{Call: agent.Call{ID: "2", Name: peer}, Result: result("", errors.New("no tool "+peer), true)},
		&agent.ToolEnd{Call: agent.Call{ID: "3", Name: "x"}, Result: result("broken "+peer, nil, true)},
		&agent.ToolEnd{Call: agent.Call{ID: "4", Name: "x"},
			Result: result("--- a\n+++ b\n@@ -1 +1 @@\n-"+strings.ReplaceAll(peer, "\n", "")+"\n+b\n", nil, false)},
		&agent.Sampled{Server: "box", Err: errors.New(peer)}, &agent.Sampled{Server: "box", Result: &mcp.CreateMessageResult{Content: content}},
		&agent.Elicited{Server: "box", Err: errors.New(peer)},
		&agent.Replied{Question: &run.Question{Server: "box", Elicit: &mcp.ElicitParams{Message: peer}}, Reply: run.Reply{Action: run.ActionCancel}},
	} {
		s.Show(e)
	}
	keep := func(text string, failed error) {
		typed = append(typed, text)
		err = errors.Join(err, failed)
	}
	_, failed := s.Choose(ctx, &screen.Choice{
		Heading: "heading " + peer, Text: "  text " + peer, Warnings: []string{"warned of " + peer}, Question: "Sure of " + peer + "?", Answers: answers,
		Changes: screen.DiffLines([]diff.Line{{Kind: diff.Added, Text: peer}}),
	})
	keep("", failed)
	s.Progress("soon: %s", peer)
	keep(s.Write(ctx, &screen.Draft{Prompt: "write " + peer}))
	keep(s.Secret(ctx, "secret "+peer))
	field := func(name string, kind forms.Kind) *forms.Field {
		return &forms.Field{Name: name, Title: name + " " + peer, Description: "of " + peer, Kind: kind}
	}
	choice, several, text := field("One", forms.KindChoice), field("Two", forms.KindChoices), field("Three", forms.KindString)
	choice.Options = []forms.Option{{Value: "a " + peer, Title: "first " + peer}, {Value: "b", Title: brief + " last"}}
	choice.Description, several.Options, text.Default = "", choice.Options, brief+" default" // a description takes rows of the options
	form := &screen.Form{Server: "box " + peer, Message: "fill in " + peer, Fields: []*forms.Field{choice, several, text, field("Four", forms.KindString)},
		Values: map[string]any{}, Mistakes: []error{errors.New("wrong " + peer)}}
	_, failed = s.Fill(ctx, form)
	keep(fmt.Sprint(form.Values["Four"]), failed)
	s.End()
	return typed, err
}

// sequences are escape sequences of a peer, also within Markdown.
var sequences = []string{
	"\x1b[2J", "\x1b]0;title\a\u009b31m", "\x1b]52;c;eA==\x1b\\ \x1bP1$q\x1b\\ \r\x1b[K\x00\x7f\b",
	"# a **b**\n\n| c |\n|---|\n| \x1b[8m |\n\n```\n\x1b[8m\n```\n[a](http://b\x1b[m) &#27;[8m &#x202e; `\x1b[8m`",
}

// FuzzScreens shows texts of peers on each screen. They do not control the terminal, and the person's answers have no
// escape sequences.
func FuzzScreens(f *testing.F) {
	for _, sequence := range sequences {
		f.Add(sequence, "I say "+sequence)
	}
	f.Fuzz(func(t *testing.T, peer, typed string) {
		if len(peer)+len(typed) > 1000 || strings.Count(peer, "\n")+strings.Count(typed, "\n") > 30 || strings.ContainsAny(peer+typed, "›┃[]") && !strings.Contains(peer, "\x1b") {
			t.Skip() // the test would take it for the program's
		}
		typed = personal(typed)
		if strings.TrimSpace(screen.CleanInput(typed)) == "" {
			t.Skip()
		}
		t.Run("terminal", func(t *testing.T) { onStrangeTerminal(t, peer+marks, typed) })
		t.Run("lines", func(t *testing.T) {
			line := strings.NewReplacer("\n", " ", "\r", " ").Replace(typed) + "\x1b[7777m"
			s := typist.New(t, "y", line, line, "1", "1", "", line, "y")
			got, err := everything(t.Context(), s, peer+marks)
			check.Require(t, err == nil, "%v\n%s", err, s.Text())
			checkTyped(t, got)
			shown := strings.ReplaceAll(s.Text(), "\r\x1b[K", "")
			if at := hidden.FindStringIndex(shown); at != nil {
				t.Errorf("the screen got %q", shown[max(0, at[0]-60):min(len(shown), at[1]+40)])
			}
		})
	})
}

// hidden matches invisible characters other than line breaks and tabs.
var hidden = regexp.MustCompile(`[\x{202a}-\x{202e}\x{200b}\x00-\x08\x0b-\x1f\x7f-\x{9f}]`)

// personal returns what a person can type. It may have invisible characters.
func personal(typed string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, strings.ReplaceAll(typed, "\x1b[201~", ""))
}

func checkTyped(t *testing.T, got []string) {
	t.Helper()
	said := 0
	for _, text := range got {
		if text != "" {
			said++
		}
		check.That(t, control(text) < 0, "the person said %q", text)
	}
	check.That(t, said >= 3, "the person said %q, want three texts", got)
}

// onStrangeTerminal calls everything on a terminal with an editor.
func onStrangeTerminal(t *testing.T, peer, typed string) {
	past := write(t, "history", quotedJSON("before "+typed+"\x1b[7777m")+"\n")
	var got []string
	m := onScreen(t, 400, past, func(ctx context.Context, s *terminal.Terminal, _ *talk.Interrupts) {
		s.CompleteBy(func(context.Context, string) screen.Completion {
			return screen.Completion{Items: []screen.Item{{Text: "x1", About: peer}, {Text: "x2", About: peer}}}
		})
		all, err := everything(ctx, s, peer)
		s.Link(screen.Faint, "linked "+peer, "http://127.0.0.1:1/")
		question, failed := s.Question(ctx)
		got = append(all, question)
		check.That(t, err == nil && failed == nil, "%v %v", err, failed)
	})
	said := pasted(typed + "\x1b[7777m")
	m.enter("[y]es", "y", "soon:")
	m.await("half ")
	for _, what := range []string{"write", "secret"} {
		m.until(what+" takes keys", func(screen string) bool { return strings.Contains(screen, what) && !strings.Contains(screen, "···") })
		m.typed(said + "\r")
	}
	m.await("Enter continues")
	m.enter("┃ One", "\r", "┃ Two", "\r", "┃ Three", "\r", "┃ Four", said+"\r", "[y]es", "y", "linked")
	m.await("you ›\n")
	m.offered("x")
	m.typed(arrowUp, "you › before")
	m.typed(ctrlC, "you ›\n", said)
	m.until("the text is there", func(s string) bool { return !strings.HasSuffix(s, "you ›\n") })
	m.typed("\r")
	m.ended(0)
	checkTyped(t, got)
	m.harmless()
}
