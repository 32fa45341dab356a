package talk

import (
	"context"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/hosttext"
)

// viewed is an event of a call that a view makes. Its run is "" for a call that no person was asked
// about: it has no record.
type viewed struct {
	Run    string `json:"run,omitempty"`
	Turn   int    `json:"turn"` // and the call whose result the view shows
	Call   string `json:"call"`
	Server string `json:"server"`
	Kind   string `json:"kind"`  // of the event, as of the conversation's own
	Event  any    `json:"event"` // the view of an entry
}

// ViewedEvent tells windows of a call of a view that no person was asked about, and what came of it.
func ViewedEvent(c ViewCall, text string, failed bool, took time.Duration) Event {
	event := result{
		call: callOf(agent.Call{ID: c.Tool, Server: c.Server, Name: c.Tool, Arguments: string(c.Arguments)}),
		Text: shownText(text, maxResult), Error: failed, Took: int64(took / time.Millisecond),
	}
	return momentary("viewed", viewed{Turn: c.Turn, Call: c.Call, Server: event.Server, Kind: "result", Event: event})
}

// WatchViews sends the events of the calls that views of a conversation make, those of the latest maxShownRuns and then each
// new one, until the context ends or send fails: only the second is an error.
func (s *Service) WatchViews(ctx context.Context, user, id string, send func([]Event) error) error {
	conversation := run.Key{Tenant: user, ID: id}
	list := s.list(user)
	defer s.forget(user)
	seen := map[string]agent.Position{}
	for {
		changed := list.next()
		runs, err := s.viewRuns(ctx, conversation)
		if err != nil {
			return err
		}
		var batch []Event
		for _, head := range slices.Backward(runs[:min(len(runs), maxShownRuns)]) {
			if head.Seq <= seen[head.Key.ID].Seq {
				continue
			}
			events, at, err := s.viewedSince(ctx, head.Key, seen[head.Key.ID])
			if err != nil {
				return err
			}
			seen[head.Key.ID] = at
			batch = append(batch, events...)
		}
		if len(batch) > 0 {
			if err := send(batch); err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
		if err := sleep(ctx, pace); err != nil {
			return nil
		}
	}
}

// viewedSince returns the events of a call of a view after a position, and the last position.
func (s *Service) viewedSince(ctx context.Context, key run.Key, at agent.Position) (out []Event, _ agent.Position, err error) {
	c, _, err := s.viewCall(ctx, key)
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
			out = append(out, momentary("viewed", viewed{key.ID, c.Turn, c.Call, hosttext.Line(c.Server, 100), e.kind, e.view}))
		}
	}
	return out, at, nil
}
