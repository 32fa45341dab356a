package agent_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Begin keeps a run, and Advance moves it on, turn by turn and in any process, until it waits and until it is over.
func TestAdvance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := record.NewMemory()
		opts := agent.Options{Person: agent.Person{QuestionTTL: time.Hour}}
		first, _ := process(t, store, play(uses(toolCall("1", "echo", `{"x":1}`)), uses(toolCall("2", "ask", "{}"))), opts)
		key := begun(t, first, agent.WithRun("r"), agent.WithTenant("acme"))
		check.Equal(t, "key", key, run.Key{Tenant: "acme", ID: "r"})
		var seen []string
		advance := func(a *agent.Agent, want run.Status) *agent.Result {
			t.Helper()
			next, err := a.Advance(t.Context(), key, func(e agent.Event) { seen = append(seen, agent.KindOf(e)) })
			check.Same(t, "status", []any{next.Status, err}, []any{want, nil})
			return next
		}
		advance(first, run.StatusRunning)
		next := advance(first, run.StatusWaiting)
		check.Require(t, len(next.Questions) == 1 && next.Questions[0].Expires.Equal(next.Questions[0].Created.Add(time.Hour)),
			"got %+v, want one question, open for an hour", next)
		advance(first, run.StatusWaiting)
		check.Must(t, record.Submit(t.Context(), store, key, accepted(t, next.Questions[0], map[string]any{"name": "Ann"})))
		second, _ := process(t, store, play(says("done")), opts)
		advance(second, run.StatusRunning)
		advance(second, run.StatusFinished)
		check.Same(t, "events", seen, []string{
			"model_start", "model_end", "tool_start", "tool_end", "turn_end",
			"model_start", "model_end", "tool_start", "asked", "suspended",
			"answered", "tool_start", "tool_end", "turn_end",
			"model_start", "model_end", "turn_end", "answer",
		})
		log := load(t, store, key)
		got, err := agent.ResultOf(log.Records)
		check.Same(t, "answer, and no holder", []any{got.Output, err, log.Head.HeldUntil.IsZero()}, []any{"done", nil, true})
	})
}

// Each event of a step comes alone and has its position, also one that no record has.
func TestAdvanceEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := agent.Options{ParallelWrites: true}
		a, _ := process(t, record.NewMemory(), play(uses(toolCall("1", "count", "{}"), toolCall("2", "count", "{}"), toolCall("3", "count", "{}"))), opts)
		key := begun(t, a)
		inside, progress, at := 0, 0, agent.Position{}
		_, err := a.Advance(t.Context(), key, func(e agent.Event) {
			inside++
			check.Equal(t, "events at once", inside, 1)
			time.Sleep(time.Second)
			inside--
			if agent.KindOf(e) == "tool_progress" {
				progress++
			}
			p := e.Position()
			check.That(t, p.Seq >= max(at.Seq, 1), "%s has the position %+v after %+v", agent.KindOf(e), p, at)
			at = e.Position()
		})
		check.Must(t, err)
		check.Equal(t, "the tools show progress", progress > 0, true)
	})
}

// A step that fails says what became of the run, and one that is held elsewhere says so.
func TestAdvanceFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gone := record.NewMemory(), errors.New("no credit")
		a, _ := process(t, store, play(breaks(gone)), agent.Options{})
		key := begun(t, a)
		lease := check.Value(store.Acquire(t.Context(), key, record.Holder{TTL: time.Minute}))(t)
		check.Is(t, check.Err(a.Advance(t.Context(), key, nil)), record.ErrHeld)
		check.Must(t, store.Release(t.Context(), lease))
		next, err := a.Advance(t.Context(), key, nil)
		check.Same(t, "the step that fails", []any{errors.Is(err, gone), next.Status}, []any{true, run.StatusFailed})
		next, err = a.Advance(t.Context(), key, nil)
		check.Same(t, "a step after it", []any{err, next.Status}, []any{nil, run.StatusFailed})
	})
}

// A run is cancelled once, with its questions; one that is over stays as it is, and takes another input.
func TestCancelRun(t *testing.T) {
	a, _ := process(t, record.NewMemory(), play(uses(toolCall("1", "ask", "{}")), says("done")), agent.Options{})
	got := asks(t, a, 1, run.QuestionForm)
	for range 2 {
		status, err := a.Cancel(t.Context(), theRun)
		check.Same(t, "cancelled", []any{status, err}, []any{run.StatusCancelled, nil})
	}
	check.Is(t, a.Reply(t.Context(), theRun, got.Questions[0].Decline()), run.ErrNotAsked)
	check.Is(t, check.Err(a.Begin(t.Context(), human("again"), agent.WithRun(theRun.ID), agent.WithNewRun())), record.ErrExists)
	check.Must(t, check.Err(a.Begin(t.Context(), human("again"), agent.WithRun(theRun.ID))))
	next, err := a.Advance(t.Context(), theRun, nil)
	check.Same(t, "the next input", []any{err, next.Status}, []any{nil, run.StatusFinished})
	status, err := a.Cancel(t.Context(), theRun)
	check.Same(t, "cancelled when it is over", []any{status, err}, []any{run.StatusFinished, nil})
}

// A run whose failure could not be kept has not failed: another process continues it.
func TestAdvanceWithoutStore(t *testing.T) {
	store := new(dying).in(record.NewMemory())
	a := newAgent(t, play(says("done")), &agent.Options{Durable: agent.Durable{Store: store}})
	key := begun(t, a)
	store.at = int(store.writes.Load()) + 1
	next, err := a.Advance(t.Context(), key, nil)
	check.Same(t, "died, and has not ended", []any{errors.Is(err, errDead), next.Status.Ended()}, []any{true, false})
}

// A run that is cancelled after its end could not be stored is cancelled, also for its caller.
func TestCancelAfterLostEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := record.NewMemory()
		store := watch(memory, func(c *storeCall) error {
			if c.Method != "append" || c.Head.Status != run.StatusFinished {
				return c.Do()
			}
			check.NoError(t, memory.RequestCancel(t.Context(), theRun))
			time.Sleep(2 * time.Second) // the process finds the request
			return record.ErrTooLarge
		})
		a := newAgent(t, play(says("done")), &agent.Options{Durable: agent.Durable{Store: store}})
		got, err := a.Run(t.Context(), human("go"), agent.WithRun(theRun.ID))
		check.Is(t, err, agent.ErrCancelled)
		check.Same(t, "status of the result and in the store",
			[]any{got.Status, load(t, memory, theRun).Head.Status}, []any{run.StatusCancelled, run.StatusCancelled})
	})
}

// An operator, who has the store alone, cancels a run that a process works on. The request is not for the next input.
func TestCancelFromAnywhere(t *testing.T) {
	inEveryStore(t, func(t *testing.T, store record.Store) {
		a := slowAgent(t, store, time.Minute)
		isCancelled := func(who string, got runEnd) {
			t.Helper()
			check.Is(t, got.err, agent.ErrCancelled, who)
			head := load(t, store, theRun).Head
			check.Same(t, who+": status, in the store, and free", []any{got.Status, head.Status, head.HeldUntil.IsZero()},
				[]any{run.StatusCancelled, run.StatusCancelled, true})
		}
		first := begin(t.Context(), a)
		time.Sleep(5 * time.Second)
		asked := time.Now()
		check.Must(t, record.CancelRun(t.Context(), store, theRun))
		within(t, "until the process heard of it", time.Since(asked), 0, 3*time.Second)
		isCancelled("an operator", <-first)
		second := begin(t.Context(), a) // whose turns the old request does not end
		time.Sleep(30 * time.Second)
		asked = time.Now()
		check.Is(t, check.Err(a.Cancel(t.Context(), theRun)), record.ErrHeld)
		isCancelled("the process itself", <-second)
		check.Equal(t, "the process itself heard of it after", time.Since(asked), 0)
		later := <-begin(t.Context(), a)
		check.Same(t, "a later input", []any{later.err, later.Status}, []any{nil, run.StatusFinished})
	})
}

// The process of a run ends before it hears that the run is to end: who takes the run up ends it, and calls no model.
func TestCancelOutlivesTheHolder(t *testing.T) {
	inEveryStore(t, func(t *testing.T, store record.Store) {
		a, _ := process(t, store, play(), agent.Options{})
		key := begun(t, a)
		lease, err := store.Acquire(t.Context(), key, record.Holder{Name: "stopped", TTL: time.Minute})
		check.Must(t, err)
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		err = record.CancelRun(ctx, store, key)
		check.Is(t, err, record.ErrHeld)
		check.Is(t, err, context.DeadlineExceeded)
		check.Must(t, store.Release(t.Context(), lease))
		var ended error
		ctx, stop = context.WithTimeout(t.Context(), 2*time.Minute)
		defer stop()
		options := &agent.RecoverOptions{Logger: slog.New(slog.DiscardHandler), OnEnd: func(_ run.Key, _ *agent.Result, err error) {
			ended = err
			stop()
		}}
		_ = agent.Recover(ctx, store, []*agent.Agent{a}, options)
		check.Is(t, ended, agent.ErrCancelled)
	})
}

// A run that is to end waits, or is between two steps: who continues it ends it, and sends nothing.
func TestCancelOutlivesTheWait(t *testing.T) {
	inEveryStore(t, func(t *testing.T, store record.Store) {
		calls := 0
		a := newAgent(t, play(uses(toolCall("1", "pay", "{}")), says("done")), &agent.Options{
			Tools: []adapter.Source{paying(&calls)}, Person: agent.Person{Approve: agent.AskPerson}, Durable: agent.Durable{Store: store},
		})
		got := asks(t, a, 1, run.QuestionApproval)
		check.Must(t, store.RequestCancel(t.Context(), theRun))
		got, err := a.Resume(t.Context(), theRun, got.Questions[0].Allow())
		check.Is(t, err, agent.ErrCancelled)
		check.Same(t, "status, failure and calls", []any{got.Status, got.Failure, calls}, []any{run.StatusCancelled, agent.ErrCancelled.Error(), 0})
		key := begun(t, a, agent.WithRun("steps"))
		check.Must(t, store.RequestCancel(t.Context(), key))
		next, err := a.Advance(t.Context(), key, nil)
		check.Same(t, "advanced", []any{errors.Is(err, agent.ErrCancelled), next.Status}, []any{true, run.StatusCancelled})
	})
}

// TestUnfinishedReply cancels a run whose model writes, or the model breaks off. What it has written is the output of the run, in
// the store, too, unless a hook reads the replies. A failed run continues.
func TestUnfinishedReply(t *testing.T) {
	guard := agent.Hook{AfterModel: func(context.Context, *agent.State, *run.Message) error { return nil }}
	for name, hooks := range map[string][]agent.Hook{"Half an \ufffd": nil, "": {guard}} {
		t.Run(name, func(t *testing.T) {
			unfinishedReply(t, hooks, name)
			synctest.Test(t, func(t *testing.T) { brokenReply(t, hooks, name) })
		})
	}
}

func brokenReply(t *testing.T, hooks []agent.Hook, want string) {
	store, cut := record.NewMemory(), &model.Error{Kind: model.ErrorUnavailable, Err: errors.New("cut")}
	a := newAgent(t, play(shows("Half an \xff", breaks(cut)), says("done")).streaming(), &agent.Options{Hooks: hooks, Durable: agent.Durable{Store: store}})
	got, err := a.Run(t.Context(), human("go"), agent.WithRun(theRun.ID))
	check.Is(t, err, agent.ErrFailed)
	records := load(t, store, theRun).Records
	end := ledger.ChangeOf(records[len(records)-1]).(*ledger.Ended)
	check.Same(t, "output, and that in the store with its error", []any{got.Output, end.Output, end.ModelError, model.ErrorInvalid}, []any{want, want, 2, model.ErrorKind(8)})
	check.Must(t, record.Revive(t.Context(), store, theRun))
	again := check.Value(a.Resume(t.Context(), theRun))(t)
	check.Same(t, "the answer after the failure, and messages", []any{again.Output, len(again.Messages)}, []any{"done", 2})
}

func unfinishedReply(t *testing.T, hooks []agent.Hook, want string) {
	synctest.Test(t, func(t *testing.T) {
		store, written := record.NewMemory(), make(chan struct{})
		a := newAgent(t, play(shows("Half an \xff", hangs(written))).streaming(), &agent.Options{Hooks: hooks, Durable: agent.Durable{Store: store}})
		key := run.Key{ID: "half"}
		go func() {
			<-written
			check.Is(t, check.Err(a.Cancel(t.Context(), key)), record.ErrHeld) // it is told
		}()
		got, err := a.Run(t.Context(), human("go"), agent.WithRun(key.ID))
		kept := check.Value(agent.ResultOf(load(t, store, key).Records))(t)
		check.Is(t, err, agent.ErrCancelled)
		check.Same(t, "output, and that in the store", []string{got.Output, kept.Output}, []string{want, want})
	})
}
