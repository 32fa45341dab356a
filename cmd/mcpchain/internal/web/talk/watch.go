package talk

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/prose"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/eventfeed"
)

const (
	// pace is the shortest time between two updates of a window.
	pace = 60 * time.Millisecond

	// beat is how long a window gets nothing before it gets an empty batch.
	beat = 15 * time.Second
)

// live is the state of a conversation without a record, as a window gets it.
type live struct {
	Working  bool                       `json:"working"`
	From     int                        `json:"from"`   // number of blocks of the draft to keep
	Blocks   []([]prose.Node)           `json:"blocks"` // complete blocks that follow
	Open     []prose.Node               `json:"open"`   // the block that is being written
	Progress map[string]json.RawMessage `json:"progress,omitempty"`
	Taken    []string                   `json:"taken,omitempty"` // questions with answers that the run has not read
	Spent    spent                      `json:"spent"`
}

// windowUse describes what fills the window of the model, in tokens.
type windowUse struct {
	Size      int64  `json:"size,omitempty"` // 0: unknown
	Input     int64  `json:"input"`
	Cached    int64  `json:"cached,omitempty"`
	Estimated bool   `json:"estimated,omitempty"`
	Parts     []part `json:"parts"`
}

// part is a part of the window of the model.
type part struct {
	What   string `json:"what"`
	Tokens int64  `json:"tokens"`
}

// windowUseOf converts a WindowUse for people.
func windowUseOf(u *agent.WindowUse) *windowUse {
	out := &windowUse{
		Size:      u.Size,
		Input:     u.Input,
		Cached:    u.Cached,
		Estimated: u.Estimated,
		Parts:     []part{{"instructions", u.Instructions}},
	}
	for _, s := range u.Servers {
		out.Parts = append(out.Parts, part{"tools of " + hosttext.Line(s.Server, 100), s.Tokens})
	}
	out.Parts = append(out.Parts, part{"messages", u.History}, part{"results of tools", u.Results})
	return out
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
	reader     *eventfeed.Reader
	generation int                       // the draft's number
	blocks     int                       // how many blocks of the draft the window has
	live       string                    // JSON of the last event
	use        *windowUse                // as it was last sent
	viewed     map[string]agent.Position // up to which it has the calls of views, by run
}

// Watch sends the events of a conversation after a position, the events of the calls that its views
// make, and the list of the user's conversations, until the context ends or send fails: only the
// second is an error. Without an id it sends only the list. Of the calls of views it sends the
// latest maxShownRuns from their beginning, and then each new one. An empty batch keeps a quiet
// connection alive. The error matches ErrGone if there is no such conversation, or it is deleted
// meanwhile.
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
			events, err := s.listEvents(ctx, user, w)
			if err != nil {
				return err
			}
			batch = append(batch, events...)
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

// listEvents returns the events for a change of the list: the list, and what the window lacks of the
// calls of its views.
func (s *Service) listEvents(ctx context.Context, user string, w *window) ([]Event, error) {
	overview, err := s.overview(ctx, user)
	if err != nil {
		return nil, err
	}
	viewed, err := s.viewedIn(ctx, w)
	if err != nil {
		return nil, err
	}
	return append(overview, viewed...), nil
}

// openWindow opens a window on a conversation, which has the events up to a position. The caller calls closeWindow.
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
	return &window{topic: t, reader: reader, viewed: map[string]agent.Position{}}, nil
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

// sleep waits for a time, or until the context ends: that is its error.
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

// read returns the events that the window lacks: those that have a position, and then the state without a record.
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
	live, err := w.readLive()
	return append(out, live...), err
}

// readLive returns the state without a record, as far as the window lacks it. The error is ErrGone if the conversation is deleted.
func (w *window) readLive() (out []Event, err error) {
	t := w.topic
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.deleted {
		return nil, ErrGone
	}
	if t.use != w.use {
		w.use = t.use
		out = append(out, momentary("window", t.use))
	}
	if w.generation != t.generation {
		w.generation, w.blocks = t.generation, 0
	}
	now := momentary("now", live{
		Working:  t.working,
		From:     w.blocks,
		Blocks:   t.draft.Blocks[w.blocks:],
		Open:     t.draft.Open(),
		Progress: t.progress,
		Taken:    slices.Sorted(maps.Keys(t.given)),
		Spent:    spent{t.spent.Input, t.spent.Output, t.spent.Cost},
	})
	w.blocks = len(t.draft.Blocks)
	if string(now.Data) != w.live {
		w.live = string(now.Data)
		out = append(out, now)
	}
	return out, nil
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
