package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/guard"
)

// engine is one run in one process: what it is made of, its state, and where its records and
// events go. The engine of a sub-agent shares the ledger of the run that it works for.
type engine struct {
	agent   *recipe
	ctx     context.Context // ends with the run
	ledger  *ledger
	workers *workers
	state   *run.State // shared with the ledger

	parent *engine // nil at the root
	call   string  // of the parent's, on which a sub-agent works
	path   []string

	catalog *adapter.Catalog // what the model was offered; nil: in another process
	visits  visits           // of handlers

	mu   sync.Mutex      // guards the fields below
	lost map[string]bool // servers, see noteLost
}

var (
	errStopped = errors.New("the caller left the run")
	errGoexit  = errors.New("a callback ended the goroutine of the run")
	errOver    = errors.New("the run is over")
)

func newEngine(ctx context.Context, a *recipe, l *ledger) *engine {
	e := &engine{agent: a, ctx: ctx, ledger: l, workers: newWorkers(), state: l.root}
	e.visits.ctx, e.visits.cancel = context.WithCancelCause(ctx)
	return e
}

// record applies changes to the run. The events come out once all are durable.
func (e *engine) record(events []Event, changes ...run.Change) error {
	e.ledger.mu.Lock()
	defer e.ledger.mu.Unlock()
	return e.recordLocked(events, changes...)
}

func (e *engine) recordLocked(events []Event, changes ...run.Change) error {
	now := time.Now().UTC().Truncate(time.Millisecond)
	if began := e.ledger.root.Created; now.Before(began) {
		now = began
	}
	for i, c := range changes {
		var with []Event
		switch rest := len(changes) - i; { // the last events come with the last changes, one each
		case rest == 1:
			with = e.stamp(now, events)
		case rest <= len(events):
			with, events = e.stamp(now, events[:1]), events[1:]
		}
		if err := e.ledger.add(e.lift(c, now), with); err != nil {
			return fmt.Errorf("the run's records do not fit its state: %w", err)
		}
	}
	return nil
}

// endTurn brings the results of the calls into the history.
func (e *engine) endTurn() error {
	e.ledger.mu.Lock()
	defer e.ledger.mu.Unlock()
	end := &TurnEnd{Turn: e.state.Turn}
	if err := e.recordLocked([]Event{end}, &run.TurnEnded{}); err != nil {
		return err
	}
	end.Messages = slices.Clip(e.state.History[len(e.state.History)-2:])
	return nil
}

// lift makes a change of this run one of the root.
func (e *engine) lift(c run.Change, now time.Time) run.Record {
	r := run.Record{Seq: e.state.Seq + 1, At: now, Change: c}
	if e.parent == nil {
		return r
	}
	return e.parent.lift(&run.Nested{Call: e.call, Record: r}, now)
}

// stamp says of events where and when they happen. They have the number of the record
// that they come with.
func (e *engine) stamp(now time.Time, events []Event) []Event {
	for i, event := range events {
		*event.meta() = Meta{Run: e.ledger.root.ID, Seq: e.ledger.root.Seq + 1, More: len(events) - 1 - i, Time: now, Path: e.path}
	}
	return events
}

// of is an event that a caller wants, and none if events are not wanted: calls are many.
func (e *engine) of(event func() Event) []Event {
	if e.ledger.out == nil {
		return nil
	}
	return []Event{event()}
}

// show shows an event that no record has: it comes out at once, and is not replayed. Its
// position is known to whoever gives it to the caller.
func (e *engine) show(event Event) bool {
	e.ledger.mu.Lock()
	*event.meta() = Meta{Run: e.ledger.root.ID, Time: time.Now(), Path: e.path}
	if w, ok := event.(*Warning); ok {
		e.ledger.warnings = warn(e.ledger.warnings, w)
	}
	e.ledger.mu.Unlock()
	return e.ledger.tell(event) == nil
}

// commit returns when all that was recorded is durable.
func (e *engine) commit() error {
	if err := e.ledger.commit(); err != nil {
		if e.ctx.Err() != nil {
			return e.ended()
		}
		return fmt.Errorf("keep the run: %w", err)
	}
	return nil
}

// commitGiven is commit if the journal keeps answers only with the next records: what works before
// the next commit, such as a hook or a model, may take long.
func (e *engine) commitGiven() error {
	if h, ok := e.ledger.journal.(*hold); ok && len(h.given()) > 0 {
		return e.commit()
	}
	return nil
}

// read calls f while the state does not change.
func (e *engine) read(f func(s *run.State)) {
	e.ledger.mu.Lock()
	defer e.ledger.mu.Unlock()
	f(e.state)
}

// ended is the error of a run whose context has ended.
func (e *engine) ended() error {
	err, cause := e.ctx.Err(), context.Cause(e.ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// PanicError says that a callback, a hook, the model or the store panicked: What did, with which
// Value, and the Stack of the panic. The text of the error leaves the stack out.
type PanicError = guard.PanicError

// guarded calls f. A panic becomes a [*PanicError].
func guarded(what string, f func() error) error { return guard.Run(what, f) }
