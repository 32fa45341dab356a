package viewing

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
)

// window is the queue of messages for a user's window. Messages are numbered and the window acknowledges them, so that
// none is lost with a stream, and the window can drop one that it gets twice.
type window struct {
	key  windowKey
	life string // identifies the queue: numbers restart with another one

	// guarded by Service.mu
	views   int
	streams int         // open ones
	session string      // the session of the latest stream
	away    *time.Timer // runs while there is no stream

	mu           sync.Mutex    // guards the following fields; locked after Service.mu
	changed      chan struct{} // has a value if there may be more to send; room for one
	room         chan struct{} // has a value if there may be room for messages; room for one
	last         uint64        // last number assigned
	sent         uint64        // last number sent to the latest stream
	waiting      []numbered    // sent and not acknowledged, or not sent
	bytes        int           // the size of the waiting messages
	latestStream int           // number of the latest stream
	removed      bool          // nothing waits for the window any more, and the service has forgotten it
}

// numbered is a message for a window, with its number.
type numbered struct {
	talk.Event
	n uint64
}

// addView adds a view to its window. The error is ErrTooMany if there is no room, or the service is closed.
func (s *Service) addView(key windowKey, v *view) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, own := s.windowLocked(key), 0
	for _, other := range s.views {
		if other.window.key.user == key.user {
			own++
		}
	}
	if s.closed || w.views >= maxOfWindow || own >= maxOfUser || len(s.views) >= maxOfAll {
		s.removeIfUnusedLocked(w)
		return ErrTooMany
	}
	w.views++
	v.window = w
	s.views[v.id] = v
	return nil
}

// removeView removes a view that was added. It may be called again.
func (s *Service) removeView(v *view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.views[v.id] == nil {
		return
	}
	delete(s.views, v.id)
	v.window.views--
	s.removeIfUnusedLocked(v.window)
}

// windowLocked returns a window, which is new if there is none.
func (s *Service) windowLocked(key windowKey) *window {
	w := s.windows[key]
	if w == nil {
		w = &window{key: key, life: rand.Text(), changed: make(chan struct{}, 1), room: make(chan struct{}, 1)}
		w.away = time.AfterFunc(awayFor, func() { s.endIfAway(w) })
		s.windows[key] = w
	}
	return w
}

// removeIfUnusedLocked removes a window without views and streams.
func (s *Service) removeIfUnusedLocked(w *window) {
	if w.views == 0 && w.streams == 0 {
		w.away.Stop()
		s.removeLocked(w)
	}
}

// removeLocked removes a window.
func (s *Service) removeLocked(w *window) {
	w.mu.Lock()
	w.removed = true
	w.mu.Unlock()
	if s.windows[w.key] == w { // and not a later one
		delete(s.windows, w.key)
	}
}

// endIfAway removes a window and ends its views, unless the window has a stream again.
func (s *Service) endIfAway(w *window) {
	s.mu.Lock()
	isBack := w.streams > 0
	if !isBack {
		s.removeLocked(w)
	}
	s.mu.Unlock()
	if !isBack {
		wake(w.room)
		s.closeAll("the page is gone", func(v *view) bool { return v.window == w })
	}
}

// wake puts a value into a channel with room for one, unless it has one.
func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// addLocked adds a message to the queue.
func (w *window) addLocked(e talk.Event) {
	w.last++
	w.waiting = append(w.waiting, numbered{e, w.last})
	w.bytes += len(e.Data)
	wake(w.changed)
}

// offer adds an event for the window, as put does. It drops the event if the queue is half full,
// because nobody waits for it.
func (w *window) offer(e talk.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.removed || len(w.waiting) >= maxWaiting/2 || w.bytes >= maxOutgoing {
		return
	}
	w.addLocked(e)
}

// put adds a message for the window. It waits for room unless the session has ended, and reports whether the message
// was added: not if the window was removed.
func (w *window) put(v *view, kind string, value any) bool {
	event := talk.NewEvent(kind, value)
	for {
		w.mu.Lock()
		switch {
		case w.removed:
			w.mu.Unlock()
			return false
		case len(w.waiting) < maxWaiting && w.bytes < 2*maxOutgoing || v.host.Err() != nil:
			w.addLocked(event)
			w.mu.Unlock()
			wake(w.room) // another view may wait, and there may be room for more
			return true
		}
		w.mu.Unlock()
		select {
		case <-w.room:
		case <-v.host.Ended():
		}
	}
}

// Watch sends the queue of a window until the context ends, send fails or a later stream of the
// window begins: only the second is an error. The life of the window comes first: views of another
// life have ended, and numbers restart.
func (s *Service) Watch(ctx context.Context, user, session, id string, send func([]talk.Event) error) error {
	w, stream := s.openStream(windowKey{user, id}, session)
	defer s.closeStream(w)
	if err := send([]talk.Event{talk.NewEvent("view-life", map[string]string{"life": w.life})}); err != nil {
		return err
	}
	for {
		batch, isLatest := w.unsent(stream)
		if !isLatest {
			wake(w.changed) // passes the value on to the later stream
			return nil
		}
		if len(batch) > 0 {
			if err := send(batch); err != nil {
				return err
			}
			continue
		}
		select {
		case <-w.changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// openStream begins a stream of a window, and returns its number.
func (s *Service) openStream(key windowKey, session string) (w *window, stream int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w = s.windowLocked(key)
	w.streams++
	w.session = session
	w.away.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.latestStream++
	w.sent = 0 // sends again what the window has not acknowledged
	return w, w.latestStream
}

// closeStream ends a stream of a window. If it was the only one, the window is removed unless another stream begins
// within awayFor.
func (s *Service) closeStream(w *window) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w.streams--; w.streams == 0 {
		w.away.Reset(awayFor)
	}
	s.removeIfUnusedLocked(w)
}

// unsent returns the messages that were not sent on a stream, if it is the latest one. They then count as sent.
func (w *window) unsent(stream int) (out []talk.Event, isLatest bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if stream != w.latestStream {
		return nil, false
	}
	for _, m := range w.waiting {
		if m.n <= w.sent {
			continue
		}
		out = append(out, talk.NewEvent(m.Type, struct {
			N    uint64          `json:"n"`
			Data json.RawMessage `json:"data"`
		}{m.n, m.Data}))
		w.sent = m.n
	}
	return out, true
}

// Seen removes the messages that a window has acknowledged: those up to number n.
func (s *Service) Seen(user, id string, n uint64) {
	s.mu.Lock()
	w := s.windows[windowKey{user, id}]
	s.mu.Unlock()
	if w == nil {
		return
	}
	w.mu.Lock()
	for len(w.waiting) > 0 && w.waiting[0].n <= n {
		w.bytes -= len(w.waiting[0].Data)
		w.waiting[0] = numbered{}
		w.waiting = w.waiting[1:]
	}
	w.mu.Unlock()
	wake(w.room)
}
