package agent

import (
	"fmt"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// recorder records the changes of a run and the events that come with them. The run of a
// sub-agent is recorded in its parent's: their recorders share a writer.
type recorder struct {
	writer   *writer
	state    *ledger.State // the writer's root or a part of it, guarded by the writer's lock
	endError func() error  // why the run has ended in this process, nil if it has not

	parent *recorder // recorder of the run that a sub-agent works for, nil at the root
	call   string    // id of the parent's call on which the sub-agent works
	path   []string  // names of the sub-agents, outermost first
}

// child returns the recorder of the named sub-agent that works on a call.
func (r *recorder) child(call, name string) *recorder {
	path := append(slices.Clip(r.path), name)
	child := &recorder{writer: r.writer, endError: r.endError, parent: r, call: call, path: path}
	child.findState()
	return child
}

// findState finds the state of the run within the parent's.
func (r *recorder) findState() {
	r.parent.read(func(s *ledger.State) { r.state = s.Call(r.call).Child })
}

// record applies changes to the run. The events are emitted when all changes are durable. Each of the
// last changes has one of the events, in order; further events belong to the last change. An error
// means that a change contradicts the state: the changes before it stay.
func (r *recorder) record(events []Event, changes ...ledger.Change) error {
	r.writer.mu.Lock()
	defer r.writer.mu.Unlock()
	return r.recordLocked(events, changes...)
}

// recordLocked is record for a caller that holds the writer's lock.
func (r *recorder) recordLocked(events []Event, changes ...ledger.Change) error {
	now := time.Now().UTC().Truncate(time.Millisecond)
	if began := r.writer.root.Created; now.Before(began) {
		now = began
	}
	for i, c := range changes {
		var with []Event
		switch rest := len(changes) - i; { // the last events belong to the last changes, one each
		case rest == 1:
			with = r.stamp(now, events)
		case rest <= len(events):
			with, events = r.stamp(now, events[:1]), events[1:]
		}
		if err := r.writer.addLocked(r.rootEntry(c, now), with); err != nil {
			return fmt.Errorf("records do not fit the state of the run: %w", err)
		}
	}
	return nil
}

// rootEntry converts a change of this run to one of the root.
func (r *recorder) rootEntry(c ledger.Change, now time.Time) ledger.Entry {
	rec := ledger.Entry{Seq: r.state.Seq + 1, At: now, Change: c}
	if r.parent == nil {
		return rec
	}
	return r.parent.rootEntry(&ledger.Nested{Call: r.call, Record: rec}, now)
}

// stamp sets the time and place of events. They get the number of the record that they come
// with.
func (r *recorder) stamp(now time.Time, events []Event) []Event {
	for i, event := range events {
		*event.meta() = EventInfo{
			Run:  r.writer.root.ID,
			Seq:  r.writer.root.Seq + 1,
			More: len(events) - 1 - i,
			Time: now,
			Path: r.path,
		}
	}
	return events
}

// ifWanted makes an event if the caller wants events. Otherwise it returns none, and costs nothing:
// calls are frequent.
func (r *recorder) ifWanted(event func() Event) []Event {
	if r.writer.out == nil {
		return nil
	}
	return []Event{event()}
}

// show emits an event that has no record: it is emitted immediately and is not replayed. Whoever
// hands it to the caller sets its position. It reports whether the run continues.
func (r *recorder) show(event Event) bool {
	r.writer.mu.Lock()
	*event.meta() = EventInfo{Run: r.writer.root.ID, Time: time.Now(), Path: r.path}
	if w, ok := event.(*Warning); ok {
		r.writer.warnings = appendWarning(r.writer.warnings, w)
	}
	r.writer.mu.Unlock()
	return r.writer.emit(event) == nil
}

// awaitCaller returns when the caller has handled the events that were emitted: what asks a person must not overtake them.
// The error says why the run has ended in this process.
func (r *recorder) awaitCaller() error {
	if r.writer.emit(nil) != nil {
		return r.endError()
	}
	return nil
}

// commit returns when everything that was recorded is durable. The error says why the run has ended
// in this process, or why the store or the state failed.
func (r *recorder) commit() error {
	err := r.writer.commit()
	if err == nil {
		return nil
	}
	if ended := r.endError(); ended != nil {
		return ended
	}
	return fmt.Errorf("keep the run: %w", err)
}

// read calls f while the state does not change.
func (r *recorder) read(f func(s *ledger.State)) {
	r.writer.mu.Lock()
	defer r.writer.mu.Unlock()
	f(r.state)
}

// question returns an open question of the run, nil if it is closed.
func (r *recorder) question(id string) (q *run.Question) {
	r.read(func(s *ledger.State) { q = s.Question(id) })
	return q
}

// stopAnswer returns the answer with which a call of the turn ends the run, or nil.
func (r *recorder) stopAnswer() (answer *string) {
	r.read(func(s *ledger.State) {
		for _, c := range s.Calls {
			if c.Stop != nil {
				answer = c.Stop
				return
			}
		}
	})
	return answer
}

// endTurn moves the results of the calls into the history.
func (r *recorder) endTurn() error {
	r.writer.mu.Lock()
	defer r.writer.mu.Unlock()
	end := &TurnEnd{}
	if err := r.recordLocked([]Event{end}, &ledger.TurnEnded{}); err != nil {
		return err
	}
	end.Messages = slices.Clip(r.state.History[len(r.state.History)-2:])
	return nil
}

// callsBefore counts the calls before this one, since the last input.
func (r *recorder) callsBefore(c *ledger.Call) (n int) {
	r.read(func(s *ledger.State) {
		n = s.Spent.Calls - s.Before.Calls
		n += slices.IndexFunc(s.Calls, func(other *ledger.Call) bool { return other.ID == c.ID })
	})
	return n
}

// pending returns copies of the turn's calls for which want is true. They do not change with the
// state.
func (r *recorder) pending(want func(*ledger.Call) bool) (calls []*ledger.Call) {
	r.read(func(s *ledger.State) {
		n := 0
		for _, c := range s.Calls {
			if want(c) {
				n++
			}
		}
		copies := make([]ledger.Call, 0, n)
		calls = make([]*ledger.Call, 0, n)
		for _, c := range s.Calls {
			if want(c) {
				copies = append(copies, *c)
				calls = append(calls, &copies[len(copies)-1])
			}
		}
	})
	return calls
}
