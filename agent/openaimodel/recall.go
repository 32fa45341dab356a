package openaimodel

import (
	"encoding/json"
	"maps"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/internal/chat"
)

const (
	// hostDataKey is where the GenerationInfo of a reply has what the host wants back with the
	// calls, by their ids: a map[string]json.RawMessage. Package agent keeps it with a run.
	hostDataKey = "HostData"

	// recallKey is where [Model.Recall] keeps its function in the metadata of a call.
	recallKey = "openaimodel.recall"
)

// hostData is what a host wants back with a call: Gemini its thought signature, DeepSeek and
// Moonshot the reasoning of the reply.
type hostData struct {
	Host      string          `json:"host"` // its kind of API, see [Options.Host]; no other kind gets it
	Extra     json.RawMessage `json:"extra,omitempty"`
	Reasoning string          `json:"reasoning,omitempty"` // with the first call of a reply
}

// hostData is what the host wants back with the calls of a reply, by their ids.
func (m *Model) hostData(r *chat.Reply) map[string]json.RawMessage {
	if !m.chat.WantsCallsBack() {
		return nil
	}
	all := map[string]json.RawMessage{}
	for i, call := range r.ToolCalls {
		d := hostData{Host: m.chat.Host(), Extra: call.Extra}
		if i == 0 {
			d.Reasoning = r.Reasoning
		}
		if d.Extra == nil && d.Reasoning == "" {
			continue
		}
		if data, err := json.Marshal(d); err == nil { // Extra is a JSON object
			all[call.ID] = data
		}
	}
	return all
}

// Recall returns an option by which the host gets back what it has sent with its calls, for
// conversations that go on in another process: of returns what the GenerationInfo of the reply
// had under "HostData" for the id of a call, nil for none. Data goes to hosts of the same kind of API
// only ([Options.Host]), whatever their URL: the endpoint may move, or be reached by a proxy. The option
// is nil if the host wants nothing back. Package agent calls it.
func (m *Model) Recall(of func(id string) json.RawMessage) llms.CallOption {
	if !m.chat.WantsCallsBack() {
		return nil
	}
	return func(o *llms.CallOptions) {
		metadata := maps.Clone(o.Metadata)
		if metadata == nil {
			metadata = map[string]any{}
		}
		metadata[recallKey] = of
		o.Metadata = metadata
	}
}

// recalled is what the options have for a call of an earlier reply of a host of this kind.
func (m *Model) recalled(o *llms.CallOptions, id string) (d hostData) {
	of, _ := o.Metadata[recallKey].(func(string) json.RawMessage)
	if of == nil {
		return d
	}
	if data := of(id); len(data) == 0 || json.Unmarshal(data, &d) != nil || d.Host != m.chat.Host() {
		return hostData{}
	}
	return d
}
