package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// createMessage answers a sampling request by the host's handler.
func (a *answerer) createMessage(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	params, err := a.decodeSampling(raw)
	if err != nil {
		return nil, err
	}
	result, err := a.opts.Sampling.CreateMessage(ctx, params)
	if err != nil {
		return nil, err
	}
	if result == nil {
		return nil, errors.New("sampling handler returned neither a result nor an error")
	}
	if e := a.current(); !e.has(severalBlocks) {
		if result, err = singleBlock(result, e.has(audioContent)); err != nil {
			return nil, err
		}
	}
	return jsonrpc.Marshal(result)
}

// decodeSampling returns the parameters of a sampling request that the client has declared. The
// error is a refusal.
func (a *answerer) decodeSampling(raw json.RawMessage) (*mcp.CreateMessageParams, error) {
	offered := a.offers.sampling
	if offered == nil {
		return nil, uninstalledError("sampling is not available", "Options.Sampling")
	}
	params := new(mcp.CreateMessageParams)
	err := jsonrpc.LimitArrays(raw, jsonrpc.MaxElements)
	if err == nil {
		err = json.Unmarshal(raw, params)
	}
	switch {
	case err != nil:
	case slices.Contains(params.Tools, nil):
		err = errors.New("a tool is null")
	case (len(params.Tools) > 0 || params.ToolChoice != nil) && !offered.Tools:
		err = errors.New("tools were not declared by the client")
	case params.MaxTokens < 0:
		err = errors.New("maxTokens is negative")
	default:
		err = inquiry.CheckMessages(params.Messages)
	}
	if err != nil {
		return nil, newRefusal(mcp.CodeInvalidParams, "sampling request: %v", err)
	}
	return params, nil
}

// singleBlock returns the result for servers that read a single block: text, an image or, if
// audio is set, audio. It joins blocks of text. It does not modify r; a result that does not fit into
// one block is an error.
func singleBlock(r *mcp.CreateMessageResult, audio bool) (*mcp.CreateMessageResult, error) {
	if len(r.Content) == 0 {
		return r, nil
	}
	if len(r.Content) == 1 {
		switch r.Content[0].(type) {
		case *mcp.TextContent, *mcp.ImageContent:
			return r, nil
		case *mcp.AudioContent:
			if audio {
				return r, nil
			}
		}
		return nil, fmt.Errorf("server's revision cannot read content of type %q in an answer", inquiry.ContentType(r.Content[0]))
	}
	var texts []string
	for _, c := range r.Content {
		t, ok := c.(*mcp.TextContent)
		if !ok {
			return nil, fmt.Errorf("server's revision reads one content block, and the answer has %d, among them one of type %q",
				len(r.Content), inquiry.ContentType(c))
		}
		texts = append(texts, t.Text)
	}
	out := *r
	out.Content = []mcp.Content{&mcp.TextContent{Text: strings.Join(texts, "\n")}}
	return &out, nil
}
