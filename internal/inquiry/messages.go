package inquiry

import (
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// CheckMessages reports the first breach of the ordering rules for tool uses and tool results: a
// user message with a tool result holds nothing else, and every assistant message with tool uses is
// followed immediately by the results of exactly these calls.
func CheckMessages(messages []mcp.SamplingMessage) error {
	var open map[string]bool
	for i, m := range messages {
		if m.Role != "user" && m.Role != "assistant" {
			return fmt.Errorf("message %d: role %q is neither user nor assistant", i, excerpt.Cut(m.Role))
		}
		results, others := 0, 0
		uses := map[string]bool{}
		for _, c := range m.Content {
			switch c := c.(type) {
			case *mcp.ToolResultContent:
				results++
				if m.Role != "user" {
					return fmt.Errorf("message %d: tool result in an %s message", i, m.Role)
				}
				if !open[c.ToolUseID] {
					return fmt.Errorf("message %d: tool result for %q, which no tool use before it awaits", i, excerpt.Cut(c.ToolUseID))
				}
				delete(open, c.ToolUseID)
			case *mcp.ToolUseContent:
				others++
				if m.Role != "assistant" {
					return fmt.Errorf("message %d: tool use in a %s message", i, m.Role)
				}
				if uses[c.ID] {
					return fmt.Errorf("message %d: tool use id %q twice", i, excerpt.Cut(c.ID))
				}
				uses[c.ID] = true
			default:
				others++
			}
		}
		if results > 0 && others > 0 {
			return fmt.Errorf("message %d: tool results are mixed with other content", i)
		}
		if len(open) > 0 {
			return fmt.Errorf("message %d: %d tool uses before it have no result", i, len(open))
		}
		open = uses
	}
	if len(open) > 0 {
		return fmt.Errorf("%d tool uses have no result", len(open))
	}
	return nil
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
