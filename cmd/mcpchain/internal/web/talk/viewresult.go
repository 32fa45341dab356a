package talk

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// ShownCall is a call for whose result a view is shown.
type ShownCall struct {
	Server, Tool string // the server's own name of the tool
	Arguments    json.RawMessage
	Result       *mcp.CallToolResult // as it was stored: a view that is opened again gets the same
}

// ShownCall returns an ended call of a conversation. The error matches ErrGone if there is no such call, or it belongs
// to a sub-agent.
func (s *Service) ShownCall(ctx context.Context, user, id string, turn int, call string) (*ShownCall, error) {
	key := run.Key{Tenant: user, ID: id}
	if isViewCall(key) {
		return nil, ErrGone
	}
	for e, err := range s.agent.Replay(ctx, key, agent.Position{}) {
		if err != nil {
			return nil, goneError(err)
		}
		end, ok := e.(*agent.ToolEnd)
		if ok && len(end.Path) == 0 && end.Turn == turn && end.ID == call {
			return &ShownCall{
				Server:    end.Server,
				Tool:      end.Tool,
				Arguments: json.RawMessage(end.Arguments),
				Result:    resultOfPart(&end.Part),
			}, nil
		}
	}
	return nil, ErrGone
}

// resultOfPart makes a result of what was stored of it: its text as one block, then its pictures and sound.
func resultOfPart(p *run.Part) *mcp.CallToolResult {
	res := &mcp.CallToolResult{IsError: p.IsError, StructuredContent: p.Structured, Meta: p.Meta}
	res.Content = append(res.Content, &mcp.TextContent{Text: p.Text})
	for _, m := range p.Media {
		switch {
		case len(m.Data) == 0:
		case strings.HasPrefix(m.MIMEType, "image/"):
			res.Content = append(res.Content, &mcp.ImageContent{MIMEType: m.MIMEType, Data: m.Data})
		case strings.HasPrefix(m.MIMEType, "audio/"):
			res.Content = append(res.Content, &mcp.AudioContent{MIMEType: m.MIMEType, Data: m.Data})
		}
	}
	return res
}

// viewResult returns the result of an ended call of a view. The error is apps.ErrDenied if the user has refused or
// stopped the call.
func viewResult(records []run.Record) (*mcp.CallToolResult, error) {
	result, err := agent.ResultOf(records)
	if err != nil {
		return nil, err
	}
	denied := slices.ContainsFunc(records, func(r run.Record) bool {
		answered, ok := ledger.ChangeOf(r).(*ledger.Replied)
		return ok && answered.Reply.Action == run.ActionDeny
	})
	if denied || result.Status == run.StatusCancelled {
		return nil, apps.ErrDenied
	}
	for _, m := range slices.Backward(result.Messages) {
		for i := range m.Parts {
			if p := &m.Parts[i]; p.Type == run.PartResult {
				return resultOfPart(p), nil
			}
		}
	}
	return nil, errors.New("the call has ended without a result: " + result.Failure)
}

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
	return NewEvent("viewed", viewCallJSON{
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
			out = append(out, NewEvent("viewed", viewCallJSON{key.ID, c.Turn, c.Call, hosttext.Line(c.Server, 100), e.kind, e.data}))
		}
	}
	return out, at, nil
}
