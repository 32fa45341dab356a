package talk

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
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
			return &ShownCall{Server: end.Server, Tool: end.Tool, Arguments: json.RawMessage(end.Arguments), Result: resultOfPart(&end.Part)}, nil
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
