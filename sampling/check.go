package sampling

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Bounds of the stop sequences of a request. Each piece of a reply is compared with all of them.
const (
	maxStopSequences = 64
	maxStopBytes     = 256 // bytes of one
)

// checkParams returns an error for the first breach of the specification, the first content that no
// model accepts, or stop sequences beyond their bounds.
func checkParams(p *mcp.CreateMessageParams) error {
	switch {
	case p == nil:
		return errors.New("there are no params")
	case p.MaxTokens < 0:
		return fmt.Errorf("maxTokens: %d is below 0", p.MaxTokens)
	case p.Temperature != nil && (!(*p.Temperature >= 0) || math.IsInf(*p.Temperature, 0)): // also NaN
		return fmt.Errorf("temperature: %v is not a finite number of at least 0", *p.Temperature)
	}
	return cmp.Or(checkStopSequences(p.StopSequences), checkMessages(p.Messages), checkTools(p.Tools), checkToolChoice(p))
}

func checkStopSequences(all []string) error {
	if len(all) > maxStopSequences {
		return fmt.Errorf("stopSequences: %d, at most %d are allowed", len(all), maxStopSequences)
	}
	for i, stop := range all {
		if len(stop) > maxStopBytes {
			return fmt.Errorf("stopSequences[%d]: %d bytes, at most %d are allowed", i, len(stop), maxStopBytes)
		}
	}
	return nil
}

// checkMessages checks that a model accepts each block, and the order of tool uses and results.
func checkMessages(messages []mcp.SamplingMessage) error {
	for i, m := range messages {
		for _, c := range m.Content {
			if err := checkBlock(c); err != nil {
				return fmt.Errorf("messages: message %d: %w", i, err)
			}
		}
	}
	if err := inquiry.CheckMessages(messages); err != nil {
		return fmt.Errorf("messages: %w", err)
	}
	return nil
}

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
		if !isObjectOrNone(c.Input) {
			return fmt.Errorf("tool use %q: its input is not a JSON object", excerpt.Cut(c.ID))
		}
		return nil
	case *mcp.UnknownContent:
		return fmt.Errorf("content of type %q is unknown or malformed", excerpt.Cut(c.Type))
	}
	return fmt.Errorf("content of type %q does not belong in a sampling message", inquiry.ContentType(c))
}

// notEmpty returns an error for an image or a sound without data. kind names it.
func notEmpty(kind string, data []byte) error {
	if len(data) == 0 {
		return fmt.Errorf("%s without data", kind)
	}
	return nil
}

// checkTools returns an error for a tool without a name, with the name of another, or with a schema that is not an object.
func checkTools(tools []*mcp.Tool) error {
	seen := map[string]bool{}
	for i, t := range tools {
		switch {
		case t == nil || t.Name == "":
			return fmt.Errorf("tools[%d]: no name", i)
		case seen[t.Name]:
			return fmt.Errorf("tools: two are named %q", excerpt.Cut(t.Name))
		case !isObjectOrNone(t.InputSchema):
			return fmt.Errorf("tools: the input schema of %q is not a JSON object", excerpt.Cut(t.Name))
		}
		seen[t.Name] = true
	}
	return nil
}

// checkToolChoice returns an error for an unknown mode, or if a call is required without tools.
func checkToolChoice(p *mcp.CreateMessageParams) error {
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

// encodeJSON returns the JSON of a value as on the wire, nil if it cannot be encoded.
func encodeJSON(v any) json.RawMessage {
	raw, err := jsonrpc.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}

// isObject reports whether raw is valid JSON, and an object.
func isObject(raw json.RawMessage) bool { return json.Valid(raw) && jsonrpc.IsObject(raw) }

// isObjectOrNone is isObject for a member that may be absent.
func isObjectOrNone(raw json.RawMessage) bool { return len(raw) == 0 || isObject(raw) }
