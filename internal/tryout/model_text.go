package tryout

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/excerpt"
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

// carriesMedia reports whether a message has images, as the message after tool results may.
func carriesMedia(m openai.ChatCompletionMessage) bool {
	for _, p := range m.MultiContent {
		if p.Type != openai.ChatMessagePartTypeText {
			return true
		}
	}
	return false
}

func userTexts(messages []openai.ChatCompletionMessage) []string {
	var out []string
	for _, m := range messages {
		if m.Role == openai.ChatMessageRoleUser && !carriesMedia(m) {
			out = append(out, strings.TrimSpace(messageText(m)))
		}
	}
	return out
}

// result is the text that a tool has returned.
type result struct{ tool, text string }

// toolResults returns the tool results at the end of the conversation.
func toolResults(messages []openai.ChatCompletionMessage) []result {
	end := len(messages)
	for end > 0 && messages[end-1].Role == openai.ChatMessageRoleUser && carriesMedia(messages[end-1]) {
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
		name := names[m.ToolCallID]
		if name == "" {
			name = m.Name
		}
		out = append(out, result{name, strings.TrimSpace(messageText(m))})
	}
	return out
}

// maxResult bounds the repeated part of a result, in bytes.
const maxResult = 4 << 10

// describeResults returns a sentence for each result.
func describeResults(results []result) string {
	var lines []string
	for _, r := range results {
		text := excerpt.CutAt(r.text, maxResult)
		switch {
		case strings.HasPrefix(text, "The call was not run"), strings.Contains(text, "Nothing was done."): // the host's text has the reason
			lines = append(lines, text)
		case findTool([]string{r.tool}, "add") != "" || findTool([]string{r.tool}, "multiply") != "":
			lines = append(lines, "The result: "+text+".")
		case findTool([]string{r.tool}, "picture") != "":
			title, _, _ := strings.Cut(text, "\n")
			lines = append(lines, "Here is the picture: "+title+".")
		case strings.HasSuffix(text, "."):
			lines = append(lines, text)
		default:
			lines = append(lines, fmt.Sprintf("The tool %s says: %s", r.tool, text))
		}
	}
	return strings.Join(lines, "\n")
}

var sentenceEnd = regexp.MustCompile(`[.!?](?:\s|$)`)

// plainAnswer replies to a request without tools, for example a server's sampling request.
func plainAnswer(req *openai.ChatCompletionRequest, question string) string {
	for _, m := range req.Messages {
		if strings.Contains(strings.ToLower(messageText(m)), "summar") {
			return summary(question)
		}
	}
	return "I am a demo model that follows fixed rules, and I was given no tools that I could use for this."
}

// summary returns the first sentence, cut to 160 bytes.
func summary(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if at := sentenceEnd.FindStringIndex(text); at != nil {
		text = strings.TrimSpace(text[:at[1]])
	}
	return excerpt.CutAt(text, 160)
}

// words splits a text after each space.
func words(s string) []string {
	if s == "" {
		return nil
	}
	return strings.SplitAfter(s, " ")
}
