package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// maxCompletions is the protocol's bound: "Maximum 100 items per response".
const maxCompletions = 100

func complete(ctx context.Context, c *caller, p *mcp.CompleteParams, opts []CallOption) (*mcp.Completion, error) {
	params, err := completeParams(p, c.current().has(completionContext))
	if err != nil {
		return nil, err
	}
	var result struct {
		Completion *struct {
			Values  []string    `json:"values"`
			Total   json.Number `json:"total"`
			HasMore bool        `json:"hasMore"`
		} `json:"completion"`
	}
	if err := c.calls.do(ctx, &request{method: "completion/complete", params: params}, &result, opts); err != nil {
		return nil, err
	}
	if result.Completion == nil {
		return nil, fmt.Errorf("%w: no member %q", mcp.ErrInvalidResult, "completion")
	}
	out := &mcp.Completion{Values: result.Completion.Values, HasMore: result.Completion.HasMore}
	if n, err := result.Completion.Total.Int64(); err == nil && n >= 0 {
		total := int(n)
		out.Total = &total
	}
	if len(out.Values) > maxCompletions {
		c.logViolation("the server completes with more values than are allowed", "got", len(out.Values), "want", maxCompletions)
		out.Values, out.HasMore = out.Values[:maxCompletions], true
	}
	return out, nil
}

// completeParams returns the params of a request for a completion. withFilled includes the filled
// values.
func completeParams(p *mcp.CompleteParams, withFilled bool) (json.RawMessage, error) {
	if (p.Prompt == "") == (p.Template == "") {
		return nil, errors.New("CompleteParams: want either Prompt or Template")
	}
	ref := map[string]string{"type": "ref/prompt", "name": p.Prompt}
	if p.Template != "" {
		ref = map[string]string{"type": "ref/resource", "uri": p.Template}
	}
	wire := map[string]any{"ref": ref, "argument": map[string]string{"name": p.Argument, "value": p.Value}}
	if len(p.Filled) > 0 && withFilled {
		wire["context"] = map[string]any{"arguments": p.Filled}
	}
	return jsonrpc.EncodeParams(wire)
}
