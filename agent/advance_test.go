package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// Begin keeps a run, and Advance moves it on, turn by turn and in any process, until it
// waits and until it is over.
func TestAdvance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := record.NewMemory()
		opts := agent.Options{Person: agent.Person{QuestionTTL: time.Hour}}
		first, _ := process(t, store, play(uses(toolCall("1", "echo", `{"x":1}`)), uses(toolCall("2", "ask", "{}"))), opts)
		key, err := first.Begin(t.Context(), human("go"), agent.In("r"), agent.ForTenant("acme"))
		if want := (run.Key{Tenant: "acme", ID: "r"}); err != nil || key != want {
			t.Fatalf("got %v, %v, want %v", key, err, want)
		}
		var seen []string
		advance := func(a *agent.Agent, want run.Status) agent.Next {
			t.Helper()
			next, err := a.Advance(t.Context(), key, func(e agent.Event) { seen = append(seen, agent.TypeOf(e)) })
			if err != nil || next.Status != want {
				t.Fatalf("got %+v, %v, want %s", next, err, want)
			}
			return next
		}
		advance(first, run.StatusRunning)
		next := advance(first, run.StatusWaiting)
		if len(next.Questions) != 1 || !next.Wake.Equal(next.Questions[0].Created.Add(time.Hour)) {
			t.Fatalf("got %+v, want one question, open for an hour", next)
		}
		advance(first, run.StatusWaiting)
		answer, err := next.Questions[0].Accept(map[string]any{"name": "Ann"})
		if err == nil {
			err = record.Submit(t.Context(), store, key, answer)
		}
		check(t, err)
		second, _ := process(t, store, play(says("done")), opts)
		advance(second, run.StatusRunning)
		advance(second, run.StatusFinished)
		diff(t, "events", seen, []string{
			"model_start", "model_end", "tool_start", "tool_end", "turn_end",
			"model_start", "model_end", "tool_start", "asked", "suspended",
			"answered", "tool_start", "tool_end", "turn_end",
			"model_start", "model_end", "turn_end", "answer",
		})
		log := load(t, store, key)
		got, err := agent.ResultOf(log.Records)
		if err != nil || got.Output != "done" || !log.Head.Held.IsZero() {
			t.Errorf("got %+v, %v, held until %v, want an answer and no holder", got, err, log.Head.Held)
		}
	})
}

// Each event of a step comes alone and has its position, also one that no record has.
func TestAdvanceEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := agent.Options{ParallelWrites: true}
		a, _ := process(t, record.NewMemory(), play(uses(toolCall("1", "count", "{}"), toolCall("2", "count", "{}"), toolCall("3", "count", "{}"))), opts)
		key := begun(t, a)
		inside, progress, at := 0, 0, agent.Position{}
		if _, err := a.Advance(t.Context(), key, func(e agent.Event) {
			if inside++; inside > 1 {
				t.Error("onEvent is called while it is called")
			}
			time.Sleep(time.Second)
			inside--
			if agent.TypeOf(e) == "tool_progress" {
				progress++
			}
			if p := e.Position(); p.Seq < max(at.Seq, 1) {
				t.Errorf("%s has the position %+v after %+v", agent.TypeOf(e), p, at)
			}
			at = e.Position()
		}); err != nil {
			t.Fatal(err)
		}
		if progress == 0 {
			t.Error("the tools show no progress")
		}
	})
}

// A step that fails says what became of the run, and one that is held elsewhere says so.
func TestAdvanceFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := record.NewMemory()
		gone := errors.New("no credit")
		a, _ := process(t, store, play(func(context.Context, prompt) (*model.Response, error) { return nil, gone }), agent.Options{})
		key := begun(t, a)
		lease, err := store.Acquire(t.Context(), key, record.Holder{TTL: time.Minute})
		check(t, err)
		if _, err := a.Advance(t.Context(), key, nil); !errors.Is(err, record.ErrHeld) {
			t.Errorf("got %v, want that it is held", err)
		}
		check(t, store.Release(t.Context(), lease))
		if next, err := a.Advance(t.Context(), key, nil); !errors.Is(err, gone) || next.Status != run.StatusFailed {
			t.Errorf("got %+v, %v, want a run that has failed", next, err)
		}
		if next, err := a.Advance(t.Context(), key, nil); err != nil || next.Status != run.StatusFailed {
			t.Errorf("got %+v, %v, want a run that has failed before", next, err)
		}
	})
}

// A run is cancelled once, with its questions; one that is over stays as it is, and takes
// another input.
func TestCancelRun(t *testing.T) {
	store := record.NewMemory()
	a, _ := process(t, store, play(uses(toolCall("1", "ask", "{}")), says("done")), agent.Options{})
	got, err := a.Run(t.Context(), human("go"), agent.In(theRun.ID))
	if err != nil || got.Status != run.StatusWaiting {
		t.Fatalf("got %+v, %v", got, err)
	}
	for range 2 {
		if status, err := a.Cancel(t.Context(), theRun); err != nil || status != run.StatusCancelled {
			t.Fatalf("got %s, %v, want a cancelled run", status, err)
		}
	}
	if err := a.Reply(t.Context(), theRun, got.Questions[0].Decline()); !errors.Is(err, run.ErrNotAsked) {
		t.Errorf("got %v, want that it is not asked", err)
	}
	if _, err := a.Begin(t.Context(), human("again"), agent.In(theRun.ID), agent.NewOnly()); !errors.Is(err, record.ErrExists) {
		t.Errorf("got %v, want that there is such a run", err)
	}
	check(t, errorOf(a.Begin(t.Context(), human("again"), agent.In(theRun.ID))))
	if next, err := a.Advance(t.Context(), theRun, nil); err != nil || next.Status != run.StatusFinished {
		t.Fatalf("got %+v, %v", next, err)
	}
	if status, err := a.Cancel(t.Context(), theRun); err != nil || status != run.StatusFinished {
		t.Errorf("got %s, %v, want that it is over already", status, err)
	}
}

// A run whose failure could not be kept has not failed: another process continues it.
func TestAdvanceWithoutStore(t *testing.T) {
	store := new(dying).in(record.NewMemory())
	a := newAgent(t, play(says("done")), &agent.Options{Durable: agent.Durable{Store: store}})
	key := begun(t, a)
	store.at = int(store.writes.Load()) + 1
	if next, err := a.Advance(t.Context(), key, nil); !errors.Is(err, errDead) || next.Status.Ended() {
		t.Errorf("got %+v, %v, want a run that has not ended", next, err)
	}
}
