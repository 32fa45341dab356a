package talk

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/prose"
	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/eventfeed"
)

const (
	// updateInterval is the shortest time between two updates of a window.
	updateInterval = 60 * time.Millisecond

	// keepAliveInterval is the time between empty batches, which keep a quiet connection open.
	keepAliveInterval = 15 * time.Second
)

// liveJSON is the state of a conversation that has no record, as a window gets it.
type liveJSON struct {
	Working  bool                       `json:"working"`
	Thinking bool                       `json:"thinking,omitempty"`
	From     int                        `json:"from"`   // number of blocks of the draft to keep
	Blocks   []([]prose.Node)           `json:"blocks"` // complete blocks that follow
	Open     []prose.Node               `json:"open"`   // the block that is being written
	Thoughts *thoughtsJSON              `json:"thoughts,omitempty"`
	Progress map[string]json.RawMessage `json:"progress,omitempty"`
	Taken    []string                   `json:"taken,omitempty"` // ids of questions that were answered since the work began
	Spent    run.Usage                  `json:"spent"`
}

// thoughtsJSON is the reasoning before the draft.
type thoughtsJSON struct {
	From int    `json:"from"` // number of bytes that the window has; 0: it begins
	Text string `json:"text"` // what follows
}

// window is a user's window on a conversation, with what it has already.
type window struct {
	topic      *topic
	reader     *eventfeed.Reader
	generation int                       // the draft's number
	blocks     int                       // how many blocks of the draft the window has
	reasoned   int                       // how many bytes of the reasoning it has
	lastLive   string                    // the JSON of the liveJSON that was last sent
	lastUse    *agent.WindowUse          // as it was last sent
	viewCalls  map[string]agent.Position // up to which it has the calls of views, by run
}

// Watch sends the events of a conversation after a position, the events of the calls that its views make, and the list
// of the user's conversations with the shared data, the user's rules and the user's servers, until the context ends, or
// send or the store fails. If id is "", it sends only the list and what belongs to it. Of the calls of views it sends
// the latest maxShownRuns from their beginning, and then each new one. Every 15 s it sends an empty batch, which keeps
// the connection open. Watch returns nil if it was waiting when the context ended. The error matches ErrGone if there
// is no such conversation, or it is deleted meanwhile.
func (s *Service) Watch(ctx context.Context, user, id string, after agent.Position, send func([]Event) error) error {
	var w *window // nil without an id
	if id != "" {
		var err error
		if w, err = s.openWindow(ctx, run.Key{Tenant: user, ID: id}, after); err != nil {
			return err
		}
		defer s.closeWindow(w)
	}
	list := s.acquireList(user)
	defer s.releaseList(user)
	keepAlive := time.NewTicker(keepAliveInterval)
	defer keepAlive.Stop()
	for stale := true; ; {
		listChanged := list.Next()
		var topicChanged <-chan struct{}
		if w != nil {
			topicChanged = w.topic.changed.Next()
		}
		batch, err := s.update(ctx, user, w, stale)
		if err == nil && len(batch) > 0 {
			err = send(batch)
		}
		if err != nil {
			return err
		}
		select {
		case <-topicChanged:
		case <-listChanged:
		case <-keepAlive.C:
			if err := send(nil); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
		if err := backoff.Sleep(ctx, updateInterval); err != nil {
			return nil
		}
		select {
		case <-listChanged:
			stale = true
		default:
			stale = false
		}
	}
}

// update returns what a stream lacks: the events of the window's conversation, and if the list is stale, the list with what
// windows show beside it, and the calls of the conversation's views.
func (s *Service) update(ctx context.Context, user string, w *window, listIsStale bool) (batch []Event, err error) {
	if w != nil {
		batch, err = w.read(ctx)
	}
	if err != nil || !listIsStale {
		return batch, err
	}
	heads, _, err := s.List(ctx, user, "", time.Time{})
	if err != nil {
		return nil, err
	}
	batch = append(batch, NewEvent("list", heads))
	if s.o.Shared != nil {
		batch = append(batch, NewEvent("shared", s.o.Shared()))
	}
	if s.o.Rules != nil {
		batch = append(batch, NewEvent("rules", s.o.Rules.Of(user)))
	}
	if s.o.Personal != nil {
		batch = append(batch, NewEvent("servers", s.o.Personal.Status(user)))
	}
	viewed, err := s.viewEvents(ctx, w)
	return append(batch, viewed...), err
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
	t.countWindow(1)
	w := &window{topic: t, reader: reader, viewCalls: map[string]agent.Position{}}
	if _, err := database.Head(ctx, s.o.Store, key); err != nil { // a deletion before that did not find the topic
		s.closeWindow(w)
		return nil, goneError(err)
	}
	return w, nil
}

func (s *Service) closeWindow(w *window) {
	w.topic.countWindow(-1)
	w.reader.Close()
	s.release(w.topic)
}

// read returns the events that the window lacks: those that have a position, and then the state that has no record.
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
			if e.ID != "" { // without one, it says that the window was slow: the store has what it missed
				out = append(out, eventOf(e))
			}
		}
	}
	live, err := w.readLive()
	return append(out, live...), err
}

// readLive returns the state that has no record, if it has changed. The error is ErrGone if the conversation is deleted.
func (w *window) readLive() (out []Event, err error) {
	t := w.topic
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.deleted {
		return nil, ErrGone
	}
	if t.contextUse != w.lastUse {
		w.lastUse = t.contextUse
		out = append(out, NewEvent("window", t.contextUse))
	}
	if w.generation != t.generation {
		w.generation, w.blocks, w.reasoned = t.generation, 0, 0
	}
	now := NewEvent("now", liveJSON{
		Working:  t.working,
		Thinking: t.thinking,
		From:     w.blocks,
		Blocks:   t.draft.Blocks[w.blocks:],
		Open:     t.draft.Open(),
		Thoughts: w.thoughtsLocked(),
		Progress: t.progress,
		Taken:    slices.Sorted(maps.Keys(t.replies)),
		Spent:    t.spent,
	})
	w.blocks = len(t.draft.Blocks)
	if string(now.Data) != w.lastLive {
		w.lastLive = string(now.Data)
		out = append(out, now)
	}
	return out, nil
}

// thoughtsLocked returns the reasoning that the window lacks, nil if there is none at all. A character whose last bytes
// have not come waits for them. The mutex of the topic is held.
func (w *window) thoughtsLocked() *thoughtsJSON {
	all := w.topic.reasoning
	if len(all) == 0 {
		return nil
	}
	end := len(all)
	for n := 1; n < utf8.UTFMax && n <= end-w.reasoned; n++ {
		if last := all[end-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				end -= n
			}
			break
		}
	}
	from := w.reasoned
	w.reasoned = end
	return &thoughtsJSON{from, proseText(string(all[from:end]), maxReasoning)}
}

// countWindow adds n to the number of windows that show the conversation.
func (t *topic) countWindow(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.windows += n
	t.changed.Fire()
}

// NewEvent returns an event without a position. Its data is encoded as JSON.
func NewEvent(kind string, data any) Event { return Event{Type: kind, Data: encode(data)} }

// encode returns data as JSON, null if it has none, which would be a mistake of this program.
func encode(data any) []byte {
	encoded, err := json.Marshal(data)
	if err != nil {
		return []byte("null")
	}
	return encoded
}
