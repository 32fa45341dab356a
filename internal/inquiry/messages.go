package inquiry

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// CheckMessages reports the first breach of the ordering rules for tool uses and tool results: a
// user message with a tool result holds nothing else, and every assistant message with tool uses is
// followed immediately by the results of exactly these calls.
func CheckMessages(messages []mcp.SamplingMessage) error {
	var open map[string]bool // ids of the tool uses without a result
	for i, m := range messages {
		uses, err := checkMessage(m, open)
		if err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
		open = uses
	}
	if len(open) > 0 {
		return fmt.Errorf("%d tool uses have no result", len(open))
	}
	return nil
}

// checkMessage checks the message after one with open tool uses, and returns its own.
func checkMessage(m mcp.SamplingMessage, open map[string]bool) (uses map[string]bool, err error) {
	if m.Role != "user" && m.Role != "assistant" {
		return nil, fmt.Errorf("role %q is neither user nor assistant", excerpt.Cut(m.Role))
	}
	results := 0
	uses = map[string]bool{}
	for _, c := range m.Content {
		switch c := c.(type) {
		case *mcp.ToolResultContent:
			switch {
			case m.Role != "user":
				return nil, fmt.Errorf("tool result in an %s message", m.Role)
			case !open[c.ToolUseID]:
				return nil, fmt.Errorf("tool result for %q, which no tool use before it awaits", excerpt.Cut(c.ToolUseID))
			}
			delete(open, c.ToolUseID)
			results++
		case *mcp.ToolUseContent:
			switch {
			case m.Role != "assistant":
				return nil, fmt.Errorf("tool use in a %s message", m.Role)
			case uses[c.ID]:
				return nil, fmt.Errorf("tool use id %q twice", excerpt.Cut(c.ID))
			}
			uses[c.ID] = true
		}
	}
	switch {
	case results > 0 && results < len(m.Content):
		return nil, errors.New("tool results are mixed with other content")
	case len(open) > 0:
		return nil, fmt.Errorf("%d tool uses before it have no result", len(open))
	}
	return uses, nil
}

// ContentType returns the type of content in the protocol, such as "text", or "" for content that
// cannot be encoded.
func ContentType(c mcp.Content) string {
	var block struct {
		Type string `json:"type"`
	}
	raw, err := json.Marshal(c)
	if err != nil || json.Unmarshal(raw, &block) != nil {
		return ""
	}
	return block.Type
}
