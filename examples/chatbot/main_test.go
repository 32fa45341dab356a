package main

import (
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/examples/internal/demo"
	"github.com/mcpchain/mcpchain/internal/check"
)

func TestMain(m *testing.M) {
	if !demo.Serve() {
		os.Exit(m.Run())
	}
}

// TestChat types what a person types, and reads what the person sees.
func TestChat(t *testing.T) {
	file := demo.Start(t, nil)
	const sum, allow = "What is 17 plus 25?\n", "y, a for always with this tool, or the reason why not: "
	const form = "\"demo\" asks: When should the table at Luigi be booked? (/no declines)\n  \"Date\": "
	for name, tt := range map[string]struct {
		typed string
		want  []string // in this order
	}{
		"allowed":           {sum + "y\n", []string{`"demo" wants to run "add" with {"a":17,"b":25}`, allow, "… \"add\"\n→ 17 + 25 = 42\nThe result: 17 + 25 = 42.\n> "}},
		"allowed for good":  {sum + "a\nWhat is 1 plus 2?\n", []string{allow, "= 42.\n> … \"add\"\n→ 1 + 2 = 3\nThe result: 1 + 2 = 3.\n"}},
		"denied":            {sum + "too hard\n", []string{allow, "→ ", "too hard", "\n> "}},
		"nobody":            {sum, []string{allow, "nobody is there to allow it"}},
		"form":              {"Book a table for 4 at Luigi\ny\n2030-05-01\n19:30\n\n\n\n\n", []string{form, `"Number of people" ["4"]: `, "Booked: a table for 4 inside at Luigi on 2030-05-01 at 19:30"}},
		"mistake in a form": {"Book a table for 4 at Luigi\ny\ntomorrow\n2030-05-01\n19:30\n\n\n\n\n", []string{form + "  field \"date\": want a day", "\n  \"Date\": ", "Booked: a table"}},
		"declined form":     {"Book a table for 4 at Luigi\ny\n/no\n", []string{form, "No table was booked"}},
		"form for nobody":   {"Book a table for 4 at Luigi\ny\n", []string{form, "No table was booked"}},
		"server's request":  {"Summarize: Go is small. It is fun.\ny\ny\n", []string{allow, "\"demo\" asks the model:", "Summary: Go is small."}},
		"conversation":      {"What is 1 plus 2?\ny\nWhat did I ask before?\n", []string{"Before that you asked: What is 1 plus 2?"}},
		"forgotten":         {"hello\n/new\nWhat did I ask before?\n", []string{"> > "}},
		"tools":             {"/tools\n", []string{"> ", "  add: ", "  book_table: ", "> "}},
	} {
		t.Run(name, func(t *testing.T) {
			var screen strings.Builder
			check.Must(t, start(t.Context(), file, strings.NewReader(tt.typed), &screen))
			rest := screen.String()
			for _, want := range tt.want {
				_, after, found := strings.Cut(rest, want)
				check.Require(t, found, "got no %q in %q of\n%s", want, rest, &screen)
				rest = after
			}
			forgotten := strings.Contains(tt.typed, "/new")
			check.That(t, !forgotten || !strings.Contains(rest, "Before that you asked"), "got %q, want the question before forgotten", rest)
		})
	}
}

// TestOneQuestionAtATime has two calls wait for a person: the second is shown when the first is decided.
func TestOneQuestionAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, typed := io.Pipe()
		defer typed.Close()
		var screen strings.Builder
		p := newPerson(&mcpchain.Terminal{In: in, Out: &screen}, &screen)
		var replies sync.WaitGroup
		for _, tool := range []string{"one", "two"} {
			replies.Go(func() {
				reply, err := p.reply(t.Context(), &run.Question{Kind: run.QuestionApproval, Tool: tool})
				check.That(t, err == nil && reply.Action == run.ActionAllow, "%s: got %+v, %v", tool, reply, err)
			})
		}
		for shown := 1; shown <= 2; shown++ {
			synctest.Wait()
			check.Equal(t, "questions shown", strings.Count(screen.String(), "wants to run"), shown)
			_, _ = io.WriteString(typed, "y\n")
		}
		replies.Wait()
	})
}
