package convert

import (
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/run"
)

// FromLLMS converts messages from langchaingo. Consecutive tool messages become one, with the
// results of the turn, and so do consecutive AI messages, because some providers need one part
// in each. The result shares the data of media with the messages. Content of types that are not
// langchaingo's own is left out.
func FromLLMS(messages []llms.MessageContent) []run.Message {
	out := make([]run.Message, 0, len(messages))
	for _, m := range messages {
		role := runRole(m.Role)
		parts := make([]run.Part, 0, len(m.Parts))
		for _, p := range m.Parts {
			if part, ok := fromPart(p); ok {
				parts = append(parts, part)
			}
		}
		merges := role == run.RoleTool || role == run.RoleAssistant
		if last := len(out) - 1; merges && last >= 0 && out[last].Role == role {
			out[last].Parts = append(out[last].Parts, parts...)
			continue
		}
		out = append(out, run.Message{Role: role, Parts: parts})
	}
	return out
}

func runRole(r llms.ChatMessageType) run.Role {
	switch r {
	case llms.ChatMessageTypeHuman, llms.ChatMessageTypeGeneric:
		return run.RoleUser
	case llms.ChatMessageTypeAI:
		return run.RoleAssistant
	case llms.ChatMessageTypeFunction:
		return run.RoleTool
	}
	return run.Role(r)
}

func fromPart(p llms.ContentPart) (run.Part, bool) {
	switch p := p.(type) {
	case llms.CachedContent:
		part, ok := fromPart(p.ContentPart)
		return withProvider(part, cacheKey, writeMark(p.CacheControl)), ok
	case llms.TextContent:
		return run.Part{Type: run.PartText, Text: p.Text}, true
	case llms.ImageURLContent:
		part := run.Part{Type: run.PartImage, URL: p.URL}
		if p.Detail != "" {
			part = withProvider(part, detailKey, quote(p.Detail))
		}
		return part, true
	case llms.BinaryContent:
		return run.Part{Type: mediaType(p.MIMEType), MIMEType: p.MIMEType, Data: p.Data}, true
	case llms.ToolCall:
		part := run.Part{Type: run.PartCall, ID: p.ID}
		if p.FunctionCall != nil {
			part.Name, part.Arguments = p.FunctionCall.Name, p.FunctionCall.Arguments
		}
		return part, true
	case llms.ToolCallResponse:
		return run.Part{Type: run.PartResult, ID: p.ToolCallID, Name: p.Name, Text: p.Content}, true
	}
	return run.Part{}, false
}

func mediaType(mime string) run.PartType {
	switch {
	case strings.HasPrefix(mime, "image/"):
		return run.PartImage
	case strings.HasPrefix(mime, "audio/"):
		return run.PartAudio
	}
	return run.PartFile
}
