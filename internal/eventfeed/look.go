package eventfeed

import (
	"context"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
)

// mustLook reports whether a reader that has read all of memory must look in the store: this process has stopped working
// on the run, and may not have published the events of the last records.
func (r *Reader) mustLook() bool {
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	return r.live && r.stream.stopped && !r.store.caughtUp && r.feed.opts.Items != nil
}

// sleep waits until the stream changes, or until it is time to look in the store, and then looks. It does not look while
// this process works on the run, because memory has everything.
func (r *Reader) sleep(ctx context.Context, changed <-chan struct{}) error {
	var poll <-chan time.Time
	if every := r.feed.opts.Poll; every > 0 {
		timer := time.NewTimer(every<<min(r.store.idleLooks, 3) - time.Since(r.store.lastLook))
		defer timer.Stop()
		poll = timer.C
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-changed:
		r.store.idleLooks = 0
		return nil
	case <-poll:
	}
	r.feed.mu.Lock()
	isWorking := r.live && !r.stream.stopped
	r.feed.mu.Unlock()
	if isWorking {
		r.store.lastLook = time.Now()
		return nil
	}
	return r.look(ctx)
}

// lookUpTo reads the events of the store up to a position, as many as may be held: memory has those after it.
func (r *Reader) lookUpTo(ctx context.Context, floor agent.Position) error {
	r.store.lastLook, r.store.caughtUp = time.Now(), false
	complete, err := r.replay(ctx, &floor)
	if complete && err == nil {
		r.position = floor
	}
	return err
}

// look reads the events of the store to the end, as many as may be held. If the run has ended and the
// reader has all events, it gets one refresh event.
func (r *Reader) look(ctx context.Context) error {
	r.store.lastLook, r.store.caughtUp = time.Now(), false
	var head run.Head
	if r.feed.opts.Head != nil {
		var err error
		if head, err = r.feed.opts.Head(ctx, r.stream.key); err != nil {
			return err
		}
	}
	r.store.idleLooks++
	moved := r.feed.opts.Head == nil || r.store.seen != head.Seq
	if moved {
		r.store.idleLooks = 0
	}
	if moved && (head.Seq == 0 || r.position != agent.Position{Seq: head.Seq}) {
		if complete, err := r.replay(ctx, nil); err != nil || !complete {
			return err
		}
	}
	r.store.caughtUp, r.store.seen = true, head.Seq // there may be more by now
	if moved && head.Status.Ended() {
		r.ready = append(r.ready, refresh(r.stream.key))
	}
	return nil
}

// replay reads events of the store after r.position. It reports whether it has read all of them up
// to a position, or to the end if it is nil. At most maxReplays do so at a time; others wait.
func (r *Reader) replay(ctx context.Context, until *agent.Position) (complete bool, err error) {
	if err := r.feed.beginReplay(ctx); err != nil {
		return false, err
	}
	defer func() { <-r.feed.replays }()
	r.feed.mu.Lock()
	room := r.feed.roomLocked()
	r.feed.mu.Unlock()
	size := 0
	defer func() {
		r.feed.mu.Lock()
		defer r.feed.mu.Unlock()
		r.holdLocked(size)
	}()
	for i, err := range r.feed.opts.Items(ctx, r.stream.key, r.position) {
		if err != nil {
			return false, err
		}
		if until != nil && until.Before(i.At) {
			break
		}
		r.live = false
		if i.Data == nil {
			r.position = i.At
			continue
		}
		p := positionedEvent{Event{i.At.String(), i.Data}, i.At}
		r.addReady(p.Event, p.at)
		size += p.size()
		if size >= room {
			return false, nil
		}
	}
	return true, nil
}

// beginReplay waits until a reader may read the store. A context that has ended ends only the wait.
func (f *Feed) beginReplay(ctx context.Context) error {
	select {
	case f.replays <- struct{}{}:
		return nil
	default:
	}
	select {
	case f.replays <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
