package convert

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/internal/media"
	"github.com/mcpchain/mcpchain/agent/run"
)

// detailKey is the name of an image's detail in [run.Part.Provider].
const detailKey = "detail"

// part converts a part, nil if it has no equivalent.
func (r Rules) part(p *run.Part) llms.ContentPart {
	switch p.Type {
	case run.PartText, run.PartSummary:
		if r.NoBlankText && strings.TrimSpace(p.Text) == "" {
			return nil
		}
		return llms.TextContent{Text: p.Text}
	case run.PartImage, run.PartAudio, run.PartFile:
		return mediaContent(p)
	case run.PartCall:
		return llms.ToolCall{ID: p.ID, Type: "function", FunctionCall: &llms.FunctionCall{Name: plainName(p.Name), Arguments: object(p.Arguments)}}
	case run.PartResult:
		return llms.ToolCallResponse{ToolCallID: p.ID, Name: plainName(p.Name), Content: p.Text}
	}
	return nil
}

// maxName is the longest function name that all providers accept.
const maxName = 64

var notPlain = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// plainName replaces characters that function names cannot have. Models invent names that their
// own providers refuse, such as multi_tool_use.parallel; the result tells the model that there
// is no such tool.
func plainName(name string) string {
	name = name[:min(len(name), maxName*utf8.UTFMax)] // a model may invent one of megabytes
	name = notPlain.ReplaceAllString(cmp.Or(name, "unknown"), "_")
	return name[:min(len(name), maxName)]
}

// object replaces arguments that are not a JSON object. Providers and chat templates decode
// them, and would refuse the whole history; the result tells the model what was wrong.
func object(arguments string) string {
	if trimmed := strings.TrimLeft(arguments, " \t\r\n"); trimmed != "" && trimmed[0] == '{' && json.Valid([]byte(trimmed)) {
		return arguments
	}
	return "{}"
}

// mediaContent converts an image, audio or a file. langchaingo has URLs only for images; other URLs
// become a note.
func mediaContent(p *run.Part) llms.ContentPart {
	if p.Data == nil && p.URL != "" {
		if p.Type != run.PartImage {
			return llms.TextContent{Text: fmt.Sprintf("[%s at %s]", p.MIMEType, p.URL)}
		}
		image := llms.ImageURLContent{URL: p.URL}
		if detail, ok := p.Provider[detailKey]; ok {
			_ = json.Unmarshal(detail, &image.Detail) // not a string: no detail
		}
		return image
	}
	return llms.BinaryContent{MIMEType: p.MIMEType, Data: p.Data}
}

// appendMedia appends the images of a result that have data and that models accept by default, with a title.
func (e *encoder) appendMedia(out []llms.ContentPart, result *run.Part) []llms.ContentPart {
	titled := false
	for i := range result.Media {
		p := &result.Media[i]
		if p.Data == nil || !media.Accepts(nil, p.MIMEType) {
			continue
		}
		if !titled {
			title := fmt.Sprintf("From the result of %s (call %s):", result.Name, result.ID)
			out, titled = append(out, llms.TextContent{Text: title}), true
		}
		out = append(out, llms.BinaryContent{MIMEType: p.MIMEType, Data: p.Data})
	}
	return out
}

func llmsRole(r run.Role) llms.ChatMessageType {
	switch r {
	case run.RoleUser:
		return llms.ChatMessageTypeHuman
	case run.RoleAssistant:
		return llms.ChatMessageTypeAI
	}
	return llms.ChatMessageType(r)
}
