package anthropicmodel

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// writeMessages writes the messages. Consecutive messages of one role become one, because parallel
// results must be in one message.
func (m *Model) writeMessages(w *wireRequest, r *model.Request, deferred map[string]bool) error {
	instructions := []string{}
	if r.System != "" {
		instructions = append(instructions, r.System)
	}
	messages := r.Messages
	for len(messages) > 0 && messages[0].Role == run.RoleSystem {
		instructions = append(instructions, messages[0].Text())
		messages = messages[1:]
	}
	if text := strings.Join(instructions, "\n\n"); strings.TrimSpace(text) != "" {
		w.System = []block{{Type: "text", Text: text}}
	}
	for i := range messages {
		blocks, err := blocksOf(&messages[i], deferred)
		if err != nil {
			return fmt.Errorf("message %d: %w", len(r.Messages)-len(messages)+i, err)
		}
		role := "user" // of results, too
		if messages[i].Role == run.RoleAssistant {
			role = "assistant"
		}
		w.append(role, blocks)
	}
	if n := len(w.Messages); n == 0 || w.Messages[n-1].Role == "assistant" {
		w.append("user", []block{{Type: "text", Text: "Continue."}}) // current models do not continue their own message
	}
	return nil
}

// append adds blocks to the last message if it has the role, else as a new message. The first
// message is always of the user.
func (w *wireRequest) append(role string, blocks []block) {
	n := len(w.Messages)
	switch {
	case len(blocks) == 0:
	case n > 0 && w.Messages[n-1].Role == role:
		w.Messages[n-1].Content = append(w.Messages[n-1].Content, blocks...)
	case n == 0 && role == "assistant":
		w.append("user", []block{{Type: "text", Text: "(The beginning of the conversation is left out.)"}})
		w.append(role, blocks)
	default:
		w.Messages = append(w.Messages, wireMessage{role, blocks})
	}
}

// blocksOf translates the parts of a message. It leaves out blank texts, thoughts of other
// providers, and parts of unknown types.
func blocksOf(m *run.Message, deferred map[string]bool) (out []block, err error) {
	for i := range m.Parts {
		p := &m.Parts[i]
		var b *block
		switch p.Type {
		case run.PartText, run.PartSummary:
			if strings.TrimSpace(p.Text) != "" { // the API refuses blank text
				b = &block{Type: "text", Text: p.Text}
			}
		case run.PartImage, run.PartFile, run.PartAudio:
			b, err = media(p)
		case run.PartReasoning:
			if m.Role == run.RoleAssistant {
				b = thought(p)
			}
		case run.PartCall:
			b = &block{Type: "tool_use", ID: callID(p.ID), Name: callName(p.Name), Input: arguments(p.Arguments)}
		case run.PartResult:
			b = result(p, deferred)
		}
		if err != nil {
			return nil, fmt.Errorf("part %d: %w", i, err)
		}
		if b != nil {
			out = append(out, *b)
		}
	}
	return out, nil
}

// Keys in [run.Part.Provider] of data that the API wants back.
const (
	signatureKey = "signature" // a thought's signature, a string
	redactedKey  = "redacted"  // the data of a thought that the provider does not show, a string
	blockKey     = "block"     // a block of another type, as it came
)

// hasThought reports whether a part is a thought that came from this API.
func hasThought(p *run.Part) bool { return p.Type == run.PartReasoning && thought(p) != nil }

// thought returns the block of a thought as it came from the API, nil for a thought of another provider.
func thought(p *run.Part) *block {
	if raw := p.Provider[blockKey]; jsonrpc.IsObject(raw) {
		return &block{raw: raw}
	}
	if data, ok := jsonrpc.String(p.Provider[redactedKey]); ok {
		return &block{Type: "redacted_thinking", Data: data}
	}
	if signature, ok := jsonrpc.String(p.Provider[signatureKey]); ok && signature != "" {
		return &block{Type: "thinking", Thinking: &p.Text, Signature: signature}
	}
	return nil
}

// arguments returns the input of a call. The API requires an object, so other text becomes its
// member "input".
func arguments(text string) json.RawMessage {
	raw := json.RawMessage(strings.TrimSpace(text))
	switch {
	case len(raw) == 0:
		return json.RawMessage("{}")
	case jsonrpc.IsObject(raw) && json.Valid(raw):
		return raw
	}
	out, _ := jsonrpc.Marshal(map[string]string{"input": text}) // a map of strings always marshals
	return out
}

// The longest id and name of a call that the API accepts, in bytes.
const (
	maxCallID   = 64
	maxCallName = 128
)

// invalidCharacter matches a character that an id or a name of a call must not have.
var invalidCharacter = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// callID returns the id of a call in characters that the API accepts. Ids of other providers may
// have other characters.
func callID(id string) string {
	if id != "" && len(id) <= maxCallID && !invalidCharacter.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "call_" + hex.EncodeToString(sum[:12])
}

// callName returns the name of a call in characters that the API accepts. The models of other
// providers may have called tools that do not exist.
func callName(name string) string {
	name = invalidCharacter.ReplaceAllLiteralString(name, "_")
	return cmp.Or(name[:min(len(name), maxCallName)], "unknown")
}

// result translates the result of a call with its media, without those that the API does not accept. The
// result of a tool search refers to the deferred tools instead: the API shows their definitions there.
func result(p *run.Part, deferred map[string]bool) *block {
	b := &block{Type: "tool_result", CallID: callID(p.ID)}
	for _, name := range p.Tools {
		if deferred[name] {
			b.Content = append(b.Content, block{Type: "tool_reference", ToolName: name})
		}
	}
	if len(b.Content) > 0 {
		return b
	}
	switch {
	case strings.TrimSpace(p.Text) != "":
		b.Content = append(b.Content, block{Type: "text", Text: p.Text})
	case p.IsError:
		b.Content = append(b.Content, block{Type: "text", Text: "The tool failed."})
	}
	for i := range p.Media {
		if isAccepted(p.Media[i].MIMEType) {
			if image, err := media(&p.Media[i]); err == nil {
				b.Content = append(b.Content, *image)
			}
		}
	}
	b.IsError = p.IsError && len(b.Content) == 1 && b.Content[0].Type == "text" // the API refuses media in a failed result
	return b
}

// pdf is the MIME type of the documents that the API accepts beside text.
const pdf = "application/pdf"

// isAccepted reports whether the API accepts media of a MIME type.
func isAccepted(mimeType string) bool {
	_, isImage := chat.ImageType(mimeType)
	return isImage || chat.BareType(mimeType) == pdf
}

// media translates an image or a document. It is an error if the API does not accept its type, or
// does not fetch it from its URL.
func media(p *run.Part) (*block, error) {
	mimeType, image := chat.ImageType(p.MIMEType)
	if !image {
		mimeType = chat.BareType(p.MIMEType)
	}
	kind := "document"
	if image || p.Type == run.PartImage || strings.HasPrefix(mimeType, "image/") {
		kind = "image"
	}
	switch {
	case p.Data == nil && p.URL != "" && kind == "image", p.Data == nil && p.URL != "" && mimeType == pdf:
		return &block{Type: kind, Source: &source{Type: "url", URL: p.URL}}, nil
	case p.Data == nil && p.URL != "":
		return nil, fmt.Errorf("content of type %q has only a URL: the API fetches images and PDFs", p.MIMEType)
	case p.Data == nil:
		return nil, fmt.Errorf("content of type %q has no data", p.MIMEType)
	case strings.HasPrefix(mimeType, "text/"):
		text := string(bytes.ToValidUTF8(p.Data, []byte("\uFFFD")))
		return &block{Type: kind, Source: &source{Type: "text", MediaType: "text/plain", Data: text}}, nil
	case !isAccepted(mimeType):
		return nil, fmt.Errorf("content of type %q: the API accepts png, jpeg, gif, webp, pdf and text", p.MIMEType)
	}
	data := base64.StdEncoding.EncodeToString(p.Data)
	return &block{Type: kind, Source: &source{Type: "base64", MediaType: mimeType, Data: data}}, nil
}
