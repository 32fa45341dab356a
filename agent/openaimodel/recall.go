package openaimodel

import (
	"cmp"
	"encoding/json"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/internal/chat"
)

// hostDataKey is where the GenerationInfo of a reply has what the host wants back: with the calls by
// their ids, with the message by "", a map[string]json.RawMessage. Package agent keeps it with a run.
const hostDataKey = "HostData"

// hostPart is a part of a message with what a host wants back with a call, or with the message if
// call is "".
type hostPart interface {
	llms.ContentPart
	HostData() (call string, data json.RawMessage)
}

// hostData is what a host wants back: Gemini the thought signature of a call, others the reasoning.
type hostData struct {
	Host      string          `json:"host"` // its kind of API, see [Options.Host]; no other kind gets it
	Extra     json.RawMessage `json:"extra,omitempty"`
	Reasoning string          `json:"reasoning,omitempty"` // package convert puts it in
	Details   json.RawMessage `json:"details,omitempty"`
}

// hostData is what the host wants back with a reply.
func (m *Model) hostData(r *chat.Reply) map[string]json.RawMessage {
	if !m.chat.WantsDataBack() {
		return nil
	}
	all := map[string]json.RawMessage{}
	put := func(id string, d hostData) {
		d.Host = m.chat.Host()
		if data, err := json.Marshal(d); err == nil { // the members are JSON
			all[id] = data
		}
	}
	if m.chat.EchoesReasoning() && (r.Reasoning != "" || r.Details != nil) {
		put("", hostData{Details: r.Details})
	}
	for _, call := range r.ToolCalls {
		if call.Extra != nil {
			put(call.ID, hostData{Extra: call.Extra})
		}
	}
	return all
}

// TakesHostData reports whether the messages of the assistant may have parts with what the host wants
// back, for conversations that continue in another process: a method HostData returns what the
// GenerationInfo of a reply had under "HostData". Data goes to hosts of the same kind of API only
// ([Options.Host]), whatever their URL: the endpoint may move, or be reached by a proxy. Package agent calls it.
func (m *Model) TakesHostData() bool { return m.chat.WantsDataBack() }

// recall gives a message what the host wants back with it.
func (m *Model) recall(msg *chat.Message, extras map[string]json.RawMessage, p hostPart) {
	call, data := p.HostData()
	var d hostData
	if json.Unmarshal(data, &d) != nil || d.Host != m.chat.Host() {
		return
	}
	msg.Reasoning = cmp.Or(msg.Reasoning, d.Reasoning)
	if msg.Details == nil {
		msg.Details = d.Details
	}
	if call != "" && d.Extra != nil {
		extras[call] = d.Extra
	}
}
