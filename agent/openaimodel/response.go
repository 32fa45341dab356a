package openaimodel

import (
	"encoding/json"
	"slices"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/chat"
)

// modelResponse translates the provider's reply, with the data that the provider wants back.
func (m *Model) modelResponse(r *chat.Reply) *model.Response {
	text, finish := r.Text, r.Finish
	if text == "" && r.Refusal != "" {
		text, finish = r.Refusal, model.FinishRefusal
	}
	parts := m.chatParts
	if r.Endpoint == chat.Responses {
		parts = m.itemParts
	}
	out := &model.Response{
		Message: run.Message{Role: run.RoleAssistant, Parts: parts(r, text), Model: r.Model},
		ID:      r.ID, Endpoint: r.Endpoint, Finish: finish, Warning: r.Warning,
	}
	if u := r.Usage; u != nil {
		out.Usage = run.Usage{
			Input: int64(u.Prompt), Cached: int64(u.Cached), CacheWrite: int64(u.CacheWrite),
			Output: int64(u.Completion), Reasoning: int64(u.Reasoning), Total: int64(u.Total),
		}
	}
	return out
}

// chatParts translates a reply of Chat Completions. Its text may be a refusal.
func (m *Model) chatParts(r *chat.Reply, text string) []run.Part {
	parts := make([]run.Part, 0, 2+len(r.ToolCalls))
	echo := m.chat.EchoesReasoning() && (r.Reasoning != "" || r.Details != nil)
	if r.Reasoning != "" || echo {
		p := run.Part{Type: run.PartReasoning, Text: r.Reasoning}
		if echo {
			m.setHostData(&p, hostData{Details: r.Details})
		}
		parts = append(parts, p)
	}
	if text != "" {
		parts = append(parts, run.Part{Type: run.PartText, Text: text})
	}
	for _, call := range r.ToolCalls {
		p := run.Part{Type: run.PartCall, ID: call.ID, Name: call.Name, Arguments: call.Arguments}
		if call.Extra != nil {
			m.setHostData(&p, hostData{Extra: call.Extra})
		}
		parts = append(parts, p)
	}
	return slices.Clip(parts)
}

// itemParts translates a reply of the Responses API, in the order of the provider. Reasoning that is shown but does not go
// back comes first, a text that no item has comes last: it may be a refusal.
func (m *Model) itemParts(r *chat.Reply, text string) (parts []run.Part) {
	isReasoning := func(item chat.Item) bool { return item.Raw != nil }
	if r.Reasoning != "" && !slices.ContainsFunc(r.Items, isReasoning) {
		parts = append(parts, run.Part{Type: run.PartReasoning, Text: r.Reasoning})
	}
	hasText := false
	for _, item := range r.Items {
		switch {
		case item.Raw != nil:
			p := run.Part{Type: run.PartReasoning, Text: item.Summary}
			m.setHostData(&p, hostData{Item: item.Raw})
			parts = append(parts, p)
		case item.Text != nil:
			p := run.Part{Type: run.PartText, Text: item.Text.Text}
			if item.Text.Phase != "" {
				m.setHostData(&p, hostData{Phase: item.Text.Phase})
			}
			parts = append(parts, p)
			hasText = true
		case item.Call != nil:
			parts = append(parts, run.Part{Type: run.PartCall, ID: item.Call.ID, Name: item.Call.Name, Arguments: item.Call.Arguments})
		}
	}
	if !hasText && text != "" {
		parts = append(parts, run.Part{Type: run.PartText, Text: text})
	}
	return slices.Clip(parts)
}

// hostKey is the key of hostData in [run.Part.Provider].
const hostKey = "host"

// hostData is data that a provider wants back with a part of a message.
type hostData struct {
	Host    string          `json:"host"`              // the kind of provider, as in [Options.Host]; no other gets the data
	Extra   json.RawMessage `json:"extra,omitempty"`   // with a call, such as Gemini's thought signature
	Details json.RawMessage `json:"details,omitempty"` // with reasoning in Chat Completions
	Item    json.RawMessage `json:"item,omitempty"`    // with reasoning in the Responses API
	Phase   string          `json:"phase,omitempty"`   // with a text in the Responses API
}

// setHostData stores the data in a part.
func (m *Model) setHostData(p *run.Part, d hostData) {
	d.Host = m.chat.Host()
	data, _ := json.Marshal(d) // cannot fail: the members are JSON
	p.Provider = map[string]json.RawMessage{hostKey: data}
}

// hostDataOf returns the data of a part, and false if it has none or came from another kind of API.
func (m *Model) hostDataOf(p *run.Part) (hostData, bool) {
	if len(p.Provider[hostKey]) == 0 {
		return hostData{}, false
	}
	var d hostData
	if json.Unmarshal(p.Provider[hostKey], &d) != nil || d.Host != m.chat.Host() {
		return hostData{}, false
	}
	return d, true
}
