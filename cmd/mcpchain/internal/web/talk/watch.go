package talk

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/feed"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/prose"
	"github.com/mcpchain/mcpchain/hosttext"
)

const (
	// pace is the shortest time between two updates of a window.
	pace = 60 * time.Millisecond

	// beat is how long a window gets nothing before it gets an empty batch.
	beat = 15 * time.Second
)

// now is the transient state of a conversation.
type now struct {
	Working  bool                       `json:"working"`
	From     int                        `json:"from"`   // number of blocks of the draft to keep
	Blocks   []([]prose.Node)           `json:"blocks"` // complete blocks that follow
	Open     []prose.Node               `json:"open"`   // the block that is being written
	Progress map[string]json.RawMessage `json:"progress,omitempty"`
	Taken    []string                   `json:"taken,omitempty"` // questions with answers that the run has not read
	Spent    spent                      `json:"spent"`
}

// filled says what fills the window of the model.
type filled struct {
	Size      int64  `json:"size,omitempty"`
	Input     int64  `json:"input"`
	Cached    int64  `json:"cached,omitempty"`
	Estimated bool   `json:"estimated,omitempty"`
	Parts     []part `json:"parts"`
}

type part struct {
	What   string `json:"what"`
	Tokens int64  `json:"tokens"`
}

// filledBy converts a WindowUse for people.
func filledBy(u *agent.WindowUse) *filled {
	f := &filled{Size: u.Size, Input: u.Input, Cached: u.Cached, Estimated: u.Estimated, Parts: []part{{"instructions", u.Instructions}}}
	for _, s := range u.Servers {
		f.Parts = append(f.Parts, part{"tools of " + hosttext.Line(s.Server, 100), s.Tokens})
	}
	f.Parts = append(f.Parts, part{"messages", u.History}, part{"results of tools", u.Results})
	return f
}

// spent is the usage of a conversation.
type spent struct {
	Input  int64            `json:"input"` // tokens
	Output int64            `json:"output"`
	Cost   map[string]int64 `json:"cost,omitempty"` // micro-units by currency
}

// window is a user's window on a conversation, with what it has already.
type window struct {
	topic      *topic
	reader     *feed.Reader
	generation int
	blocks     int
	last       string // of now
	filled     *filled
}

// Watch sends the events of a conversation after a position, and the list of the user's
// conversations, until the context ends or send fails. Without an id it sends only the list.
func (s *Service) Watch(ctx context.Context, user, id string, after agent.Position, send func([]Event) error) error {
	var w *window // nil: only the list
	if id != "" {
		var err error
		if w, err = s.openWindow(ctx, run.Key{Tenant: user, ID: id}, after); err != nil {
			return err
		}
		defer s.closeWindow(w)
	}
	list := s.list(user)
	defer s.forget(user)
	alive := time.NewTicker(beat)
	defer alive.Stop()
	for listIsStale := true; ; {
		listed := list.next()
		var moved <-chan struct{}
		var batch []Event
		if w != nil {
			moved = w.topic.changed.next()
			var err error
			if batch, err = w.read(ctx); err != nil {
				return err
			}
		}
		if listIsStale {
			overview, err := s.overview(ctx, user)
			if err != nil {
				return err
			}
			batch = append(batch, overview...)
		}
		if len(batch) > 0 {
			if err := send(batch); err != nil {
				return err
			}
		}
		select {
		case <-moved:
		case <-listed:
		case <-alive.C:
			if err := send(nil); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
		if err := sleep(ctx, pace); err != nil {
			return nil
		}
		listIsStale = isClosed(listed)
	}
}

// openWindow opens a window of a conversation, which has the events up to a position.
func (s *Service) openWindow(ctx context.Context, key run.Key, after agent.Position) (*window, error) {
	t, err := s.acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	reader, err := s.feed.Read(ctx, key, after)
	if err != nil {
		s.release(t)
		return nil, goneError(err)
	}
	t.show(1)
	return &window{topic: t, reader: reader}, nil
}

func (s *Service) closeWindow(w *window) {
	w.topic.show(-1)
	w.reader.Close()
	s.release(w.topic)
}

// overview returns the events on what windows show beside a conversation.
func (s *Service) overview(ctx context.Context, user string) ([]Event, error) {
	heads, err := s.List(ctx, user)
	if err != nil {
		return nil, err
	}
	events := []Event{momentary("list", heads)}
	if s.o.Shared != nil {
		events = append(events, momentary("shared", s.o.Shared()))
	}
	if s.o.Rules != nil {
		events = append(events, momentary("rules", s.o.Rules.Of(user)))
	}
	if s.o.Personal != nil {
		events = append(events, momentary("servers", s.o.Personal.Status(user)))
	}
	return events, nil
}

// isClosed reports whether a channel that carries no values is closed.
func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// read returns the events that the window lacks.
func (w *window) read(ctx context.Context) (out []Event, err error) {
	for {
		events, err := w.reader.Ready(ctx)
		if err != nil {
			return nil, err
		}
		if len(events) == 0 {
			break
		}
		for _, e := range events {
			if e.ID != "" { // otherwise it was slow, and gets what it missed from the store
				out = append(out, eventOf(e))
			}
		}
	}
	if f := w.topic.filled(); f != w.filled {
		w.filled = f
		out = append(out, momentary("window", f))
	}
	e := w.topic.now(w)
	if string(e.Data) != w.last {
		w.last = string(e.Data)
		out = append(out, e)
	}
	return out, nil
}

func (t *topic) filled() *filled {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.window
}

// now returns the transient state that a window lacks.
func (t *topic) now(w *window) Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.generation != t.generation {
		w.generation, w.blocks = t.generation, 0
	}
	n := now{Working: t.working, From: w.blocks, Blocks: t.draft.Blocks[w.blocks:], Open: t.draft.Open(), Progress: t.progress, Taken: slices.Sorted(maps.Keys(t.given))}
	n.Spent = spent{t.spent.Input, t.spent.Output, t.spent.Cost}
	w.blocks = len(t.draft.Blocks)
	return momentary("now", n)
}

// show counts the windows that show the conversation: n is 1 for another one, and -1 for one that is closed.
func (t *topic) show(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.windows += n
	t.changed.fire()
}

// momentary returns an event without a position.
func momentary(kind string, view any) Event { return Event{Type: kind, Data: encode(view)} }

// encode returns a view as JSON, null if it has none, which would be a mistake of this package.
func encode(view any) []byte {
	data, err := json.Marshal(view)
	if err != nil {
		return []byte("null")
	}
	return data
}
