package agent

import (
	"context"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// writer holds the state of a run with its sub-agents, the records that are not yet durable, and
// the events that wait for them. An event is emitted when its record is durable.
type writer struct {
	ctx     context.Context   // the run's context
	hold    *hold             // nil: nothing is stored
	observe AppendObserver    // nil: nothing is measured
	out     func(Event) error // nil: events are not wanted

	mu      sync.Mutex // guards the following fields and the state
	root    *ledger.State
	records []ledger.Entry
	size    int   // bytes of results in the records since the last cut
	cuts    []cut // in the records
	events  []Event
	spare   []Event   // an empty slice to reuse
	writing bool      // someone is writing earlier records
	wrote   sync.Cond // signals that writing is false again
	done    uint64    // number of the last record that is durable and whose events were emitted
	err     error     // why nothing more can be written
	refused bool      // the store has failed
	unsized uint64    // no snapshot is made before this record: the last one would have been too large

	durable run.Status // the run's status in the store

	polling bool        // someone asks the store for replies
	polled  time.Time   // when it was last asked
	replies []run.Reply // replies that it had then

	signIns  signIns
	warnings []*Warning // the warnings that were emitted, at most as many as a result has
	window   *WindowUse // use of the window in the last model call of the root run

	reservedCalls int           // current model calls with a reservation
	callEnded     chan struct{} // closed when one of them ends
}

func newWriter(ctx context.Context, s *ledger.State, h *hold, out func(Event) error) *writer {
	l := &writer{
		ctx:       ctx,
		hold:      h,
		out:       out,
		root:      s,
		done:      s.Seq,
		durable:   s.Status,
		callEnded: make(chan struct{}),
	}
	l.wrote.L = &l.mu
	return l
}

// cut is a place in the next records: those before it are a separate write.
type cut struct {
	at   int
	head run.Head
}

// maxCommit bounds the results of calls in one write, unless a single one is larger: stores
// bound what they write at once.
const maxCommit = 16 << 20

// add applies a change to the state, and queues its record and events.
func (l *writer) add(r ledger.Entry, events []Event) error {
	if err := ledger.Apply(l.root, r); err != nil {
		return err
	}
	if l.hold != nil {
		l.records = append(l.records, r)
		l.size += resultSize(r.Change)
		if l.size > maxCommit {
			l.cuts, l.size = append(l.cuts, cut{len(l.records), ledger.HeadOf(l.root)}), 0
		}
	}
	l.events = append(l.events, events...)
	return nil
}

// writeError returns why nothing more can be written, nil if that is possible.
func (l *writer) writeError() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// commit returns when all records are durable and their events were emitted, or with the error
// that ends all writing. Records that are added meanwhile belong to the next
// write.
func (l *writer) commit() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for target := l.root.Seq; l.err == nil && (l.done < target || len(l.events) > 0 && !l.writing); {
		if l.writing {
			l.wrote.Wait()
			continue
		}
		l.write()
	}
	if l.err == nil && !l.writing && l.hold != nil && ledger.SnapshotDue(l.root) && l.root.Seq >= l.unsized {
		l.snapshot()
	}
	return l.err
}

// maxSnapshot bounds a snapshot in bytes: stores bound what they write at once.
const maxSnapshot = 16 << 20

// snapshot records the state, so that a process that takes over the run reads only later
// records.
func (l *writer) snapshot() {
	c, err := ledger.NewSnapshot(l.root)
	if err != nil || len(c.Snapshot) > maxSnapshot {
		l.unsized = 2 * l.root.Seq // it may be smaller by then
		return
	}
	if err := l.add(ledger.Entry{Seq: l.root.Seq + 1, At: l.root.Updated, Change: c}, nil); err != nil {
		l.err = err
		return
	}
	l.write()
}

// write writes what was recorded, and emits its events, without the lock. Its error is in err.
func (l *writer) write() {
	queued, seq := l.takeRecordsLocked(), l.root.Seq
	events := l.events
	l.events, l.spare = l.spare, nil
	l.writing = true
	l.mu.Unlock()
	err := guard("the store", func() error { return l.put(queued, events) })
	clear(events)
	l.mu.Lock()
	l.spare = events[:0]
	l.writing = false
	l.done = seq
	if l.err == nil {
		l.err = err
	}
	l.wrote.Broadcast()
}

// queued are the records of one commit.
type queued struct {
	records []ledger.Entry
	cuts    []cut
	head    run.Head // after all records
}

// takeRecordsLocked returns the records that are not yet written, and leaves none.
func (l *writer) takeRecordsLocked() (q queued) {
	if len(l.records) > 0 {
		q = queued{l.records, l.cuts, ledger.HeadOf(l.root)}
	}
	l.records, l.cuts, l.size = nil, nil, 0
	return q
}

// put makes records durable, and emits their events.
func (l *writer) put(q queued, events []Event) error {
	if err := l.appendAll(q); err != nil {
		return err
	}
	for _, e := range events {
		if err := l.emit(e); err != nil {
			return err
		}
	}
	return nil
}

// emit gives an event to the caller, who may take long. If nobody wants events, it only returns why
// the run has ended, nil if it has not.
func (l *writer) emit(e Event) error {
	if l.out == nil {
		return context.Cause(l.ctx)
	}
	return l.out(e)
}

// now returns the time for the duration of an event, zero if events are not wanted, because
// calls are frequent.
func (l *writer) now() (t time.Time) {
	if l.out != nil {
		t = time.Now()
	}
	return t
}

// since returns the time that has passed since a result of now.
func (l *writer) since(t time.Time) (d time.Duration) {
	if l.out != nil {
		d = time.Since(t)
	}
	return d
}

// confirm returns an error if another process may have acquired the run. Then nothing is sent
// or written any more.
func (l *writer) confirm(ctx context.Context) error {
	if l.hold == nil {
		return nil
	}
	err := guard("the store", func() error { return l.hold.confirm(ctx) })
	if err == nil || ctx.Err() != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
	l.refused = true
	return err
}

// lastWrite bounds the writes after the end of a context: known outcomes must not become doubts.
const lastWrite = 5 * time.Second

// outlive returns a context that ends lastWrite after ctx, with its cause, or when it is cancelled.
func outlive(ctx context.Context) (context.Context, context.CancelFunc) {
	late, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(lastWrite, func() { cancel(context.Cause(ctx)) })
	})
	return late, func() {
		stop()
		cancel(nil)
	}
}

// appendAll makes records durable, in one write for each cut.
func (l *writer) appendAll(q queued) error {
	records, err := ledger.Encode(q.records...)
	if err != nil {
		return l.recordFailure(err)
	}
	done := 0
	for _, c := range q.cuts {
		if c.at < len(records) {
			if err := l.appendRecords(c.head, records[done:c.at]); err != nil {
				return err
			}
			done = c.at
		}
	}
	if done == len(records) {
		return nil
	}
	return l.appendRecords(q.head, records[done:])
}

// appendRecords makes records durable. If the context of the run has ended, or ends meanwhile, the
// store gets lastWrite for that.
func (l *writer) appendRecords(head run.Head, records []run.Record) error {
	ctx := l.ctx
	if ctx.Err() != nil {
		var cancel context.CancelFunc
		ctx, cancel = l.hold.lastContext(ctx)
		defer cancel()
	}
	began := time.Now()
	err := l.hold.append(ctx, head, records)
	if l.observe != nil {
		l.observe.Appended(ctx, time.Since(began), err)
	}
	if err != nil && ctx == l.ctx && ctx.Err() != nil { // it ended in the meantime
		return l.appendRecords(head, records)
	}
	if err != nil {
		return l.recordFailure(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.durable = head.Status
	return nil
}

// recordFailure records that the store has failed, and returns the error: save does not try again.
func (l *writer) recordFailure(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refused = true
	return err
}

// save makes the last records durable, even if nobody takes their events any more. It does nothing
// after the store has failed.
func (l *writer) save() error {
	l.mu.Lock()
	for l.writing {
		l.wrote.Wait()
	}
	queued, refused := l.takeRecordsLocked(), l.refused
	l.mu.Unlock()
	if l.hold == nil || refused {
		return nil
	}
	return guard("the store", func() error { return l.appendAll(queued) })
}

// resultSize estimates the bytes of the result in a change, 0 for other changes.
func resultSize(c ledger.Change) int {
	if o, ok := ledger.Innermost(c).(*ledger.Outcome); ok {
		return partSize(&o.Result)
	}
	return 0
}

// partSize estimates the bytes of a part.
func partSize(p *run.Part) int {
	n := len(p.Text) + len(p.Structured) + len(p.Meta) + len(p.Data)/3*4
	for i := range p.Media {
		n += partSize(&p.Media[i])
	}
	return n
}
