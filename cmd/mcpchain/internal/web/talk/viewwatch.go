package talk

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/hosttext"
)

// viewCallJSON is an event of a call that a view makes. Its run is "" for a call that needed no approval: it has no
// record.
type viewCallJSON struct {
	Run    string `json:"run,omitempty"`
	Turn   int    `json:"turn"` // of the call whose result the view shows
	Call   string `json:"call"` // the id of that call
	Server string `json:"server"`
	Kind   string `json:"kind"`  // the kind of the event, like the kinds of the conversation's own events
	Event  any    `json:"event"` // the data of an entry
}

// ViewCallEvent returns the event of a call of a view that needed no approval, with the text of its result or error.
func ViewCallEvent(c ViewCall, text string, failed bool, took time.Duration) Event {
	event := resultJSON{
		callJSON: callOf(agent.Call{ID: c.Tool, Server: c.Server, Name: c.Tool, Arguments: string(c.Arguments)}),
		Text:     proseText(text, maxResult), Error: failed, Took: int64(took / time.Millisecond),
	}
	return transientEvent("viewed", viewCallJSON{
		Turn:   c.Turn,
		Call:   c.Call,
		Server: event.Server,
		Kind:   "result",
		Event:  event,
	})
}

// viewEvents returns what a window lacks of the calls that views of its conversation make: nothing if w is nil.
func (s *Service) viewEvents(ctx context.Context, w *window) (out []Event, err error) {
	if w == nil {
		return nil, nil
	}
	runs, err := s.viewRuns(ctx, w.topic.key)
	if err != nil {
		return nil, err
	}
	for _, head := range slices.Backward(runs[:min(len(runs), maxShownRuns)]) {
		has := w.viewCalls[head.Key.ID]
		if head.Seq <= has.Seq {
			continue
		}
		events, at, err := s.viewEventsSince(ctx, head.Key, has)
		if errors.Is(err, ErrGone) {
			continue // the call was dropped meanwhile, but not the conversation
		}
		if err != nil {
			return nil, err
		}
		w.viewCalls[head.Key.ID] = at
		out = append(out, events...)
	}
	return out, nil
}

// viewEventsSince returns the events of a call of a view after a position, and the last position.
func (s *Service) viewEventsSince(ctx context.Context, key run.Key, at agent.Position) (out []Event, _ agent.Position, err error) {
	c, err := s.viewCall(ctx, key)
	if err != nil {
		return nil, at, err
	}
	entries, err := s.history(ctx, key, at)
	if err != nil {
		return nil, at, err
	}
	for _, e := range entries {
		at = e.at
		if slices.Contains([]string{"asked", "answered", "call", "result", "ended"}, e.kind) {
			out = append(out, transientEvent("viewed", viewCallJSON{key.ID, c.Turn, c.Call, hosttext.Line(c.Server, 100), e.kind, e.data}))
		}
	}
	return out, at, nil
}
