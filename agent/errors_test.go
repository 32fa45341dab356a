package agent_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/price"
)

// The errors that a user meets first say each thing once, whichever store has the run.
func TestErrorTexts(t *testing.T) {
	for name, store := range map[string]record.Store{"memory": record.NewMemory(), "files": filesIn(t, t.TempDir())} {
		t.Run(name, func(t *testing.T) {
			ctx := t.Context()
			a, _ := process(t, store, play(uses(toolCall("1", "echo", `{"x":1}`)), says("done")), agent.Options{Person: agent.Person{Approve: agent.AskPerson}})
			ask := asks(t, a, 1, run.QuestionApproval).Questions[0]
			none, other := run.Key{ID: "none"}, newAgent(t, play(says("x")), &agent.Options{Name: "other", Durable: agent.Durable{Store: store}})
			otherReply, otherResume := other.Reply(ctx, theRun, ask.Deny("")), check.Err(other.Resume(ctx, theRun, ask.Deny("")))
			check.Must(t, a.Reply(ctx, theRun, ask.Allow())) // it is the first
			begun(t, a, agent.WithRun("begun"))
			unkept := newAgent(t, play(says("x")), nil)
			for _, tt := range []struct {
				name string
				got  error
				want string
			}{
				{"prices", check.Err(agent.New(play(), &agent.Options{Model: agent.ModelSettings{Prices: &price.Table{Models: []price.Price{{Model: "m"}}}}})),
					`new agent: options: Model.Prices: date is "", want a day such as "2026-11-22": prices change`},
				{"price", check.Err(agent.New(play(), &agent.Options{Model: agent.ModelSettings{Prices: &price.Table{Date: "2026-11-22", Models: []price.Price{{Model: "m"}}}}})),
					`new agent: options: Model.Prices: model 0, "m": currency is "", want a code of three letters such as "USD"`},

				{"silent model", check.Err(newAgent(t, play(says("")), nil).Run(ctx, human("go"))),
					`run agent: turn 1: model gave no output: neither text nor tool calls (it stopped with "stop", the run with "answer")`},
				{"no messages", check.Err(unkept.Run(ctx, nil)), `run agent: there are no messages; give at least one`},
				{"id without a store", check.Err(unkept.Run(ctx, human("go"), agent.WithRun("r"))), `run agent: WithRun needs Options.Durable.Store`},
				{"empty id", check.Err(a.Run(ctx, human("go"), agent.WithRun(""))), `run agent: WithRun: id is empty`},
				{"failing model", check.Err(newAgent(t, play(breaks(errors.New("no key"))), nil).Run(ctx, human("go"))),
					`run agent: call model: no key`},
				{"no struct", errorOf3(agent.RunAs[int](ctx, unkept, human("go"))),
					`run agent: a structured answer is a struct or a map, not int: make it a field of a struct`},
				{"no schema", errorOf3(agent.RunAs[struct{ C chan int }](ctx, unkept, human("go"))),
					`run agent: a structured answer: schema of struct { C chan int }: field C: chan int has no JSON`},

				{"Run, waiting", check.Err(a.Run(ctx, human("go"), agent.WithRun(theRun.ID))), `run agent: "r" waits for answers to its questions`},
				{"Run, running", check.Err(a.Run(ctx, human("go"), agent.WithRun("begun"))),
					`run agent: input for "begun": run has no answer yet; continue it by Resume or Recover`},
				{"Run, once", check.Err(a.Run(ctx, human("go"), agent.WithRun(theRun.ID), agent.WithNewRun())),
					`run agent: create run "r": run already exists`},

				{"Resume, none", check.Err(a.Resume(ctx, none)), `run agent: load run "none": not found`},
				{"Cancel, none", check.Err(a.Cancel(ctx, none)), `cancel: load run "none": not found`},
				{"Advance, none", check.Err(a.Advance(ctx, none, nil)), `advance: load run "none": not found`},
				{"Asks, none", check.Err(a.Questions(ctx, none)), `read questions: load run "none": not found`},
				{"Answer, none", a.Reply(ctx, none, ask.Allow()), `load run "none": not found`},
				{"Replay, none", replayed(t, a, none), `replay: load run "none": not found`},

				{"Resume, other", check.Err(other.Resume(ctx, theRun)), `run agent: load run "r": it belongs to agent "agent", and this is "other"`},
				{"Resume with an answer, other", otherResume, `run agent: load run "r": it belongs to agent "agent", and this is "other"`},
				{"Cancel, other", check.Err(other.Cancel(ctx, theRun)), `cancel: load run "r": it belongs to agent "agent", and this is "other"`},
				{"Replay, other", replayed(t, other, theRun), `replay: load run "r": it belongs to agent "agent", and this is "other"`},
				{"Asks, other", check.Err(other.Questions(ctx, theRun)),
					`read questions: load run "r": it belongs to agent "agent", and this is "other"`},
				{"Answer, other", otherReply, `load run "r": it belongs to agent "agent", and this is "other"`},

				{"Resume, no store", check.Err(unkept.Resume(ctx, theRun)), `run agent: agent has no Options.Durable.Store`},
				{"Answer, no store", unkept.Reply(ctx, theRun, ask.Allow()), `answer questions: agent has no Options.Durable.Store`},
				{"Replay, no store", replayed(t, unkept, theRun), `replay: agent has no Options.Durable.Store`},

				{"not asked", a.Reply(ctx, theRun, run.Reply{Question: "x", Action: run.ActionAllow}),
					`answer question "x" of run "r": question is not open`},
				{"not asked, Resume", check.Err(a.Resume(ctx, theRun, run.Reply{Question: "x", Action: run.ActionAllow})),
					`run agent: answer question "x" of run "r": question is not open`},
				{"unfit", a.Reply(ctx, theRun, run.Reply{Question: ask.ID, Action: run.ActionAccept}),
					`answer question "` + ask.ID + `": a question of kind "approval" takes ["allow" "deny"] and not "accept": answer does not fit`},
				{"answered", a.Reply(ctx, theRun, ask.Deny("")), `answer question "` + ask.ID + `" of run "r": question already has another answer`},
				{"answered, Resume", check.Err(a.Resume(ctx, theRun, ask.Deny(""))),
					`run agent: answer question "` + ask.ID + `" of run "r": question already has another answer`},
			} {
				check.Equal(t, tt.name, fmt.Sprint(tt.got), tt.want)
			}
			check.Is(t, check.Err(a.Run(ctx, human("go"), agent.WithRun("begun"))), agent.ErrUnfinished)
			check.Is(t, replayed(t, a, none), record.ErrNotFound)
		})
	}
}

// replayed is the error of a replay that has nothing else.
func replayed(t *testing.T, a *agent.Agent, key run.Key) (failed error) {
	t.Helper()
	n := 0
	for e, err := range a.Replay(t.Context(), key, agent.Position{}) {
		check.Equal(t, "event", e, nil)
		n, failed = n+1, err
	}
	check.Equal(t, "errors", n, 1)
	return failed
}

// A run that cannot pay for an answer says which limit stops it, how much of it was used, and what a call takes.
func TestLimitText(t *testing.T) {
	ctx := t.Context()
	helper := func(o *agent.Options) adapter.Source {
		return sub(t, newAgent(t, play(counted(says("found"))), o), agent.NewSubAgent)
	}
	asksHelper := counted(uses(toolCall("1", "helper", `{"task":"`+strings.Repeat("find it ", 300)+`"}`)))
	ofHelper := func(lead *agent.Options, sub *agent.Options) string {
		lead.Tools = []adapter.Source{helper(sub)}
		got, _ := newAgent(t, play(asksHelper, counted(says("done"))), lead).Run(ctx, human("go"))
		return fmt.Sprint(got.Warnings)
	}
	for _, tt := range []struct{ name, got, want string }{
		{"tokens", check.Err(newAgent(t, play(says("x")), &agent.Options{Limits: run.Limits{Tokens: 50}}).Run(ctx, human("go"))).Error(),
			`run agent: too little of a limit is left for an answer: of 50 tokens (Limits.Tokens) 0 are used or reserved, and a call with about 35 tokens of input takes at least 99`},
		{"cost", check.Err(newAgent(t, play(costly).called("m-1"), &agent.Options{
			Limits: run.Limits{Cost: map[string]int64{"USD": 100}}, Model: agent.ModelSettings{Prices: prices},
		}).Run(ctx, human("go"))).Error(),
			`run agent: too little of a limit is left for an answer: of 0.0001 USD (Limits.Cost) 0 USD are used or reserved, and a call with about 35 tokens of input takes at least 0.000163 USD`},
		{"a sub-agent's own", ofHelper(&agent.Options{}, &agent.Options{Name: "digger", Limits: run.Limits{Tokens: 500}}),
			`[the agent helper failed: too little of a limit is left for an answer: of 500 tokens (Limits.Tokens of the sub-agent "digger") 0 are used or reserved, and a call with about 793 tokens of input takes at least 857]`},
		{"that of the agent above", ofHelper(&agent.Options{Limits: run.Limits{Tokens: 1250}}, nil),
			`[the agent helper failed: too little of a limit is left for an answer: of 1250 tokens (Limits.Tokens) 150 are used or reserved, some are kept for the answer of the agent above, and a call with about 793 tokens of input takes at least 857]`},
	} {
		check.Equal(t, tt.name, tt.got, tt.want)
	}
}

// A warning prints as its text, also among others.
func TestWarningAsText(t *testing.T) {
	got := &agent.Result{Warnings: []*agent.Warning{{Text: "one"}, {EventInfo: agent.EventInfo{Path: []string{"helper"}}, Text: "the agent helper failed"}}}
	check.Equal(t, "texts", fmt.Sprint(got.Warnings[1], got.Warnings), "the agent helper failed [one the agent helper failed]")
}

// A run that is held says by which process, until when, and what helps.
func TestHeldText(t *testing.T) {
	for name, store := range map[string]record.Store{"memory": record.NewMemory(), "files": filesIn(t, t.TempDir())} {
		a := newAgent(t, play(says("x")), &agent.Options{Durable: agent.Durable{Store: store}})
		key := begun(t, a)
		begun := time.Now()
		check.Must(t, check.Err(store.Acquire(t.Context(), key, record.Holder{Name: "host/17", TTL: time.Hour})))
		_, err := a.Resume(t.Context(), key)
		held, ok := errors.AsType[*record.HeldError](err)
		if !ok || !errors.Is(err, record.ErrHeld) || held.Until.Before(begun.Add(time.Hour)) {
			t.Errorf("%s: got %v, want a HeldError for an hour", name, err)
			continue
		}
		want := fmt.Sprintf(`run agent: acquire run %q: the process "host/17" holds the run until %s, and longer while it works on it: try again then, or have agent.Recover continue the run`,
			key.ID, held.Until.UTC().Format(time.RFC3339))
		check.Equal(t, name, err.Error(), want)
	}
}
