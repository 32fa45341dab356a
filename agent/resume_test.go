package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// process is an agent with a toolset of its own, as another process would have it.
func process(t *testing.T, store run.Store, model *script, opts agent.Options) (*agent.Agent, *server) {
	t.Helper()
	toolset, s := open(t, &adapter.Options{Client: &mcpclient.Options{Elicitation: agent.OnlyInRuns()}})
	opts.Store = store
	return withTools(t, model, toolset, &opts), s
}

var theRun = run.Key{ID: "r"}

// A question of a server waits in the store, and is answered in another process: the
// server is not asked again.
func TestAnswerInAnotherProcess(t *testing.T) {
	store := run.NewMemory()
	asking := play(uses(toolCall("1", "ask", "{}"), toolCall("2", "echo", `{"x":1}`)))
	first, _ := process(t, store, asking, agent.Options{})
	got, err := first.Run(t.Context(), human("go"), agent.In(theRun.ID))
	if err != nil || got.Status != run.Waiting || len(got.Asks) != 1 || !got.Asks[0].Survives {
		t.Fatalf("got %+v, %v, want a run that waits for one answer", got, err)
	}
	answer, err := got.Asks[0].Accept(map[string]any{"name": "Ann"})
	if err != nil {
		t.Fatal(err)
	}
	second, _ := process(t, store, play(says("done")), agent.Options{})
	got, err = second.ResumeRun(t.Context(), theRun, answer)
	if err != nil {
		t.Fatal(err)
	}
	diff(t, "history", lines(history(got)), []string{
		`human: "go"`, `ai: 1=ask({}) 2=echo({"x":1})`, `tool: 1/ask→"accept Ann"`, `tool: 2/echo→"{\"x\":1}"`, `ai: "done"`,
	})
	if n := len(asking.prompts()); n != 1 {
		t.Errorf("the first model was called %d times, want once", n)
	}
}

// An approval waits in the same way; what was approved is what runs.
func TestApprovalInAnotherProcess(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(*run.Ask) run.Answer
		want   string
	}{
		"allow": {func(q *run.Ask) run.Answer { return q.Allow() }, `tool: 1/echo→"{\"x\":1}"`},
		"edit": {func(q *run.Ask) run.Answer { return q.AllowWith([]byte(`{"x":2}`)) },
			`tool: 1/echo→"[the user changed the arguments to {\"x\":2}]\n{\"x\":2}"`},
		"deny": {func(q *run.Ask) run.Answer { return q.Deny("not on Fridays") },
			`tool: 1/echo→"Error: the call of echo was denied: not on Fridays. Nothing was done."`},
	} {
		t.Run(name, func(t *testing.T) {
			store := run.NewMemory()
			opts := agent.Options{Approve: agent.AskPerson}
			first, _ := process(t, store, play(uses(toolCall("1", "echo", `{"x":1}`))), opts)
			got, err := first.Run(t.Context(), human("go"), agent.In(theRun.ID))
			if err != nil || len(got.Asks) != 1 || string(got.Asks[0].Arguments) != `{"x":1}` {
				t.Fatalf("got %+v, %v, want a question about the call", got, err)
			}
			second, _ := process(t, store, play(says("done")), opts)
			got, err = second.ResumeRun(t.Context(), theRun, tt.answer(got.Asks[0]))
			if err != nil {
				t.Fatal(err)
			}
			diff(t, "result", lines(history(got))[2], tt.want)
		})
	}
}

// A call that was under way when its process ended is not sent again, and the model is
// told; a person may be asked instead.
func TestCallInDoubt(t *testing.T) {
	for name, tt := range map[string]struct {
		policy agent.DoubtPolicy
		answer func(*run.Ask) run.Answer
		want   string
	}{
		"tell the model": {agent.TellModel, nil, "It is unknown whether the call ran"},
		"it ran":         {agent.AskAboutDoubt, func(q *run.Ask) run.Answer { return q.Ran() }, "The user says that the call ran"},
		"it has run so":  {agent.AskAboutDoubt, func(q *run.Ask) run.Answer { return q.RanWith("7 lines") }, "7 lines"},
		"it has not run": {agent.AskAboutDoubt, func(q *run.Ask) run.Answer { return q.NotRun() }, "slept 1 s"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := run.NewMemory()
				opts := agent.Options{Doubt: tt.policy}
				ctx, kill := context.WithTimeout(t.Context(), time.Millisecond)
				defer kill()
				first, _ := process(t, store, play(uses(sleep("1", 1))), opts)
				if _, err := first.Run(ctx, human("go"), agent.In(theRun.ID)); !errors.Is(err, context.DeadlineExceeded) {
					t.Fatalf("got %v, want the end of the process", err)
				}
				second, s := process(t, store, play(says("done")), opts)
				got, err := second.ResumeRun(t.Context(), theRun)
				if tt.answer != nil {
					if err != nil || len(got.Asks) != 1 || got.Asks[0].Kind != run.AskDoubt {
						t.Fatalf("got %+v, %v, want a question about the call", got, err)
					}
					got, err = second.ResumeRun(t.Context(), theRun, tt.answer(got.Asks[0]))
				}
				if err != nil {
					t.Fatal(err)
				}
				if text := lines(history(got))[2]; !strings.Contains(text, tt.want) {
					t.Errorf("the model is told %s, want %q", text, tt.want)
				}
				if again := s.most.Load() > 0; again != (name == "it has not run") {
					t.Errorf("the call was sent again: %v", again)
				}
			})
		})
	}
}

// A conversation is one run with many inputs, in whatever process.
func TestConversation(t *testing.T) {
	store := run.NewMemory()
	for i := range 3 {
		a, _ := process(t, store, play(says(fmt.Sprint("answer ", i))), agent.Options{})
		got, err := a.Run(t.Context(), human(fmt.Sprint("question ", i)), agent.In(theRun.ID))
		if err != nil || len(got.Messages) != 2*(i+1) {
			t.Fatalf("got %+v, %v, want all messages", got, err)
		}
	}
}
