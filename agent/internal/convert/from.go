package convert

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/internal/media"
	"github.com/mcpchain/mcpchain/agent/run"
)

// FromLLMS converts messages from langchaingo. Consecutive tool messages become one, with the results of
// the turn, and so do consecutive AI messages, because some providers need one part in each. The result
// shares the data of media with the messages. The error names the first role or content that has no
// equivalent, such as content of a type that is not langchaingo's own; the result has the rest.
func FromLLMS(messages []llms.MessageContent) (out []run.Message, err error) {
	out = make([]run.Message, 0, len(messages))
	for i, m := range messages {
		role, messageErr := runRole(m.Role)
		parts := make([]run.Part, 0, len(m.Parts))
		for j, p := range m.Parts {
			part, partErr := fromPart(p)
			if partErr == nil {
				partErr = checkRole(role, part.Type)
			}
			if part.Type != "" {
				parts = append(parts, part)
			}
			if messageErr == nil && partErr != nil {
				messageErr = fmt.Errorf("part %d: %w", j, partErr)
			}
		}
		if err == nil && messageErr != nil {
			err = fmt.Errorf("message %d: %w", i, messageErr)
		}
		merges := role == run.RoleTool || role == run.RoleAssistant
		if last := len(out) - 1; merges && last >= 0 && out[last].Role == role {
			out[last].Parts = append(out[last].Parts, parts...)
			continue
		}
		out = append(out, run.Message{Role: role, Parts: parts})
	}
	return out, err
}

// runRole returns the role of a message. An unknown one is kept, with an error.
func runRole(r llms.ChatMessageType) (run.Role, error) {
	switch r {
	case llms.ChatMessageTypeHuman, llms.ChatMessageTypeGeneric:
		return run.RoleUser, nil
	case llms.ChatMessageTypeAI:
		return run.RoleAssistant, nil
	case llms.ChatMessageTypeTool, llms.ChatMessageTypeFunction:
		return run.RoleTool, nil
	case llms.ChatMessageTypeSystem:
		return run.RoleSystem, nil
	}
	return run.Role(r), fmt.Errorf("role %q is unknown", r)
}

// checkRole checks that a message of the role may have a part of the type.
func checkRole(role run.Role, t run.PartType) error {
	if t == run.PartCall && role != run.RoleAssistant || (t == run.PartResult) != (role == run.RoleTool) {
		return fmt.Errorf("message of role %q cannot have a part of type %q", role, t)
	}
	return nil
}

// fromPart converts a part. With an error, the part is what can be read of it, without a type if that is
// nothing.
func fromPart(p llms.ContentPart) (run.Part, error) {
	switch p := p.(type) {
	case llms.CachedContent:
		return fromPart(p.ContentPart)
	case llms.TextContent:
		return run.Part{Type: run.PartText, Text: p.Text}, nil
	case llms.ImageURLContent:
		part := imageOf(p.URL)
		if p.Detail != "" {
			detail, _ := json.Marshal(p.Detail) // a string always marshals
			part.Provider = map[string]json.RawMessage{detailKey: detail}
		}
		return part, nil
	case llms.BinaryContent:
		return run.Part{Type: media.PartType(p.MIMEType), MIMEType: p.MIMEType, Data: p.Data}, nil
	case llms.ToolCall:
		if p.FunctionCall == nil {
			return run.Part{Type: run.PartCall, ID: p.ID}, fmt.Errorf("tool call %q without a function", p.ID)
		}
		return run.Part{Type: run.PartCall, ID: p.ID, Name: p.FunctionCall.Name, Arguments: p.FunctionCall.Arguments}, nil
	case llms.ToolCallResponse:
		return run.Part{Type: run.PartResult, ID: p.ToolCallID, Name: p.Name, Text: p.Content}, nil
	}
	return run.Part{}, fmt.Errorf("content of type %T is not supported", p)
}

// imageOf returns the image at a URL. The bytes in a data URL are taken out, as not every provider reads such a URL. An image
// of an unusual type stays in its URL: some provider may read it there.
func imageOf(url string) run.Part {
	head, encoded, _ := strings.Cut(url, ";base64,")
	data, err := base64.StdEncoding.DecodeString(encoded)
	if mimeType, ok := strings.CutPrefix(head, "data:"); ok && err == nil && media.Accepts(nil, mimeType) {
		return run.Part{Type: run.PartImage, MIMEType: mimeType, Data: data}
	}
	return run.Part{Type: run.PartImage, URL: url}
}
