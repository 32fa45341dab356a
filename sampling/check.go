package sampling

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// checkParams returns an error for the first breach of the specification, or the first
// content that no model accepts.
func checkParams(p *mcp.CreateMessageParams) error {
	switch {
	case p == nil:
		return errors.New("there are no params")
	case p.MaxTokens < 0:
		return fmt.Errorf("maxTokens: %d is below 0", p.MaxTokens)
	case p.Temperature != nil && (!(*p.Temperature >= 0) || math.IsInf(*p.Temperature, 0)):
		return fmt.Errorf("temperature: %v is not 0 or above", *p.Temperature)
	}
	if len(p.StopSequences) > maxStops {
		return fmt.Errorf("stopSequences: %d are more than %d", len(p.StopSequences), maxStops)
	}
	for i, stop := range p.StopSequences {
		if len(stop) > maxStop {
			return fmt.Errorf("stopSequences: number %d has %d bytes, which are more than %d", i, len(stop), maxStop)
		}
	}
	if err := inquiry.CheckMessages(p.Messages); err != nil {
		return fmt.Errorf("messages: %w", err)
	}
	for i, m := range p.Messages {
		for _, c := range m.Content {
			if err := checkBlock(c); err != nil {
				return fmt.Errorf("messages: message %d: %w", i, err)
			}
		}
	}
	return checkTools(p)
}

// Bounds of the stop sequences of a request. Each piece of a reply is compared with all of them.
const (
	maxStops = 64
	maxStop  = 1 << 10 // bytes of one
)

// checkBlock returns an error if no model accepts a block.
func checkBlock(c mcp.Content) error {
	switch c := c.(type) {
	case *mcp.TextContent, *mcp.ToolResultContent:
		return nil
	case *mcp.ImageContent:
		if _, ok := chat.ImageType(c.MIMEType); !ok {
			return fmt.Errorf("image of type %q: the model accepts png, jpeg, gif and webp", excerpt.Cut(c.MIMEType))
		}
		return notEmpty("image", c.Data)
	case *mcp.AudioContent:
		if _, ok := chat.AudioFormat(c.MIMEType); !ok {
			return fmt.Errorf("audio of type %q: the model accepts wav and mp3", excerpt.Cut(c.MIMEType))
		}
		return notEmpty("audio", c.Data)
	case *mcp.ToolUseContent:
		if !isObject(c.Input) && len(c.Input) > 0 {
			return fmt.Errorf("tool use %q: its input is not a JSON object", excerpt.Cut(c.ID))
		}
		return nil
	case *mcp.UnknownContent:
		return fmt.Errorf("content of type %q is unknown or malformed", excerpt.Cut(c.Type))
	}
	return fmt.Errorf("content of type %q does not belong in a sampling message", typeOf(c))
}

// typeOf returns the type of content in the protocol, "null" for nil.
func typeOf(c mcp.Content) string {
	if c == nil {
		return "null"
	}
	var head struct {
		Type string `json:"type"`
	}
	if raw, err := json.Marshal(c); err == nil {
		_ = json.Unmarshal(raw, &head) // our own JSON
	}
	return head.Type
}

func notEmpty(kind string, data []byte) error {
	if len(data) == 0 {
		return fmt.Errorf("%s without data", kind)
	}
	return nil
}

func checkTools(p *mcp.CreateMessageParams) error {
	seen := map[string]bool{}
	for i, t := range p.Tools {
		switch {
		case t == nil || t.Name == "":
			return fmt.Errorf("tools: tool %d has no name", i)
		case seen[t.Name]:
			return fmt.Errorf("tools: two are named %q", excerpt.Cut(t.Name))
		case len(t.InputSchema) > 0 && !isObject(t.InputSchema):
			return fmt.Errorf("tools: the input schema of %q is not a JSON object", excerpt.Cut(t.Name))
		}
		seen[t.Name] = true
	}
	if p.ToolChoice == nil {
		return nil
	}
	switch p.ToolChoice.Mode {
	case "", "auto", "none":
		return nil
	case "required":
		if len(p.Tools) == 0 {
			return errors.New(`toolChoice: "required" without tools`)
		}
		return nil
	}
	return fmt.Errorf(`toolChoice: mode %q is not one of "auto", "required", "none"`, excerpt.Cut(p.ToolChoice.Mode))
}

func isObject(raw json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(raw, &object) == nil && object != nil
}

// blockSize is the assumed size of an empty message or block, so that many of them count, too.
const blockSize = 16

// inputSize returns the number of bytes that the host must read for a request.
func inputSize(p *mcp.CreateMessageParams) int {
	size := len(p.SystemPrompt) + len(p.Metadata)
	for _, s := range p.StopSequences {
		size += len(s)
	}
	if p.ModelPreferences != nil {
		for _, h := range p.ModelPreferences.Hints {
			size += blockSize + len(h.Name)
		}
	}
	for _, t := range p.Tools {
		size += len(t.Name) + len(t.Description) + len(t.InputSchema)
	}
	for _, m := range p.Messages {
		size += blockSize + contentSize(m.Content)
	}
	return size
}

func contentSize(blocks []mcp.Content) int {
	size := blockSize * len(blocks)
	for _, c := range blocks {
		switch c := c.(type) {
		case *mcp.TextContent:
			size += len(c.Text)
		case *mcp.ImageContent:
			size += len(c.Data)
		case *mcp.AudioContent:
			size += len(c.Data)
		case *mcp.ToolUseContent:
			size += len(c.ID) + len(c.Name) + len(c.Input) + len(c.Meta)
		case *mcp.ToolResultContent:
			size += len(c.ToolUseID) + contentSize(c.Content) + len(c.StructuredContent)
		case *mcp.EmbeddedResource:
			size += len(c.Resource.URI) + len(c.Resource.MIMEType) + len(c.Resource.Text) + len(c.Resource.Blob) + 2*fenceSize(c.Resource.Text)
		case *mcp.ResourceLink:
			size += len(c.URI) + len(c.Name) + len(c.MIMEType) + len(c.Description)
		case *mcp.UnknownContent:
			size += len(c.Raw)
		}
	}
	return size
}
