package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Tools iterates over all pages of the server's tools. Each range asks the server again, except
// for cached pages (see [Limits.Cache]); an error is the last pair. Over HTTP in the modern era
// a tool with an invalid x-mcp-header is left out, and logged at Warn with the reason.
func (c *Client) Tools(ctx context.Context, opts ...CallOption) iter.Seq2[*mcp.Tool, error] {
	return c.tools.learnAll(list[mcp.Tool](ctx, c.lists, "tools/list", "tools", opts))
}

// CallTool calls a tool. args is nil, a [json.RawMessage], or a value that marshals to a JSON
// object. A failure of the tool is part of the result (see [mcp.CallToolResult.Err]), not an error.
//
// A call that may have run is never repeated: after an error that is neither an [*mcp.RPCError] nor
// [Unsent], the tool may have run. If the server needs input the handlers of [Options] answer, up
// to [Limits.Rounds] times. Use [WithTask] for a tool that requires a task.
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

func (c *Client) callTool(ctx context.Context, r *request, opts []CallOption) (*mcp.CallToolResult, error) {
	o := callOptions{}.with(opts)
	if err := o.checkTool(r.target); err != nil {
		return nil, err
	}
	check, err := o.resultCheck(c.validator)
	if err != nil {
		return nil, err
	}
	var result *mcp.CallToolResult
	if o.task != nil && c.checkTask(o.task) == nil {
		result, err = c.tasks.callTask(ctx, r, opts)
	} else {
		result = &mcp.CallToolResult{Tool: r.target}
		err = c.addAdvice(c.caller.calls.do(ctx, r, result, opts))
	}
	if err != nil {
		return nil, err
	}
	if result.IsError && c.cannotAsk(result.Text()) {
		result.Advice = inquiry.CannotAskAdvice
	}
	if check != nil {
		if err := check(result); err != nil {
			return nil, err
		}
	}
	return result, nil
}

func (o *callOptions) checkTool(tool string) error {
	isAnother := func(given *mcp.Tool) bool { return given != nil && given.Name != "" && given.Name != tool }
	switch {
	case isAnother(o.task):
		return fmt.Errorf("WithTask is given another tool, %q", excerpt.Cut(o.task.Name))
	case isAnother(o.outputTool):
		return fmt.Errorf("WithOutputCheck is given another tool, %q", excerpt.Cut(o.outputTool.Name))
	}
	return nil
}

// CallToolAs calls a tool and decodes its structured content, or its text if there is none, into a
// T. The text must be JSON unless T is string. A failure of the tool is an [*mcp.ToolError].
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
	if err := jsonrpc.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("call tool %q: %s into %T: %w: %s", name, what, out, err, c.quote(raw))
	}
	return out, nil
}

// AddToolDefinitions gives the client definitions of tools that it has not learned from
// [Client.Tools], for example from an earlier run: a modern server over HTTP may require some
// arguments in headers, as the tool's input schema says. A later list replaces them. The error joins
// the reasons why tools are unusable; the other tools are registered. The client keeps only what it
// needs.
func (c *Client) AddToolDefinitions(tools ...*mcp.Tool) error {
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
		errs = append(errs, c.tools.learn(t))
	}
	return errors.Join(errs...)
}

// askRefusals are texts of servers that may not send requests in the modern era: of mcp-go
// 1.2, of go-sdk 1.8, and the client's own refusal, which other servers pass on.
var askRefusals = []string{
	"server-initiated request",
	"cannot be sent while serving a request on protocol version",
	"multi round-trip request",
	noRequests,
}

const noRequests = "this revision has no requests of the server"

func (p *peer) cannotAsk(text string) bool {
	if p.current().has(serverRequests) {
		return false
	}
	return slices.ContainsFunc(askRefusals, func(words string) bool { return strings.Contains(text, words) })
}

// addAdvice adds advice to the error of a call whose tool may not ask: use another revision.
func (p *peer) addAdvice(err error) error {
	if rpc, ok := errors.AsType[*mcp.RPCError](err); ok && p.cannotAsk(rpc.Message) {
		return &inquiry.AdvisedError{Err: err, Advice: inquiry.CannotAskAdvice}
	}
	return err
}
