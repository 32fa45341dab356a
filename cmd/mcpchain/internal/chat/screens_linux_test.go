package chat

import (
	"context"
	"errors"
	"fmt"
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
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

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
		&agent.ModelStart{}, &agent.ReasoningDelta{Text: peer}, &agent.TextDelta{Text: "streamed: " + peer}, &agent.ModelEnd{Text: peer, Streamed: true, Reasoning: peer},
		&agent.ModelEnd{Text: "whole: " + peer}, &agent.ModelEnd{Text: "with calls: " + peer},
		&agent.ToolStart{Call: call},
		&agent.ToolProgress{Call: call, Progress: mcp.Progress{Progress: 1, Message: "half " + peer}},
		&agent.ToolEnd{Call: agent.Call{ID: "2", Name: peer}, Result: result("", errors.New("no tool "+peer), true)},
		&agent.ToolEnd{Call: agent.Call{ID: "3", Name: "x"}, Result: result("broken "+peer, nil, true)},
		&agent.ToolEnd{Call: agent.Call{ID: "4", Name: "x"}, Result: result("--- a\n+++ b\n@@ -1 +1 @@\n-"+strings.ReplaceAll(peer, "\n", "")+"\n+b\n", nil, false)},
		&agent.SamplingEnd{Server: "box", Err: errors.New(peer)}, &agent.SamplingEnd{Server: "box", Result: &mcp.CreateMessageResult{Content: content}},
		&agent.ElicitationEnd{Elicitation: &agent.Elicitation{Server: "box"}, Err: errors.New(peer)}, &agent.ReplyEnd{Question: &run.Question{Server: "box", Elicit: &mcp.ElicitParams{Message: peer}}, Err: errors.New(peer)},
		&agent.ServerLost{Server: "box", Err: errors.New(peer)},
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
	form := &screen.Form{Server: "box " + peer, Message: "fill in " + peer, Fields: []*forms.Field{choice, several, text, field("Four", forms.KindString)}, Values: map[string]any{}, Mistakes: []error{errors.New("wrong " + peer)}}
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
			if err != nil {
				t.Fatalf("%v\n%s", err, s.Text())
			}
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
		if control(text) >= 0 {
			t.Errorf("the person said %q", text)
		}
	}
	if said < 3 {
		t.Errorf("the person said %q, want three texts", got)
	}
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
		if got = append(all, question); err != nil || failed != nil {
			t.Error(err, failed)
		}
	})
	said := pasted(typed + "\x1b[7777m")
	m.enter("[y]es", "y")
	m.await("soon:")
	m.await("half ")
	for _, what := range []string{"write", "secret"} {
		m.until(what+" takes keys", func(screen string) bool { return strings.Contains(screen, what) && !strings.Contains(screen, "···") })
		m.typed(said + "\r")
	}
	m.await("Enter continues")
	m.enter("┃ One", "\r")
	m.enter("┃ Two", "\r")
	m.enter("┃ Three", "\r")
	m.enter("┃ Four", said+"\r")
	m.enter("[y]es", "y")
	m.await("linked")
	m.await("you ›\n")
	m.offered("x")
	m.typed(arrowUp)
	m.await("you › before")
	m.typed(ctrlC + "\x12") // the search
	m.await("search:")
	m.typed("bef")
	m.await("search: bef")
	m.typed("\x1b")
	m.await("you ›\n")
	m.typed(said)
	m.until("the text is there", func(s string) bool { return !strings.HasSuffix(s, "you ›\n") })
	m.typed("\r")
	m.ended(0)
	checkTyped(t, got)
	m.harmless()
}
