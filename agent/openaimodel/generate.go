package openaimodel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent/internal/hostfail"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/chat"
)

// Info implements [model.Model].
func (m *Model) Info() model.Info {
	return model.Info{
		Provider: m.providerName(), Name: m.model, Endpoint: m.chat.Endpoint(m.model), Profile: profile.Profile(m.chat.Schemas(m.model)),
		Window: m.options.Window, MaxTokens: m.options.MaxTokens, Formats: m.holdsFormat, Media: m.takes,
	}
}

// takes reports whether the host takes data of a type from a user.
func (m *Model) takes(mimeType string) bool {
	_, image := chat.ImageType(mimeType)
	_, audio := chat.AudioFormat(mimeType)
	return image && m.chat.TakesImages() || audio && m.chat.TakesAudio()
}

// providerName names the host in the words of OpenTelemetry's conventions for generative AI.
// A host that they do not know has its own name, and one that is not known at all is
// "openai", whose API it imitates.
func (m *Model) providerName() string {
	switch host := m.chat.Host(); host {
	case "azure":
		return "azure.ai.openai"
	case "gemini":
		return "gcp.gemini"
	case "mistral":
		return "mistral_ai"
	case "moonshot":
		return "moonshot_ai"
	case "compatible":
		return "openai"
	default:
		return host
	}
}

// holdsFormat reports whether the host holds a reply to a schema, see [Options].Format.
func (m *Model) holdsFormat(tools bool) bool {
	return m.options.Format == "always" || m.options.Format != "never" && m.chat.TakesFormats(m.model, tools)
}

// errLeft ends a reply whose caller has left.
var errLeft = errors.New("the caller of the model has left")

// Generate implements [model.Model]. What a host wants back with a message is in the parts of the reply,
// under "host" in [run.Part].Provider. It goes to hosts of the same kind of API only ([Options.Host]), whatever
// their URL: the endpoint may move, or be reached by a proxy.
func (m *Model) Generate(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		left := false
		show := func(d model.Delta) error {
			if left = !yield(d, nil); left {
				return errLeft
			}
			return nil
		}
		reply, err := m.generate(ctx, r, show)
		switch {
		case left:
		case err != nil:
			yield(model.Delta{}, modelError(err))
		default:
			yield(model.Delta{Response: reply}, nil)
		}
	}
}

func (m *Model) generate(ctx context.Context, r *model.Request, show func(model.Delta) error) (*model.Response, error) {
	q, err := m.chatRequest(r)
	if err != nil {
		return nil, &model.Error{Kind: model.ErrorInvalid, Err: err}
	}
	refused := hostfail.Thoughts[refused](r.Kept)
	refused.leaveOut(q.Messages)
	reply, err := m.send(ctx, q, r.Stream, show)
	if refusesThoughts(err) && refused.add(q.Messages) {
		if reply, err = m.send(ctx, q, r.Stream, show); err == nil {
			reply.Note = "the host refused the model's earlier thoughts, so they were left out: were the key or the model changed?"
		}
	}
	if err != nil {
		return nil, err
	}
	return m.reply(reply), nil
}

func (m *Model) send(ctx context.Context, q *chat.Request, stream bool, show func(model.Delta) error) (*chat.Reply, error) {
	if !stream {
		return m.chat.Complete(ctx, q)
	}
	return m.chat.Stream(ctx, q, chat.Deltas{
		Text:      func(piece string) error { return show(model.Delta{Text: piece}) },
		Reasoning: func(piece string) error { return show(model.Delta{Reasoning: piece}) },
	})
}

// formatName is what the host calls the schema of a text.
const formatName = "final_answer"

// chatRequest is a request for the host.
func (m *Model) chatRequest(r *model.Request) (*chat.Request, error) {
	q := &chat.Request{
		Model: m.model, MaxTokens: cmp.Or(r.MaxTokens, m.options.MaxTokens), Temperature: cmp.Or(r.Temperature, m.options.Temperature),
		ReasoningEffort: cmp.Or(r.Effort, m.options.ReasoningEffort), Stop: r.Stop, Recorded: true,
		Endpoint: r.Endpoint, CacheKey: r.CacheKey,
	}
	if r.Format != nil {
		q.Format = &chat.Format{Name: formatName, Schema: r.Format}
	}
	if len(r.Tools) > 0 || r.Choice == model.ChoiceRequired || r.Choice == model.ChoiceTool {
		q.ToolChoice = chat.ToolChoice{Choice: choices[r.Choice], Name: r.ChosenTool}
	}
	q.Tools = make([]chat.Tool, len(r.Tools))
	for i, t := range r.Tools {
		q.Tools[i] = chat.Tool{Name: t.Name, Description: t.Description, Parameters: t.Schema, Strict: t.Strict}
	}
	responses := m.chat.EndpointOf(q) == chat.Responses
	q.Messages = make([]chat.Message, 0, len(r.Messages)+8)
	if r.System != "" {
		q.Messages = append(q.Messages, chat.Text(chat.System, r.System))
	}
	for i := 0; i < len(r.Messages); {
		n := i + 1
		for r.Messages[i].Role == run.RoleTool && n < len(r.Messages) && r.Messages[n].Role == run.RoleTool {
			n++
		}
		var err error
		if q.Messages, err = m.appendMessages(q.Messages, r.Messages[i:n], responses); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		i = n
	}
	return q, nil
}

var choices = map[model.Choice]chat.Choice{
	model.ChoiceAuto: chat.Auto, model.ChoiceNone: chat.None, model.ChoiceRequired: chat.Required, model.ChoiceTool: chat.Named,
}

// appendMessages adds a message, or the results of a turn, in one message or several.
func (m *Model) appendMessages(out []chat.Message, group []run.Message, responses bool) ([]chat.Message, error) {
	switch first := &group[0]; first.Role {
	case run.RoleSystem, run.RoleUser:
		role := chat.User
		if first.Role == run.RoleSystem {
			role = chat.System
		}
		parts, err := contentOf(first.Parts, responses)
		return append(out, chat.Message{Role: role, Parts: parts}), err
	case run.RoleAssistant:
		return m.appendAssistant(out, first, responses)
	case run.RoleTool:
		return m.appendResults(out, group, responses), nil
	default:
		return nil, fmt.Errorf("role %q is unknown", first.Role)
	}
}

// contentOf is what a person, or the program, said.
func contentOf(parts []run.Part, files bool) ([]chat.Part, error) {
	out := make([]chat.Part, 0, len(parts))
	for i := range parts {
		switch p := &parts[i]; p.Type {
		case run.PartText, run.PartSummary:
			out = append(out, chat.Part{Text: p.Text})
		case run.PartImage, run.PartAudio, run.PartFile:
			part, err := mediaPart(p, files)
			if err != nil {
				return nil, fmt.Errorf("part %d: %w", i, err)
			}
			out = append(out, part)
		}
	}
	return out, nil
}

// mediaPart is an image, a sound or a file. Documents go to the Responses API alone. Of what has only an address
// Chat Completions takes images alone: the address of another one is a note.
func mediaPart(p *run.Part, files bool) (chat.Part, error) {
	if files && p.MIMEType == "application/pdf" {
		return chat.Part{File: &chat.File{Name: "document.pdf", MIMEType: p.MIMEType, Data: p.Data, URL: p.URL}}, nil
	}
	if p.Data != nil || p.URL == "" {
		return binary(p.MIMEType, p.Data)
	}
	if p.Type != run.PartImage {
		return chat.Part{Text: fmt.Sprintf("[%s at %s]", p.MIMEType, p.URL)}, nil
	}
	image := &chat.Image{URL: p.URL}
	if detail, ok := p.Provider["detail"]; ok {
		_ = json.Unmarshal(detail, &image.Detail) // not a string: no detail
	}
	return chat.Part{Image: image}, nil
}

// appendAssistant adds a message of the model, with what this host wants back. One that has nothing else is
// left out.
func (m *Model) appendAssistant(out []chat.Message, in *run.Message, responses bool) ([]chat.Message, error) {
	msg := chat.Message{Role: chat.Assistant, ToolCalls: make([]chat.ToolCall, 0, callsIn(in.Parts))} // never moved: items point into it
	for i := range in.Parts {
		p := &in.Parts[i]
		data, mine := m.ofHost(p)
		switch p.Type {
		case run.PartText, run.PartSummary:
			msg.Parts = append(msg.Parts, chat.Part{Text: p.Text})
			if responses {
				msg.Items = append(msg.Items, chat.Item{Text: &chat.ItemText{Text: p.Text, Phase: data.Phase}})
			}
		case run.PartReasoning:
			if responses && data.Item != nil {
				msg.Items = append(msg.Items, chat.Item{Raw: data.Item})
			}
			if mine && msg.Reasoning == "" {
				msg.Reasoning = p.Text
			}
			if msg.Details == nil {
				msg.Details = data.Details
			}
		case run.PartCall:
			msg.ToolCalls = append(msg.ToolCalls, chat.ToolCall{
				ID: p.ID, Name: cmp.Or(p.Name, "unknown"), Arguments: p.Arguments, Extra: data.Extra,
			})
			if responses {
				msg.Items = append(msg.Items, chat.Item{Call: &msg.ToolCalls[len(msg.ToolCalls)-1]})
			}
		case run.PartImage, run.PartAudio, run.PartFile:
			part, err := mediaPart(p, false)
			if err != nil {
				return nil, fmt.Errorf("part %d: %w", i, err)
			}
			msg.Parts = append(msg.Parts, part)
		}
	}
	if len(msg.Parts) == 0 && len(msg.ToolCalls) == 0 {
		return out, nil
	}
	return append(out, msg), nil
}

func callsIn(parts []run.Part) (n int) {
	for i := range parts {
		if parts[i].Type == run.PartCall {
			n++
		}
	}
	return n
}

// appendResults adds the results of a turn with the media that the host takes. Chat Completions takes them from a user
// only: they follow the results there.
func (m *Model) appendResults(out []chat.Message, group []run.Message, responses bool) []chat.Message {
	var media []chat.Part
	for i := range group {
		for j := range group[i].Parts {
			p := &group[i].Parts[j]
			if p.Type != run.PartResult {
				continue
			}
			out = append(out, chat.Message{Role: chat.ToolRole, ToolCallID: p.ID, Parts: []chat.Part{{Text: p.Text}}, Tools: p.Tools})
			titled := false
			for k := range p.Media {
				part, err := binary(p.Media[k].MIMEType, p.Media[k].Data)
				if err != nil || p.Media[k].Data == nil || !m.takes(p.Media[k].MIMEType) {
					continue
				}
				if responses {
					last := &out[len(out)-1]
					last.Parts = append(last.Parts, part)
					continue
				}
				if !titled {
					titled = true
					media = append(media, chat.Part{Text: fmt.Sprintf("From the result of %s (call %s):", p.Name, p.ID)})
				}
				media = append(media, part)
			}
		}
	}
	if len(media) > 0 {
		out = append(out, chat.Message{Role: chat.User, Parts: media})
	}
	return out
}

// binary is data of a type that the API takes.
func binary(mimeType string, data []byte) (chat.Part, error) {
	clean, image := chat.ImageType(mimeType)
	format, audio := chat.AudioFormat(mimeType)
	switch {
	case image:
		return chat.Part{Image: &chat.Image{MIMEType: clean, Data: data}}, nil
	case audio:
		return chat.Part{Audio: &chat.Audio{Format: format, Data: data}}, nil
	case strings.HasPrefix(mimeType, "text/"):
		return chat.Part{Text: string(data)}, nil
	}
	return chat.Part{}, fmt.Errorf("binary content of type %q: the API takes png, jpeg, gif, webp, wav, mp3 and text", mimeType)
}

// reply is the host's reply with what it wants back.
func (m *Model) reply(r *chat.Reply) *model.Response {
	parts := make([]run.Part, 0, 2+len(r.ToolCalls))
	back := m.chat.EchoesReasoning() && (r.Reasoning != "" || r.Details != nil)
	if r.Reasoning != "" || back {
		p := run.Part{Type: run.PartReasoning, Text: r.Reasoning}
		if back {
			m.keep(&p, hostData{Details: r.Details})
		}
		parts = append(parts, p)
	}
	text := r.Text
	if text == "" {
		text = r.Refusal
	}
	if text != "" {
		parts = append(parts, run.Part{Type: run.PartText, Text: text})
	}
	for _, call := range r.ToolCalls {
		p := run.Part{Type: run.PartCall, ID: call.ID, Name: call.Name, Arguments: call.Arguments}
		if call.Extra != nil && m.chat.WantsDataBack() {
			m.keep(&p, hostData{Extra: call.Extra})
		}
		parts = append(parts, p)
	}
	if r.Items != nil {
		parts = m.itemParts(r.Items, text)
	}
	out := &model.Response{
		Message: run.Message{Role: run.RoleAssistant, Parts: slices.Clip(parts), Model: r.Model},
		ID:      r.ID, Endpoint: endpointOf(r), Finish: r.Finish, Warning: r.Note,
	}
	if u := r.Usage; u != nil {
		out.Usage = run.Spent{
			Input: int64(u.Prompt), Output: int64(u.Completion), Total: int64(u.Total), Reasoning: int64(u.Reasoning), Cached: int64(u.Cached),
		}
	}
	return out
}

// endpointOf is the API that a reply came from.
func endpointOf(r *chat.Reply) string {
	if r.Items != nil {
		return chat.Responses
	}
	return chat.Chat
}

// itemParts are the items of a reply as parts of a run, in the order of the host. Text is what there is to say if no item
// has one: a refusal.
func (m *Model) itemParts(items []chat.Item, text string) (parts []run.Part) {
	said := false
	for _, item := range items {
		switch {
		case item.Raw != nil:
			p := run.Part{Type: run.PartReasoning, Text: chat.Summary(item.Raw)}
			m.keep(&p, hostData{Item: item.Raw})
			parts = append(parts, p)
		case item.Text != nil:
			p := run.Part{Type: run.PartText, Text: item.Text.Text}
			if item.Text.Phase != "" {
				m.keep(&p, hostData{Phase: item.Text.Phase})
			}
			parts, said = append(parts, p), true
		case item.Call != nil:
			parts = append(parts, run.Part{Type: run.PartCall, ID: item.Call.ID, Name: item.Call.Name, Arguments: item.Call.Arguments})
		}
	}
	if !said && text != "" {
		parts = append(parts, run.Part{Type: run.PartText, Text: text})
	}
	return parts
}

// hostKey is the name in [run.Part].Provider of what a host wants back.
const hostKey = "host"

// hostData is what a host wants back: Gemini the thought signature of a call, others the reasoning.
type hostData struct {
	Host    string          `json:"host"` // its kind of API, see [Options.Host]; no other kind gets it
	Extra   json.RawMessage `json:"extra,omitempty"`
	Details json.RawMessage `json:"details,omitempty"`
	Item    json.RawMessage `json:"item,omitempty"`  // of the Responses API: a thought
	Phase   string          `json:"phase,omitempty"` // of a text there
}

// keep puts what the host wants back into a part.
func (m *Model) keep(p *run.Part, d hostData) {
	d.Host = m.chat.Host()
	if data, err := json.Marshal(d); err == nil { // the members are JSON
		p.Provider = map[string]json.RawMessage{hostKey: data}
	}
}

// ofHost is what the host wants back with a part, false if the part is of another one.
func (m *Model) ofHost(p *run.Part) (hostData, bool) {
	if len(p.Provider[hostKey]) == 0 {
		return hostData{}, false
	}
	var d hostData
	if json.Unmarshal(p.Provider[hostKey], &d) != nil || d.Host != m.chat.Host() {
		return hostData{}, false
	}
	return d, true
}
