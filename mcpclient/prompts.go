package mcpclient

import (
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
