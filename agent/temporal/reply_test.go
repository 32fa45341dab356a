package temporal_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/testsuite"

	temporalsdk "go.temporal.io/sdk/temporal"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// asking starts a run that asks for two approvals, and calls send when it waits.
func asking(t *testing.T, send func(w *world, env *testsuite.TestWorkflowEnvironment, questions []*run.Question)) *world {
	t.Helper()
	w := newWorld()
	a := w.agent(t, script{{calls: []string{`{"n":1,"ask":true}`, `{"n":2,"ask":true}`}}, {calls: []string{`{"n":3,"ask":true}`}}, {text: "done"}}, agent.Options{})
	env := begin(t, a, nil)
	env.RegisterDelayedCallback(func() {
		s := queried(t, env)
		check.That(t, s.Status == run.StatusWaiting && len(s.Questions) == 2, "got state %+v, want two questions", s)
		send(w, env, ledger.Open(w.state(t)))
	}, 24*time.Hour)
	env.RegisterDelayedCallback(func() { // the last question
		for _, q := range ledger.Open(w.state(t)) {
			update(t, env, "last", q.Allow())
		}
	}, 72*time.Hour)
	env.ExecuteWorkflow("mcpchain.Run", theJob())
	finished(t, env)
	return w
}

// TestAnswers replies in any order, together or separately, once or twice. Each call runs once.
func TestAnswers(t *testing.T) {
	for name, send := range map[string]func(*testing.T, *testsuite.TestWorkflowEnvironment, []*run.Question) []*answered{
		"in order": func(t *testing.T, env *testsuite.TestWorkflowEnvironment, q []*run.Question) []*answered {
			return []*answered{update(t, env, "1", q[0].Allow()), update(t, env, "2", q[1].Allow())}
		},
		"the last first": func(t *testing.T, env *testsuite.TestWorkflowEnvironment, q []*run.Question) []*answered {
			second := update(t, env, "2", q[1].Allow())
			env.RegisterDelayedCallback(func() { update(t, env, "1", q[0].Allow()) }, time.Hour)
			return []*answered{second}
		},
		"in one update": func(t *testing.T, env *testsuite.TestWorkflowEnvironment, q []*run.Question) []*answered {
			return []*answered{update(t, env, "1", q[1].Allow(), q[0].Allow())}
		},
		"one twice at once": func(t *testing.T, env *testsuite.TestWorkflowEnvironment, q []*run.Question) []*answered {
			return []*answered{update(t, env, "1", q[0].Allow()), update(t, env, "1b", q[0].Allow()), update(t, env, "2", q[1].Allow())}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var sent []*answered
			w := asking(t, func(_ *world, env *testsuite.TestWorkflowEnvironment, questions []*run.Question) {
				sent = send(t, env, questions)
			})
			for i, a := range sent {
				check.Equal(t, i, *a, answered{done: true})
			}
			check.Same(t, "notes", slices.Sorted(slices.Values(w.noted())), []int{1, 2, 3})
		})
	}
}

// TestAnswerIsRefused checks that an invalid reply is refused before it enters the history, or by the store, and changes nothing.
func TestAnswerIsRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		reply    func(q *run.Question) run.Reply
		kind     string
		rejected bool // by the workflow
	}{
		"forged": {func(q *run.Question) run.Reply {
			return run.Reply{Question: "ask_of_another_run", Action: run.ActionAllow}
		}, "NotAsked", true},
		"without question": {func(q *run.Question) run.Reply { return run.Reply{Action: run.ActionAllow} }, "NotAsked", true},
		"too large":        {func(q *run.Question) run.Reply { return q.Deny(strings.Repeat("no", 1<<19+1)) }, "Unfit", true},
		"unfit":            {func(q *run.Question) run.Reply { return run.Reply{Question: q.ID, Action: run.ActionAccept} }, "Unfit", false},
	} {
		t.Run(name, func(t *testing.T) {
			var got *answered
			asking(t, func(w *world, env *testsuite.TestWorkflowEnvironment, questions []*run.Question) {
				got = update(t, env, "bad", tt.reply(questions[0]))
				env.RegisterDelayedCallback(func() {
					s := w.state(t)
					check.That(t, s.Status == run.StatusWaiting && len(ledger.Open(s)) == 2, "the run is %s with %d questions", s.Status, len(ledger.Open(s)))
					update(t, env, "good", questions[0].Allow(), questions[1].Allow())
				}, time.Hour)
			})
			check.Equal(t, "rejected", (got.rejected != nil), tt.rejected)
			err := errors.Join(got.rejected, got.failed)
			var app *temporalsdk.ApplicationError
			check.That(t, errors.As(err, &app) && app.Type() == tt.kind && app.NonRetryable(), "got %v, want %s for good", err, tt.kind)
		})
	}
}

// TestAnswerTooLate checks that after a question is closed an equal reply changes nothing, and another one is refused.
func TestAnswerTooLate(t *testing.T) {
	var again, other *answered
	w := asking(t, func(_ *world, env *testsuite.TestWorkflowEnvironment, questions []*run.Question) {
		update(t, env, "1", questions[0].Deny("no"), questions[1].Allow())
		env.RegisterDelayedCallback(func() {
			again = update(t, env, "2", questions[0].Deny("no"))
			other = update(t, env, "3", questions[0].Allow())
		}, time.Hour)
	})
	check.Equal(t, "an equal answer", *again, answered{done: true})
	check.Equal(t, "another answer", typeOf(other.failed), "Answered")
	check.Same(t, "notes", w.noted(), []int{2, 3})
}

// TestWake checks that after a signal the workflow finds a reply that only the store has.
func TestWake(t *testing.T) {
	w := asking(t, func(w *world, env *testsuite.TestWorkflowEnvironment, questions []*run.Question) {
		check.NoError(t, record.Submit(t.Context(), w.store, key, questions[0].Allow(), questions[1].Allow()))
		env.SignalWorkflow("wake", nil)
	})
	check.Equal(t, "notes", len(w.noted()), 3)
}

// TestQuestionExpires checks that a question without a reply is denied in time, and the run continues.
func TestQuestionExpires(t *testing.T) {
	w := newWorld()
	a := w.agent(t, script{{calls: []string{`{"n":1,"ask":true}`}}, {text: "done"}}, agent.Options{Person: agent.Person{QuestionTTL: 50 * time.Millisecond}})
	env := begin(t, a, nil)
	env.SetStartTime(time.Now())
	job := theJob()
	job["after"] = 1 << 30 // the clock of the workflow is fast, so it takes many steps until the question expires
	env.ExecuteWorkflow("mcpchain.Run", job)
	finished(t, env)
	check.Equal(t, "notes of a run that is done without its call", len(w.noted()), 0)
	texts := told(w.state(t))
	check.That(t, len(texts) == 1 && strings.Contains(texts[0], "no person answered in time"), "the model is told %q", texts)
}
