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

func (a *answerer) createMessage(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	if a.peer.offers.sampling == nil {
		return nil, uninstalledError("sampling is not available", "Options.Sampling")
	}
	if err := jsonrpc.LimitArrays(raw, jsonrpc.MaxElements); err != nil {
		return nil, newRefusal(mcp.CodeInvalidParams, "sampling request: %v", err)
	}
	params := new(mcp.CreateMessageParams)
	if err := json.Unmarshal(raw, params); err != nil {
		return nil, newRefusal(mcp.CodeInvalidParams, "sampling request: %v", err)
	}
	if slices.Contains(params.Tools, nil) {
		return nil, newRefusal(mcp.CodeInvalidParams, "sampling request: a tool is null")
	}
	if (len(params.Tools) > 0 || params.ToolChoice != nil) && !a.peer.offers.sampling.Tools {
		return nil, newRefusal(mcp.CodeInvalidParams, "sampling request: tools were not declared by the client")
	}
	if params.MaxTokens < 0 {
		return nil, newRefusal(mcp.CodeInvalidParams, "sampling request: maxTokens is negative")
	}
	if err := inquiry.CheckMessages(params.Messages); err != nil {
		return nil, newRefusal(mcp.CodeInvalidParams, "sampling request: %v", err)
	}
	result, err := a.sampling.CreateMessage(ctx, params)
	if err != nil {
		return nil, err
	}
	if result == nil {
		return nil, errors.New("sampling handler returned neither a result nor an error")
	}
	e := a.peer.current()
	if e.has(severalBlocks) {
		return jsonrpc.Marshal(result)
	}
	single, err := singleBlock(result, e.has(audioContent))
	if err != nil {
		return nil, err
	}
	return jsonrpc.Marshal(single)
}

// singleBlock returns the result for servers that read a single block: text, an image or, if
// audio is set, audio. It joins blocks of text. It does not modify r; a result that does not fit into
// one block is an error.
func singleBlock(r *mcp.CreateMessageResult, audio bool) (*mcp.CreateMessageResult, error) {
	switch len(r.Content) {
	case 0:
		return r, nil
	case 1:
		known := false
		switch r.Content[0].(type) {
		case *mcp.TextContent, *mcp.ImageContent:
			known = true
		case *mcp.AudioContent:
			known = audio
		}
		if !known {
			return nil, fmt.Errorf("server's revision cannot read content of type %q in an answer", inquiry.ContentType(r.Content[0]))
		}
		return r, nil
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
