package lc

import (
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/internal/convert"
	"github.com/mcpchain/mcpchain/agent/run"
)

// Messages returns a history of langchaingo as the input of an agent. Content of types that are not
// langchaingo's own is left out.
func Messages(messages ...llms.MessageContent) agent.Input {
	all, _ := convert.FromLLMS(messages)
	return all
}

// toChat translates messages for langchaingo's chats.
func toChat(messages []run.Message) []llms.ChatMessage {
	var out []llms.ChatMessage
	for _, m := range messages {
		switch m.Role {
		case run.RoleUser:
			out = append(out, llms.HumanChatMessage{Content: m.Text()})
		case run.RoleSystem:
			out = append(out, llms.SystemChatMessage{Content: m.Text()})
		case run.RoleAssistant:
			out = append(out, llms.AIChatMessage{Content: m.Text(), ToolCalls: convert.Calls(m.Parts), ReasoningContent: convert.Reasoning(m.Parts)})
		case run.RoleTool:
			for _, p := range m.Parts {
				if p.Type == run.PartResult {
					out = append(out, llms.ToolChatMessage{ID: p.ID, Content: p.Text})
				}
			}
		}
	}
	return out
}

// fromChat translates messages of langchaingo's chats.
func fromChat(messages []llms.ChatMessage) []run.Message {
	out := make([]llms.MessageContent, 0, len(messages))
	for _, m := range messages {
		content := llms.MessageContent{Role: m.GetType()}
		switch m := m.(type) {
		case llms.ToolChatMessage:
			content.Parts = []llms.ContentPart{llms.ToolCallResponse{ToolCallID: m.ID, Content: m.Content}}
		case llms.AIChatMessage:
			if m.Content != "" {
				content.Parts = []llms.ContentPart{llms.TextContent{Text: m.Content}}
			}
			for _, call := range m.ToolCalls {
				content.Parts = append(content.Parts, call)
			}
		default:
			content.Parts = []llms.ContentPart{llms.TextContent{Text: m.GetContent()}}
		}
		out = append(out, content)
	}
	return Messages(out...)
}
