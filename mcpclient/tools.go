package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Tools lists the server's tools over all pages. Each range asks the server again, except for pages in the cache (see
// [Limits.Cache]); an error is the last pair. Over HTTP in the modern era a tool whose x-mcp-header is invalid is left
// out: see [Schemas.OnInvalidTool].
func (c *Client) Tools(ctx context.Context, opts ...CallOption) iter.Seq2[*mcp.Tool, error] {
	return c.tools.acceptable(list[mcp.Tool](ctx, c.lists, "tools/list", "tools", opts))
}

// CallTool runs a tool. args is a JSON object: nil for none, a
// [json.RawMessage], or a value that marshals to an object. A failure of the
// tool is part of the result (see [mcp.CallToolResult.Err]), not an error.
//
// A call that may have run is never repeated: after an error that is not an [*mcp.RPCError] the tool may or may not
// have run. If the server needs input, the handlers of [Options] answer, up to [Limits.Rounds] times. Call a tool that
// requires a task [WithTask].
func (c *Client) CallTool(ctx context.Context, name string, args any, opts ...CallOption) (*mcp.CallToolResult, error) {
	params, err := encodeArguments(name, args)
	if err != nil {
		return nil, fmt.Errorf("call tool %q: %w", name, err)
	}
	result, err := c.callTool(ctx, &request{method: "tools/call", target: name, params: params}, opts)
	if err != nil {
		return nil, fmt.Errorf("call tool %q: %w", name, err)
	}
	return result, nil
}

// callTool makes a tool call and checks the result.
func (c *Client) callTool(ctx context.Context, r *request, opts []CallOption) (*mcp.CallToolResult, error) {
	o := callOptions{}.with(opts)
	if err := o.fits(r.target); err != nil {
		return nil, err
	}
	check, err := c.tools.resultCheck(r.target, &o)
	if err != nil {
		return nil, err
	}
	var result *mcp.CallToolResult
	if o.task != nil && c.taskable(o.task) == nil {
		result, err = c.tasks.callTask(ctx, r, opts)
	} else {
		result = &mcp.CallToolResult{Tool: r.target}
		err = c.advised(r, &o, c.caller.call(ctx, c.caller.calls, r, result, opts))
	}
	if err != nil {
		return nil, err
	}
	if result.IsError && c.failedToAsk(result.Text()) {
		result.Advice = inquiry.CannotAskAdvice
	}
	if check != nil {
		if err := check(result); err != nil {
			return nil, err
		}
	}
	return result, nil
}

// fits refuses options for another tool than the called one.
func (o *callOptions) fits(tool string) error {
	isAnother := func(given *mcp.Tool) bool { return given != nil && given.Name != "" && given.Name != tool }
	switch {
	case isAnother(o.task):
		return fmt.Errorf("WithTask is given another tool, %q", excerpt.Cut(o.task.Name))
	case isAnother(o.described):
		return fmt.Errorf("WithOutputCheck is given another tool, %q", excerpt.Cut(o.described.Name))
	}
	return nil
}

// CallToolAs runs a tool and decodes its structured content, or its text if there is none, into a T. The text has to be
// JSON, unless T is string. A failure of the tool is a [*mcp.ToolError].
func CallToolAs[T any](ctx context.Context, c *Client, name string, args any, opts ...CallOption) (T, error) {
	var out T
	res, err := c.CallTool(ctx, name, args, opts...)
	if err != nil {
		return out, err
	}
	if err := res.Err(); err != nil {
		return out, err
	}
	raw, what := []byte(res.StructuredContent), "structured content"
	if text := res.Text(); raw == nil || string(raw) == "null" && text != "" { // some servers write null for an absent value
		if s, ok := any(&out).(*string); ok && !json.Valid([]byte(text)) {
			*s = text
			return out, nil
		}
		raw, what = []byte(text), "text (there is no structured content)"
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("call tool %q: %s into %T: %w: %s", name, what, out, err, c.quote(raw))
	}
	return out, nil
}

// RegisterTools tells the client the definitions of tools that it does not
// learn from [Client.Tools], such as those kept from an earlier run: a modern
// server over HTTP may want some arguments of a tool repeated in headers, as the
// tool's input schema says, and [Schemas.CheckOutputs] needs its output schema. A
// later list replaces what was registered. The error joins what is wrong with each
// tool that such a server must not offer; the others are registered. Only what is
// needed is kept.
func (c *Client) RegisterTools(tools ...*mcp.Tool) error {
	var errs []error
	for i, t := range tools {
		if t == nil {
			errs = append(errs, fmt.Errorf("tools[%d]: no tool (nil)", i))
			continue
		}
		if err := jsonrpc.Check(t.InputSchema); err != nil {
			errs = append(errs, fmt.Errorf("tool %q: input schema: %w", excerpt.Cut(t.Name), err))
			continue
		}
		errs = append(errs, c.tools.learnTool(t))
	}
	return errors.Join(errs...)
}
