package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Prompts iterates over all pages of the server's prompts. Each range asks the server again,
// except for cached pages (see [Limits.Cache]); an error is the last pair.
func (c *Client) Prompts(ctx context.Context, opts ...CallOption) iter.Seq2[*mcp.Prompt, error] {
	return list[mcp.Prompt](ctx, c.lists, "prompts/list", "prompts", opts)
}

// GetPrompt requests a prompt by name. args is a map[string]string, or a value that
// encoding/json encodes as an object, such as a struct. Arguments of prompts are strings:
// numbers and booleans become strings, and nulls are left out. args may be nil.
func (c *Client) GetPrompt(ctx context.Context, name string, args any, opts ...CallOption) (*mcp.GetPromptResult, error) {
	arguments, err := promptArguments(args)
	if err != nil {
		return nil, fmt.Errorf("get prompt %q: arguments: %w", name, err)
	}
	params, err := encodeArguments(name, arguments)
	if err != nil {
		return nil, fmt.Errorf("get prompt %q: %w", name, err)
	}
	result := new(mcp.GetPromptResult)
	err = c.caller.calls.do(ctx, &request{method: "prompts/get", target: name, params: params}, result, opts)
	if err != nil {
		return nil, fmt.Errorf("get prompt %q: %w", name, err)
	}
	return result, nil
}

func promptArguments(args any) (any, error) {
	if texts, ok := args.(map[string]string); ok {
		if texts == nil {
			return nil, nil
		}
		return texts, nil
	}
	object, err := jsonrpc.EncodeParams(args)
	if err != nil || object == nil {
		return nil, err
	}
	texts := []byte{'{'}
	var bad error
	err = jsonrpc.Members(object, func(key, value []byte) {
		switch value[0] {
		case 'n':
		case '{', '[':
			bad = errors.Join(bad, fmt.Errorf("%q is not a string, number or boolean: %s", excerpt.Cut(string(key)), excerpt.Cut(string(value))))
		case '"':
			texts = jsonrpc.AppendMember(texts, string(key), value)
		default:
			texts = jsonrpc.AppendMember(texts, string(key), jsonrpc.AppendString(nil, string(value)))
		}
	})
	return json.RawMessage(jsonrpc.CloseObject(texts)), errors.Join(err, bad)
}

// Resources iterates over all pages of the server's resources. Each range asks the server
// again, except for cached pages (see [Limits.Cache]); an error is the last pair.
func (c *Client) Resources(ctx context.Context, opts ...CallOption) iter.Seq2[*mcp.Resource, error] {
	return list[mcp.Resource](ctx, c.lists, "resources/list", "resources", opts)
}

// ResourceTemplates iterates over all pages of the server's resource templates, as [Client.Resources] does.
func (c *Client) ResourceTemplates(ctx context.Context, opts ...CallOption) iter.Seq2[*mcp.ResourceTemplate, error] {
	return list[mcp.ResourceTemplate](ctx, c.lists, "resources/templates/list", "resourceTemplates", opts)
}

// ReadResource reads the resource at uri, which need not be listed.
func (c *Client) ReadResource(ctx context.Context, uri string, opts ...CallOption) (*mcp.ReadResourceResult, error) {
	result := new(mcp.ReadResourceResult)
	err := c.caller.reads.do(ctx, &request{method: "resources/read", target: uri, params: uriParams(uri)}, result, opts)
	if err != nil {
		return nil, fmt.Errorf("read resource %q: %w", uri, err)
	}
	return result, nil
}

func uriParams(uri string) []byte { return append(jsonrpc.AppendString([]byte(`{"uri":`), uri), '}') }

// maxCompletions is the protocol's bound: "Maximum 100 items per response".
const maxCompletions = 100

// Complete asks the server for values of an argument of a prompt or resource template. It
// returns at most the first 100 values, and sets HasMore if there are more.
//
// Do not send a request for every keystroke: wait for a pause, and cancel the context of an
// outdated call.
func (c *Client) Complete(ctx context.Context, p *mcp.CompleteParams, opts ...CallOption) (*mcp.Completion, error) {
	if p == nil {
		return nil, errors.New("complete: no params (nil)")
	}
	out, err := complete(ctx, &c.caller, p, opts)
	if err != nil {
		return nil, fmt.Errorf("complete argument %q of %q: %w", p.Argument, cmp.Or(p.Prompt, p.Template), err)
	}
	return out, nil
}

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
		out.Total = new(int(n))
	}
	if len(out.Values) > maxCompletions {
		c.logViolation("the server completes with more values than are allowed", "got", len(out.Values), "want", maxCompletions)
		out.Values, out.HasMore = out.Values[:maxCompletions], true
	}
	return out, nil
}

// completeParams returns the params of a request for a completion. withFilled includes the filled values.
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
