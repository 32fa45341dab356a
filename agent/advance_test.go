package agent_test

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
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
		key, err := first.Begin(t.Context(), human("go"), agent.WithRun("r"), agent.WithTenant("acme"))
		if want := (run.Key{Tenant: "acme", ID: "r"}); err != nil || key != want {
			t.Fatalf("got %v, %v, want %v", key, err, want)
		}
		var seen []string
		advance := func(a *agent.Agent, want run.Status) agent.Progress {
			t.Helper()
			next, err := a.Advance(t.Context(), key, func(e agent.Event) { seen = append(seen, agent.EventType(e)) })
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
		if err != nil || got.Output != "done" || !log.Head.HeldUntil.IsZero() {
			t.Errorf("got %+v, %v, held until %v, want an answer and no holder", got, err, log.Head.HeldUntil)
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
			if agent.EventType(e) == "tool_progress" {
				progress++
			}
			if p := e.Position(); p.Seq < max(at.Seq, 1) {
				t.Errorf("%s has the position %+v after %+v", agent.EventType(e), p, at)
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
	got, err := a.Run(t.Context(), human("go"), agent.WithRun(theRun.ID))
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
	if _, err := a.Begin(t.Context(), human("again"), agent.WithRun(theRun.ID), agent.WithNewRun()); !errors.Is(err, record.ErrExists) {
		t.Errorf("got %v, want that there is such a run", err)
	}
	check(t, errorOf(a.Begin(t.Context(), human("again"), agent.WithRun(theRun.ID))))
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

// TestCancelFromAnywhere has an operator, who has the store alone, cancel a run that a process
// works on. The request is not for the next input.
func TestCancelFromAnywhere(t *testing.T) {
	for name, open := range everyStore {
		synctestRun(t, name, func(t *testing.T) { cancelFromAnywhere(t, open(t)) })
	}
}

func cancelFromAnywhere(t *testing.T, store record.Store) {
	a := slowAgent(t, store, time.Minute)
	type outcome struct {
		result *agent.Result
		err    error
	}
	drive := func() <-chan outcome {
		done := make(chan outcome, 1)
		go func() {
			r, err := a.Run(t.Context(), human("go"), agent.WithRun(theRun.ID))
			done <- outcome{r, err}
		}()
		return done
	}
	isCancelled := func(who string, got outcome) {
		t.Helper()
		if !errors.Is(got.err, agent.ErrCancelled) || got.result.Status != run.StatusCancelled {
			t.Errorf("%s: got %s, %v, want a cancelled run", who, got.result.Status, got.err)
		}
		if log, err := store.Load(t.Context(), theRun); err != nil || log.Head.Status != run.StatusCancelled || !log.Head.HeldUntil.IsZero() {
			t.Errorf("%s: the store has %+v, %v, want a cancelled run that is free", who, log.Head, err)
		}
	}
	first := drive()
	time.Sleep(5 * time.Second)
	asked := time.Now()
	check(t, record.CancelRun(t.Context(), store, theRun))
	if took := time.Since(asked); took > 3*time.Second {
		t.Errorf("the process heard of it after %v", took)
	}
	isCancelled("an operator", <-first)

	second := drive() // whose turns the old request does not end
	time.Sleep(30 * time.Second)
	asked = time.Now()
	if _, err := a.Cancel(t.Context(), theRun); !errors.Is(err, record.ErrHeld) {
		t.Errorf("got %v, want that the run is held", err)
	}
	isCancelled("the process itself", <-second)
	if took := time.Since(asked); took > 0 {
		t.Errorf("the process itself heard of it after %v", took)
	}
	if got := <-drive(); got.err != nil || got.result.Status != run.StatusFinished {
		t.Errorf("a later input: got %s, %v, want an answer", got.result.Status, got.err)
	}
}

// TestCancelOutlivesTheHolder has the process of a run end before it hears that the run is to end:
// who takes the run up ends it, and calls no model.
func TestCancelOutlivesTheHolder(t *testing.T) {
	for name, open := range everyStore {
		synctestRun(t, name, func(t *testing.T) { cancelOutlives(t, open(t)) })
	}
}

func cancelOutlives(t *testing.T, store record.Store) {
	a, _ := process(t, store, play(), agent.Options{})
	key := begun(t, a)
	lease, err := store.Acquire(t.Context(), key, record.Holder{Name: "stopped", TTL: time.Minute})
	check(t, err)
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
	defer stop()
	if err := record.CancelRun(ctx, store, key); !errors.Is(err, record.ErrHeld) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want that the run is held", err)
	}
	check(t, store.Release(t.Context(), lease))
	var ended error
	ctx, stop = context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	options := &agent.RecoverOptions{Logger: slog.New(slog.DiscardHandler), OnEnd: func(_ run.Key, _ *agent.Result, err error) {
		ended = err
		stop()
	}}
	_ = agent.Recover(ctx, store, []*agent.Agent{a}, options)
	if !errors.Is(ended, agent.ErrCancelled) {
		t.Errorf("got %v, want a cancelled run", ended)
	}
}

// TestCancelOutlivesTheWait requests the end of a run that waits, or that is between two steps: who
// continues it ends it, and sends nothing.
func TestCancelOutlivesTheWait(t *testing.T) {
	for name, open := range everyStore {
		synctestRun(t, name, func(t *testing.T) { cancelOutlivesTheWait(t, open(t)) })
	}
}

func cancelOutlivesTheWait(t *testing.T, store record.Store) {
	calls := 0
	pay := adapter.Func("pay", "Pays.", func(context.Context, struct{}) (string, error) {
		calls++
		return "paid", nil
	}, nil)
	a := newAgent(t, play(uses(toolCall("1", "pay", "{}")), says("done")), &agent.Options{
		Tools: []adapter.Source{pay}, Person: agent.Person{Approve: agent.AskPerson}, Durable: agent.Durable{Store: store},
	})
	got, err := a.Run(t.Context(), human("go"), agent.WithRun(theRun.ID))
	if err != nil || got.Status != run.StatusWaiting {
		t.Fatalf("got %+v, %v, want a run that waits", got, err)
	}
	check(t, store.RequestCancel(t.Context(), theRun))
	got, err = a.Resume(t.Context(), theRun, got.Questions[0].Allow())
	if !errors.Is(err, agent.ErrCancelled) || got.Status != run.StatusCancelled || got.Failure != agent.ErrCancelled.Error() || calls > 0 {
		t.Errorf("resumed: got %s, %v and %d calls, want a cancelled run without calls", got.Status, err, calls)
	}

	key := run.Key{ID: "steps"}
	check(t, errorOf(a.Begin(t.Context(), human("go"), agent.WithRun(key.ID))))
	check(t, store.RequestCancel(t.Context(), key))
	next, err := a.Advance(t.Context(), key, nil)
	if !errors.Is(err, agent.ErrCancelled) || next.Status != run.StatusCancelled {
		t.Errorf("advanced: got %+v, %v, want a cancelled run", next, err)
	}
}

// TestUnfinishedReply cancels a run whose model writes. What it has written is the output of the run, in the store, too, unless a
// hook reads the replies.
func TestUnfinishedReply(t *testing.T) {
	t.Run("no hook", func(t *testing.T) { unfinishedReply(t, nil, "Half an \ufffd") })
	guard := agent.Hook{AfterModel: func(context.Context, *agent.State, *run.Message) error { return nil }}
	t.Run("a guard", func(t *testing.T) { unfinishedReply(t, []agent.Hook{guard}, "") })
}

func unfinishedReply(t *testing.T, hooks []agent.Hook, want string) {
	synctest.Test(t, func(t *testing.T) {
		store := record.NewMemory()
		written := make(halfWritten)
		a := newAgent(t, written, &agent.Options{Hooks: hooks, Durable: agent.Durable{Store: store}})
		key := run.Key{ID: "half"}
		go func() {
			<-written
			if _, err := a.Cancel(t.Context(), key); !errors.Is(err, record.ErrHeld) { // it is told
				t.Errorf("got %v, want that the run is held", err)
			}
		}()
		got, err := a.Run(t.Context(), human("go"), agent.WithRun(key.ID))
		log, loadErr := store.Load(t.Context(), key)
		check(t, loadErr)
		kept, resultErr := agent.ResultOf(log.Records)
		check(t, resultErr)
		if !errors.Is(err, agent.ErrCancelled) || got.Output != want || kept.Output != got.Output {
			t.Errorf("got %q, %v and %q in the store, want %q", got.Output, err, kept.Output, want)
		}
	})
}

// halfWritten is a model that never finishes its reply. It closes written after the first half.
type halfWritten chan struct{}

// Info implements [agent.Model].
func (halfWritten) Info() model.Info { return model.Info{} }

// Generate implements [agent.Model].
func (written halfWritten) Generate(ctx context.Context, _ *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		if !yield(model.Delta{Text: "Half an \xff"}, nil) {
			return
		}
		close(written)
		<-ctx.Done()
		yield(model.Delta{}, context.Cause(ctx))
	}
}
