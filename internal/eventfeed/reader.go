package eventfeed

import (
	"context"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
)

// Reader reads the events of a run. It is for one goroutine. A live reader reads from memory, which has
// all events after the last one that it has read. The others look in the store.
type Reader struct {
	feed   *Feed
	stream *stream
	closed bool

	position agent.Position // of the last event that has a record
	live     bool           // it reads from memory
	next     uint64         // number of the next event in memory, if live
	store    looks

	ready []Event // read but not yet returned
	held  int     // the part of Feed.held for ready
}

// looks are a reader's looks in the store.
type looks struct {
	lastLook  time.Time
	caughtUp  bool   // the last look found nothing after the reader's position, and there was no hint since
	seen      uint64 // number of records at the last look, if all their events were read
	idleLooks int    // number of looks since the run last changed
	hints     int    // the value of stream.hints that was last acted on
}

// Read returns a reader of the events after a position, which the caller must close. The zero position is the beginning.
// With a store, the error says whether the run or the position does not exist.
func (f *Feed) Read(ctx context.Context, key run.Key, after agent.Position) (*Reader, error) {
	f.mu.Lock()
	if f.readers >= f.opts.Readers {
		f.mu.Unlock()
		return nil, ErrTooManyReaders
	}
	f.readers++
	r := &Reader{feed: f, stream: f.streamLocked(key), position: after, store: looks{lastLook: time.Now()}}
	r.stream.readers++
	beyond := r.stream.known && r.stream.last.Before(after) && f.opts.Items != nil
	f.mu.Unlock()
	var err error
	if beyond { // only the store knows whether there is such a position
		err = r.look(ctx)
	}
	if err == nil {
		err = r.fill(ctx)
	}
	if err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// Close releases the reader. It may be called more than once.
func (r *Reader) Close() {
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	if r.closed {
		return
	}
	r.closed = true
	r.releaseLocked()
	r.feed.readers--
	r.stream.readers--
	r.feed.forgetLocked(r.stream)
}

// Next waits for the next event. If the context ends first, it returns the error of the context;
// another error is from the store, and the reader may be asked again.
func (r *Reader) Next(ctx context.Context) (Event, error) {
	for len(r.ready) == 0 {
		changed := r.changed()
		if err := r.fill(ctx); err != nil {
			return Event{}, err
		}
		if len(r.ready) == 0 && r.mustLook() {
			if err := r.look(ctx); err != nil {
				return Event{}, err
			}
		}
		if len(r.ready) > 0 {
			break
		}
		if err := r.sleep(ctx, changed); err != nil {
			return Event{}, err
		}
	}
	e := r.ready[0]
	r.ready = r.ready[1:]
	return e, nil
}

// Ready returns events that are available now, not necessarily all; without any, it returns none and does not wait.
func (r *Reader) Ready(ctx context.Context) ([]Event, error) {
	if len(r.ready) == 0 {
		r.changed()
		if err := r.fill(ctx); err != nil {
			return nil, err
		}
	}
	ready := r.ready
	r.ready = nil
	return ready, nil
}

// changed returns a channel that is closed at the next change of the stream. It is called when all events that were read
// have been returned, and releases their memory.
func (r *Reader) changed() <-chan struct{} {
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	r.releaseLocked()
	return r.stream.changeLocked()
}

// holdLocked counts bytes of events that are ready as held.
func (r *Reader) holdLocked(size int) {
	r.held += size
	r.feed.held += size
}

// releaseLocked drops the events that are ready, and no longer counts them as held.
func (r *Reader) releaseLocked() {
	r.feed.held -= r.held
	r.held, r.ready = 0, nil
}

// minRoom is how many bytes a reader may always read at a time.
const minRoom = 16 << 10

// roomLocked returns how many bytes a reader may read at a time.
func (f *Feed) roomLocked() int {
	return min(f.opts.RunBytes, max(f.opts.TotalBytes-f.held, minRoom))
}

// fill makes the available events ready, as many as may be held: from memory or, if they are older,
// from the store. It does not wait for new ones.
func (r *Reader) fill(ctx context.Context) error {
	for {
		floor, known := r.readMemory()
		if len(r.ready) > 0 || r.live || r.store.caughtUp && !known {
			return nil
		}
		if r.feed.opts.Items == nil {
			r.skip(floor, known)
			continue
		}
		var err error
		if known {
			err = r.lookUpTo(ctx, floor)
		} else {
			err = r.look(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// readMemory makes events in memory ready, as many as may be held, if the reader is live. If known is true, memory has all
// events after floor.
func (r *Reader) readMemory() (floor agent.Position, known bool) {
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	s := r.stream
	if r.store.hints != s.hints {
		r.store.hints, r.store.caughtUp, r.store.idleLooks = s.hints, false, 0
	}
	if r.live && r.next < s.first { // the reader is too slow, or another process worked on the run
		r.live, r.store.caughtUp = false, false
		r.ready = append(r.ready, refresh(s.key))
		return s.floor, s.known
	}
	if !r.live && s.known && !r.position.Before(s.floor) {
		r.live, r.next = true, s.first
	}
	if !r.live {
		return s.floor, s.known
	}
	room, size := r.feed.roomLocked(), 0
	for _, e := range s.events[r.next-s.first:] {
		if size >= room {
			break
		}
		r.next++
		if e.isAfter(r.position) { // otherwise the store has already returned it
			r.addReady(e.Event, e.at)
			size += e.size()
		}
	}
	r.holdLocked(size)
	return s.floor, s.known
}

// isAfter reports whether an event is new to a reader that has read up to a position.
func (e *positionedEvent) isAfter(at agent.Position) bool {
	return at.Before(e.at) || e.ID == "" && e.at == at
}

func (r *Reader) addReady(e Event, at agent.Position) {
	r.ready = append(r.ready, e)
	if e.ID != "" {
		r.position = at
	}
}

// skip passes over events that are lost: they are not in memory, and there is no store. If there were
// any, the reader gets a refresh event.
func (r *Reader) skip(floor agent.Position, known bool) {
	r.store.caughtUp = !known
	if known {
		r.position = floor
		r.ready = append(r.ready, refresh(r.stream.key))
	}
}
