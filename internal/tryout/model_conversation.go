package tryout

import (
	"cmp"
	"slices"
	"strings"

	"github.com/sashabaranov/go-openai"
)

// messageText joins the text of a message.
func messageText(m openai.ChatCompletionMessage) string {
	if len(m.MultiContent) == 0 {
		return m.Content
	}
	var parts []string
	for _, p := range m.MultiContent {
		if p.Type == openai.ChatMessagePartTypeText {
			parts = append(parts, p.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// carriesMedia reports whether a message has a part that is not text.
func carriesMedia(m openai.ChatCompletionMessage) bool {
	return slices.ContainsFunc(m.MultiContent, func(p openai.ChatMessagePart) bool { return p.Type != openai.ChatMessagePartTypeText })
}

// userTexts returns what the user has said. Media that follow tool results in the role of the user belong to the results.
func userTexts(messages []openai.ChatCompletionMessage) []string {
	var out []string
	ofResults := false
	for _, m := range messages {
		isUser := m.Role == openai.ChatMessageRoleUser
		ofResults = m.Role == openai.ChatMessageRoleTool || ofResults && isUser && carriesMedia(m)
		if isUser && !ofResults {
			out = append(out, strings.TrimSpace(messageText(m)))
		}
	}
	return out
}

type result struct{ tool, text string }

// toolResults returns the tool results at the end of the conversation, or, if no tools can be called, before a text that
// asks for an answer without them.
func toolResults(messages []openai.ChatCompletionMessage, hasTools bool) []result {
	end := len(messages)
	for end > 0 && messages[end-1].Role == openai.ChatMessageRoleUser && (carriesMedia(messages[end-1]) || !hasTools) {
		end--
	}
	start := end
	for start > 0 && messages[start-1].Role == openai.ChatMessageRoleTool {
		start--
	}
	if start == 0 || start == end {
		return nil
	}
	names := map[string]string{}
	for _, c := range messages[start-1].ToolCalls {
		names[c.ID] = c.Function.Name
	}
	var out []result
	for _, m := range messages[start:end] {
		out = append(out, result{cmp.Or(names[m.ToolCallID], m.Name), strings.TrimSpace(messageText(m))})
	}
	return out
}
