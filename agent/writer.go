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
	ctx      context.Context   // the run's context
	hold     *hold             // nil: nothing is stored
	observer Observer          // nil: nothing is measured
	out      func(Event) error // nil: events are not wanted
	replies  storedReplies
	signIns  signIns

	mu      sync.Mutex // guards the following fields and the state
	root    *ledger.State
	batches []batch // the records that are not yet written
	events  []Event
	spare   []Event    // an empty slice to reuse
	writing bool       // a goroutine is writing earlier records
	wrote   sync.Cond  // signals that writing is false again
	done    uint64     // number of the last record that is durable and whose events were emitted
	err     error      // why nothing more can be committed
	refused bool       // the store did not take records: save writes nothing
	retryAt uint64     // the record from which a snapshot is made again, after one was too large
	durable run.Status // status of the run in the store

	warnings []*Warning // those that were emitted, at most as many as a result has

	reservedCalls int           // current model calls with a reservation
	callEnded     chan struct{} // closed when one of them ends
}

func newWriter(ctx context.Context, s *ledger.State, h *hold, out func(Event) error) *writer {
	w := &writer{
		ctx:       ctx,
		hold:      h,
		out:       out,
		replies:   storedReplies{hold: h},
		root:      s,
		done:      s.Seq,
		durable:   s.Status,
		callEnded: make(chan struct{}),
	}
	w.wrote.L = &w.mu
	return w
}

// addLocked applies a change to the state, and queues its record and events.
func (w *writer) addLocked(r ledger.Entry, events []Event) error {
	if err := ledger.Apply(w.root, r); err != nil {
		return err
	}
	w.events = append(w.events, events...)
	if w.hold == nil {
		return nil
	}
	if n := len(w.batches); n == 0 || w.batches[n-1].size > maxCommit {
		w.batches = append(w.batches, batch{})
	}
	last := &w.batches[len(w.batches)-1]
	last.records = append(last.records, r)
	if o, ok := ledger.Innermost(r.Change).(*ledger.Outcome); ok {
		last.size += partSize(&o.Result)
	}
	if last.size > maxCommit {
		last.head = ledger.HeadOf(w.root)
	}
	return nil
}

// batch is the records of one write.
type batch struct {
	records []ledger.Entry
	size    int      // bytes of the results in them
	head    run.Head // after them
}

// maxCommit is how many bytes of results make a write, which then has no further records: stores bound what they write
// at once.
const maxCommit = 16 << 20

// commit returns when all records are durable and their events were emitted, or with the error that
// ends all commits. Records that are added meanwhile belong to the next write. A snapshot that is due
// is written, too.
func (w *writer) commit() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for target := w.root.Seq; w.err == nil && !w.isDoneLocked(target); {
		if w.writing {
			w.wrote.Wait()
			continue
		}
		w.writeLocked()
	}
	mayWrite := w.err == nil && w.hold != nil && !w.writing
	if mayWrite && w.root.Seq >= w.retryAt && ledger.SnapshotDue(w.root) {
		w.snapshotLocked()
	}
	return w.err
}

// isDoneLocked reports whether a record is durable and nothing waits to be emitted. Another goroutine that
// is writing emits the events behind the record.
func (w *writer) isDoneLocked(seq uint64) bool {
	return w.done >= seq && (w.writing || len(w.events) == 0)
}

// writeLocked writes what was recorded, and emits its events. Meanwhile it unlocks the writer. It sets
// w.err if that fails.
func (w *writer) writeLocked() {
	queued := w.takeBatchesLocked()
	seq := w.root.Seq
	events := w.events
	w.events, w.spare = w.spare, nil
	w.writing = true
	w.mu.Unlock()
	err := guard("the store", func() error {
		if err := w.appendAll(w.ctx, queued); err != nil {
			return err
		}
		for _, e := range events {
			if err := w.emit(e); err != nil {
				return err
			}
		}
		return nil
	})
	clear(events)
	w.mu.Lock()
	w.spare = events[:0]
	w.writing = false
	w.done = seq
	if w.err == nil {
		w.err = err
	}
	w.wrote.Broadcast()
}

// takeBatchesLocked returns the records that are not yet written, and leaves none.
func (w *writer) takeBatchesLocked() []batch {
	all := w.batches
	w.batches = nil
	if n := len(all); n > 0 {
		all[n-1].head = ledger.HeadOf(w.root)
	}
	return all
}

// appendAll makes records durable, see appendRecords.
func (w *writer) appendAll(ctx context.Context, batches []batch) error {
	for _, b := range batches {
		records, err := ledger.Encode(b.records...)
		if err != nil {
			return w.markRefused(err)
		}
		if err := w.appendRecords(ctx, b.head, records); err != nil {
			return err
		}
	}
	return nil
}

// appendRecords makes records durable. If ctx is the context of the run and has ended, or ends meanwhile, the
// store gets lastWrite for that.
func (w *writer) appendRecords(ctx context.Context, head run.Head, records []run.Record) error {
	late := ctx
	if ctx == w.ctx && ctx.Err() != nil {
		var cancel context.CancelFunc
		late, cancel = w.hold.lastContext(ctx)
		defer cancel()
	}
	began := time.Now()
	err := w.hold.append(late, head, records)
	if w.observer != nil {
		w.observer.Appended(late, time.Since(began), err)
	}
	if err != nil && late == w.ctx && late.Err() != nil { // it ended in the meantime
		return w.appendRecords(ctx, head, records)
	}
	if err != nil {
		return w.markRefused(err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.durable = head.Status
	return nil
}

// markRefused prevents another attempt of save, and returns the error.
func (w *writer) markRefused(err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refused = true
	return err
}

// emit gives an event to the caller, who may take long. If nobody wants events, it only returns why
// the run has ended, nil if it has not.
func (w *writer) emit(e Event) error {
	if w.out == nil {
		return context.Cause(w.ctx)
	}
	return w.out(e)
}

// snapshotLocked records and writes the state, so that a process that takes over the run reads only
// later records. Meanwhile it unlocks the writer.
func (w *writer) snapshotLocked() {
	c, err := ledger.NewSnapshot(w.root)
	if err != nil || len(c.Snapshot) > maxSnapshot {
		w.retryAt = 2 * w.root.Seq // it may be smaller by then
		return
	}
	if err := w.addLocked(ledger.Entry{Seq: w.root.Seq + 1, At: w.root.Updated, Change: c}, nil); err != nil {
		w.err = err
		return
	}
	w.writeLocked()
}

// maxSnapshot bounds a snapshot in bytes: stores bound what they write at once.
const maxSnapshot = 16 << 20

// save makes the last records durable, even if nobody takes their events any more, or the lease could not be
// confirmed: then it takes at most lastWrite. It does nothing after the store has failed.
func (w *writer) save() error {
	w.mu.Lock()
	for w.writing {
		w.wrote.Wait()
	}
	last := w.takeBatchesLocked()
	err, refused := w.err, w.refused
	w.mu.Unlock()
	if w.hold == nil || refused {
		return nil
	}
	ctx := w.ctx
	if err != nil && ctx.Err() == nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, lastWrite)
		defer cancel()
	}
	return guard("the store", func() error { return w.appendAll(ctx, last) })
}

// confirm returns an error if another process may have acquired the run. Then nothing is sent any more, and only
// save writes: the store refuses its records if another process has the run.
func (w *writer) confirm(ctx context.Context) error {
	if w.hold == nil {
		return nil
	}
	err := guard("the store", func() error { return w.hold.confirm(ctx) })
	if err == nil || ctx.Err() != nil {
		return err // the end of the caller's context says nothing about the lease
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		w.err = err
	}
	return err
}

// writeError returns why nothing more can be committed, or nil.
func (w *writer) writeError() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
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

// partSize estimates the bytes of a part.
func partSize(p *run.Part) int {
	n := len(p.Text) + len(p.Structured) + len(p.Meta) + len(p.Data)/3*4 // data is base64 in JSON
	for i := range p.Media {
		n += partSize(&p.Media[i])
	}
	return n
}
