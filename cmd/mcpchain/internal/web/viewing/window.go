package viewing

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
)

// window is the queue for a user's window. Messages are numbered and the window acknowledges
// them, so that none is lost with a stream and none comes twice.
type window struct {
	key  windowKey
	life string // numbers restart with another life

	views int // guarded by Service.mu

	mu      sync.Mutex // guards the following fields
	changed chan struct{}
	room    chan struct{}
	last    uint64 // last number assigned
	sent    uint64 // last number sent to the latest stream
	waiting []numbered
	bytes   int
	streams int
	session string // of the latest stream
	latest  int    // number of streams so far
	away    *time.Timer
	gone    bool
}

type numbered struct {
	n    uint64
	kind string
	data json.RawMessage
}

// enter counts a view in its window.
func (s *Service) enter(key windowKey, v *view) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	w := s.windowLocked(key)
	if s.closed || w.views >= maxOfWindow || len(s.views) >= maxOfAll {
		s.dropLocked(w)
		return ErrTooMany
	}
	w.views++
	v.window = w
	s.views[v.id] = v
	return nil
}

func (s *Service) leave(v *view) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.views[v.id] == nil {
		return
	}
	delete(s.views, v.id)
	v.window.views--
	s.dropLocked(v.window)
}

func (s *Service) windowLocked(key windowKey) *window {
	w := s.windows[key]
	gone := w == nil
	if w != nil {
		gone, _, _ = w.look()
	}
	if gone {
		w = &window{key: key, life: rand.Text(), changed: make(chan struct{}, 1), room: make(chan struct{}, 1)}
		w.away = time.AfterFunc(awayFor, func() { s.lost(w) })
		s.windows[key] = w
	}
	return w
}

// dropLocked removes a window without views and streams.
func (s *Service) dropLocked(w *window) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.views == 0 && w.streams == 0 {
		w.away.Stop()
		w.gone = true
		if s.windows[w.key] == w {
			delete(s.windows, w.key)
		}
	}
}

// lost ends the views of a window whose stream has not come back.
func (s *Service) lost(w *window) {
	w.mu.Lock()
	here := w.streams > 0
	w.gone = w.gone || !here
	w.mu.Unlock()
	if !here {
		wake(w.room)
		s.closeAll("the page is gone", func(v *view) bool { return v.window == w })
	}
}

// look returns whether nothing waits for the window any more, whether it has a stream, and the session of the latest one.
func (w *window) look() (gone, read bool, session string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gone, w.streams > 0, w.session
}

func wake(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// put adds a message for the window. It waits for room unless the session has ended, and
// reports whether the message was added.
func (w *window) put(v *view, kind string, value any) bool {
	data, err := json.Marshal(value)
	if err != nil {
		return false
	}
	for {
		w.mu.Lock()
		switch {
		case w.gone:
			w.mu.Unlock()
			return false
		case len(w.waiting) < maxWaiting && w.bytes < 2*maxOutgoing || v.host.Err() != nil:
			w.last++
			w.waiting = append(w.waiting, numbered{w.last, kind, data})
			w.bytes += len(data)
			w.mu.Unlock()
			wake(w.changed)
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
// window begins. The life of the window comes first: views of another life have ended, and
// numbers restart.
func (s *Service) Watch(ctx context.Context, user, session, id string, send func([]talk.Event) error) error {
	s.mu.Lock()
	w := s.windowLocked(windowKey{user, id})
	w.mu.Lock()
	w.streams++
	w.session = session
	w.latest++
	mine := w.latest
	w.sent = 0 // the window acknowledges what it has
	w.away.Stop()
	w.mu.Unlock()
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		w.mu.Lock()
		w.streams--
		if w.streams == 0 && !w.gone {
			w.away.Reset(awayFor)
		}
		w.mu.Unlock()
		s.dropLocked(w)
	}()
	life, err := json.Marshal(map[string]string{"life": w.life})
	if err == nil {
		err = send([]talk.Event{{Type: "view-life", Data: life}})
	}
	if err != nil {
		return err
	}
	for {
		batch, latest := w.take(mine)
		if !latest {
			wake(w.changed) // which was meant for the stream after this one
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

// take returns what was not sent on a stream, if no later one has begun.
func (w *window) take(stream int) (out []talk.Event, latest bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if stream != w.latest {
		return nil, false
	}
	for _, m := range w.waiting {
		if m.n <= w.sent {
			continue
		}
		data, err := json.Marshal(struct {
			N    uint64          `json:"n"`
			Data json.RawMessage `json:"data"`
		}{m.n, m.data})
		if err != nil {
			continue
		}
		out = append(out, talk.Event{Type: m.kind, Data: data})
		w.sent = m.n
	}
	return out, true
}

// Seen removes the messages that a window has received.
func (s *Service) Seen(user, id string, n uint64) {
	s.mu.Lock()
	w := s.windows[windowKey{user, id}]
	s.mu.Unlock()
	if w == nil {
		return
	}
	w.mu.Lock()
	for len(w.waiting) > 0 && w.waiting[0].n <= n {
		w.bytes -= len(w.waiting[0].data)
		w.waiting[0] = numbered{}
		w.waiting = w.waiting[1:]
	}
	w.mu.Unlock()
	wake(w.room)
}
