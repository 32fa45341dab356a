package viewing

import (
	"context"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
)

// window is a user's window with views.
type window struct {
	key   windowKey
	queue *queue
	away  *time.Timer // runs while there is no stream

	// guarded by Service.mu
	views   int
	streams int    // open ones
	session string // the session of the latest stream
}

// addView adds a view to its window. The error is ErrTooMany if there is no room, or the service is closed.
func (s *Service) addView(key windowKey, v *view) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, own := s.windowLocked(key), 0
	for _, other := range s.views {
		if other.user() == key.user {
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
		w = &window{key: key, queue: newQueue()}
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
	w.queue.close()
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
		s.closeAll("the page is gone", func(v *view) bool { return v.window == w })
	}
}

// put adds a message to the queue of the view's window, see [queue.put].
func (v *view) put(kind string, value any) bool {
	return v.window.queue.put(talk.NewEvent(kind, value), v.host.Ended())
}

// Watch sends the queue of a window, as a stream. It returns nil when the context ends or a later stream of the window
// begins, and the error of send. It first sends the life of the queue: with another one, earlier views have ended.
func (s *Service) Watch(ctx context.Context, user, session, id string, send func([]talk.Event) error) error {
	w, stream := s.openStream(windowKey{user, id}, session)
	defer s.closeStream(w)
	q := w.queue
	if err := send([]talk.Event{talk.NewEvent("view-life", map[string]string{"life": q.life})}); err != nil {
		return err
	}
	for {
		changed := q.changed.Next()
		batch, isLatest := q.unsent(stream)
		if !isLatest {
			return nil
		}
		if len(batch) > 0 {
			if err := send(batch); err != nil {
				return err
			}
			continue
		}
		select {
		case <-changed:
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
	return w, w.queue.begin()
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

// Seen removes the messages that a window has acknowledged: those up to number n.
func (s *Service) Seen(user, id string, n uint64) {
	s.mu.Lock()
	w := s.windows[windowKey{user, id}]
	s.mu.Unlock()
	if w != nil {
		w.queue.acknowledge(n)
	}
}
