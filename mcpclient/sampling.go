package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// createMessage answers a sampling request.
func (a *answerer) createMessage(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	if a.peer.offers.sampling == nil {
		return nil, uninstalled("sampling is not available", "Options.Sampling")
	}
	if err := jsonrpc.LimitArrays(raw, jsonrpc.MaxElements); err != nil {
		return nil, refuse(mcp.CodeInvalidParams, "sampling request: %v", err)
	}
	params := new(mcp.CreateMessageParams)
	if err := json.Unmarshal(raw, params); err != nil {
		return nil, refuse(mcp.CodeInvalidParams, "sampling request: %s", excerpt.Cut(err.Error()))
	}
	if slices.Contains(params.Tools, nil) {
		return nil, refuse(mcp.CodeInvalidParams, "sampling request: a tool is null")
	}
	if (len(params.Tools) > 0 || params.ToolChoice != nil) && !a.peer.offers.sampling.Tools {
		return nil, refuse(mcp.CodeInvalidParams, "sampling request: tools were not declared by the client")
	}
	if params.MaxTokens < 0 {
		return nil, refuse(mcp.CodeInvalidParams, "sampling request: maxTokens is negative")
	}
	if err := params.CheckMessages(); err != nil {
		return nil, refuse(mcp.CodeInvalidParams, "sampling request: %v", err)
	}
	result, err := a.sampling.CreateMessage(ctx, params)
	if err == nil && result == nil {
		err = errors.New("the sampling handler returned neither a result nor an error")
	}
	if e := a.peer.current(); err == nil && !e.severalBlocks() {
		result, err = result.SingleBlock(e.has(audioContent))
	}
	if err != nil {
		return nil, err
	}
	return jsonrpc.Marshal(result)
}
