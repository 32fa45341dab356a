package chat

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// encodeMessages sets the conversation. System messages at its start become one; later ones stay where they are.
func (c *Client) encodeMessages(d *draft, r *Request, rule modelRule) error {
	system, rest := leadingSystem(r.Messages)
	if d.must && c.profile.Required == requiredBySystem {
		system = append(system, "Answer by calling at least one of the tools.")
	}
	e := &messageEncoder{draft: d, profile: &c.profile,
		ids: newIDs(c.profile.IDs), called: map[string]string{}, system: systemRole(&c.profile, r.Model, rule)}
	d.request.Messages = []openai.ChatCompletionMessage{}
	if len(system) > 0 {
		e.add(openai.ChatCompletionMessage{Role: e.system, Content: strings.Join(system, "\n\n")})
	}
	leading := len(r.Messages) - len(rest)
	d.follow(r.Messages[:leading])
	for i := range rest {
		if err := e.encode(&rest[i]); err != nil {
			return fmt.Errorf("message %d: %w", leading+i, err)
		}
		d.follow(rest[i : i+1])
	}
	if len(d.request.Messages) == 0 {
		return errors.New("no messages")
	}
	e.fillReasoning()
	return nil
}

// leadingSystem takes the system messages off the start of a conversation.
func leadingSystem(messages []Message) (system []string, rest []Message) {
	for len(messages) > 0 && messages[0].Role == System {
		if text := joinText(messages[0].Parts); text != "" {
			system = append(system, text)
		}
		messages = messages[1:]
	}
	return system, messages
}

// messageEncoder turns messages into go-openai's, one after the other.
type messageEncoder struct {
	draft   *draft
	profile *Profile
	ids     *ids
	system  string            // the role of instructions
	thinks  bool              // a message has reasoning
	called  map[string]string // the tools' names, by the ids of their calls
}

func (e *messageEncoder) add(m openai.ChatCompletionMessage) {
	e.draft.request.Messages = append(e.draft.request.Messages, m)
}

// field amends a field of the message that is added next.
func (e *messageEncoder) field(key string, value any) {
	e.draft.amend.message(len(e.draft.request.Messages), key, value)
}

// encode adds one message.
func (e *messageEncoder) encode(m *Message) error {
	switch m.Role {
	case System:
		e.text(e.system, joinText(m.Parts))
	case User:
		return e.user(m)
	case Assistant:
		return e.assistant(m)
	case ToolRole:
		if m.ToolCallID == "" {
			return errors.New("a tool's result has no call id")
		}
		text := joinText(m.Parts)
		if text == "" { // some hosts refuse empty results, and go-openai omits them
			text = "(no output)"
		}
		e.draft.ids[m.ToolCallID] = true
		answer := openai.ChatCompletionMessage{Role: "tool", Content: text, ToolCallID: e.ids.outgoing(m.ToolCallID)}
		if !e.profile.Nameless {
			answer.Name = e.called[m.ToolCallID]
		}
		e.add(answer)
	default:
		return fmt.Errorf("role %q is not one of system, user, assistant, tool", excerpt.Cut(string(m.Role)))
	}
	return nil
}

// text adds a message of text, which may be empty.
func (e *messageEncoder) text(role, text string) {
	if text == "" {
		e.field("content", "")
	}
	e.add(openai.ChatCompletionMessage{Role: role, Content: text})
}

// user adds a message of the user.
func (e *messageEncoder) user(m *Message) error {
	sent := e.draft.request.Messages
	if e.profile.BridgeTools && len(sent) > 0 && sent[len(sent)-1].Role == "tool" {
		e.text("assistant", "I have the results.")
	}
	var parts []Part
	media, audio := false, false
	for _, p := range m.Parts {
		if err := e.profile.takes(&p); err != nil {
			return err
		}
		media = media || p.Image != nil || p.Audio != nil
		audio = audio || p.Audio != nil
		if p != (Part{}) { // hosts refuse parts with empty text
			parts = append(parts, p)
		}
	}
	if !media && (len(parts) < 2 || e.profile.JoinText) {
		e.text("user", joinText(parts))
		return nil
	}
	msg := openai.ChatCompletionMessage{Role: "user"}
	if audio { // go-openai has no audio parts
		e.field("content", wireParts(parts))
	} else {
		for _, p := range parts {
			msg.MultiContent = append(msg.MultiContent, textOrImage(p))
		}
	}
	e.add(msg)
	return nil
}

// webURL matches URLs that the host would have to fetch. Others hold the data, or name a file at the host.
var webURL = regexp.MustCompile(`(?i)^https?:`)

// takes returns an error if the host does not take a part of a user's message.
func (p *Profile) takes(part *Part) error {
	image := part.Image
	switch {
	case part.Audio != nil && !p.Audio:
		return fmt.Errorf("host %s takes no audio", p.Name)
	case image == nil:
		return nil
	case image.Data == nil && image.URL == "":
		return errors.New("an image without data and without a URL")
	case p.Images == noImages:
		return fmt.Errorf("host %s takes no images", p.Name)
	case p.Images == imageData && image.Data == nil && webURL.MatchString(image.URL):
		return fmt.Errorf("host %s takes images by their data, not by a URL", p.Name)
	}
	return nil
}

// wireParts returns parts as the request's JSON has them.
func wireParts(parts []Part) []any {
	out := make([]any, len(parts))
	for i, p := range parts {
		if p.Audio == nil {
			out[i] = textOrImage(p)
			continue
		}
		out[i] = map[string]any{"type": "input_audio", "input_audio": map[string]string{
			"data": base64.StdEncoding.EncodeToString(p.Audio.Data), "format": p.Audio.Format,
		}}
	}
	return out
}

func textOrImage(p Part) openai.ChatMessagePart {
	if p.Image == nil {
		return openai.ChatMessagePart{Type: openai.ChatMessagePartTypeText, Text: p.Text}
	}
	return openai.ChatMessagePart{
		Type:     openai.ChatMessagePartTypeImageURL,
		ImageURL: &openai.ChatMessageImageURL{URL: p.Image.url(), Detail: openai.ImageURLDetail(p.Image.Detail)},
	}
}

// url returns the URL of an image, a data URL if its bytes are known.
func (i *Image) url() string {
	if i.Data == nil {
		return i.URL
	}
	return dataURL(i.MIMEType, i.Data)
}

func dataURL(mimeType string, data []byte) string {
	return "data:" + mimeType + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// assistant adds a message of the assistant.
func (e *messageEncoder) assistant(m *Message) error {
	if slices.ContainsFunc(m.Parts, Part.isMedia) {
		return errors.New("an assistant's message takes text only")
	}
	text := joinText(m.Parts)
	thought := recalled{reasoning: m.Reasoning, details: m.Details}
	if len(m.ToolCalls) == 0 {
		thought = thought.or(e.draft.recall(textOnly(text)))
		e.reasoning(thought)
		e.text("assistant", text)
		return nil
	}
	if text == "" {
		switch e.profile.EmptyContent {
		case blankContent:
			e.field("content", "")
		case nullContent:
			e.field("content", nil)
		}
	}
	msg := openai.ChatCompletionMessage{Role: "assistant", Content: text}
	kept, err := e.calls(&msg, m.ToolCalls)
	if err != nil {
		return err
	}
	e.reasoning(thought.or(kept))
	e.add(msg)
	return nil
}

// or returns v, or other if v has no reasoning.
func (v recalled) or(other recalled) recalled {
	if v.reasoning == "" && v.details == nil {
		return other
	}
	return v
}

// reasoning sets the reasoning of the message that is added next, in the form in which the host wants it back.
func (e *messageEncoder) reasoning(v recalled) {
	field := e.profile.Reasoning
	switch {
	case field == reasoningDetails && len(v.details) > 0:
		e.field(string(field), v.details)
	case field == reasoningDetails && v.reasoning != "":
		e.field(string(plainReasoning), v.reasoning)
	case field != "" && v.reasoning != "":
		e.field(string(field), v.reasoning)
	default:
		return
	}
	e.thinks = true
}

// fillReasoning gives every message of the assistant some reasoning, if one has reasoning and the host requires it for
// all. DeepSeek takes a space for reasoning that was not kept.
func (e *messageEncoder) fillReasoning() {
	if !e.thinks || !e.profile.AllReasoning {
		return
	}
	field := string(e.profile.Reasoning)
	for i, m := range e.draft.request.Messages {
		if _, has := e.draft.amend.messages[i][field]; m.Role == "assistant" && !has {
			e.draft.amend.message(i, field, " ")
		}
	}
}

// calls adds tool calls to a message, with the data that the host wants back, and returns their reasoning.
func (e *messageEncoder) calls(msg *openai.ChatCompletionMessage, calls []ToolCall) (thought recalled, err error) {
	type withExtra struct {
		openai.ToolCall
		Extra json.RawMessage `json:"extra_content,omitempty"`
	}
	var all []withExtra
	extras := false
	for _, call := range calls {
		if call.ID == "" || call.Name == "" {
			return thought, fmt.Errorf("a tool call with id %q and name %q: both are needed", excerpt.Cut(call.ID), excerpt.Cut(call.Name))
		}
		e.draft.ids[call.ID] = true
		wire := openai.ToolCall{
			ID: e.ids.outgoing(call.ID), Type: openai.ToolTypeFunction,
			Function: openai.FunctionCall{Name: e.draft.names.outgoing(call.Name), Arguments: objectText(call.Arguments)},
		}
		e.called[call.ID] = wire.Function.Name
		kept := e.draft.recall(&call)
		if kept.extra == nil && isExtra(call.Extra) {
			kept.extra = call.Extra
		}
		thought = thought.or(kept)
		extras = extras || kept.extra != nil
		msg.ToolCalls = append(msg.ToolCalls, wire)
		all = append(all, withExtra{wire, kept.extra})
	}
	if extras && e.profile.EchoExtra {
		e.field("tool_calls", all)
	}
	return thought, nil
}

// objectText returns the arguments of an earlier call as a JSON object, as hosts parse them. Any other text is put
// inside an object.
func objectText(arguments string) string {
	arguments = strings.TrimSpace(arguments)
	if arguments == "" {
		return "{}"
	}
	if arguments[0] == '{' && json.Valid([]byte(arguments)) {
		return arguments
	}
	quoted, _ := json.Marshal(arguments) // a string always marshals
	return `{"malformed":` + string(quoted) + `}`
}

// joinText joins the texts of parts with newlines.
func joinText(parts []Part) string {
	if len(parts) == 1 {
		return parts[0].Text
	}
	var texts []string
	for _, p := range parts {
		if !p.isMedia() {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}
