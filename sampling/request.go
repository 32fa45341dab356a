package sampling

import (
	"bytes"
	"encoding/json"

	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// chatRequest translates a checked request for the model. It ignores includeContext:
// servers must not see the data of other servers.
func chatRequest(req *Request, tools offer, o *Options) *chat.Request {
	p := req.Params
	out := &chat.Request{
		Model: req.Model, MaxTokens: int(p.MaxTokens), Temperature: p.Temperature, Stop: p.StopSequences,
		ReasoningEffort: o.Effort, ToolChoice: toolChoice(p), ReadToEnd: true,
		Metadata: metadata(p.Metadata, o.Metadata), Tools: tools.tools(p.Tools),
	}
	if p.SystemPrompt != "" {
		out.Messages = append(out.Messages, chat.Text(chat.System, p.SystemPrompt))
	}
	w := &writer{messages: out.Messages, tools: tools}
	for _, m := range p.Messages {
		w.addMessage(m)
	}
	out.Messages = w.finish()
	if len(p.Messages) == 0 { // the protocol allows no messages, hosts of models do not
		out.Messages = append(out.Messages, chat.Text(chat.User, ""))
	}
	return out
}

// Bounds of OpenAI for metadata.
const (
	maxMetadata      = 16
	maxMetadataKey   = 64
	maxMetadataValue = 512
)

// metadata copies the allowed keys of a server's metadata. Hosts require text, so numbers and
// booleans become their JSON. Lists, objects, null and long values are left out.
func metadata(raw json.RawMessage, allowed []string) map[string]string {
	var all map[string]json.RawMessage
	if len(allowed) == 0 || json.Unmarshal(raw, &all) != nil {
		return nil
	}
	out := map[string]string{}
	for _, key := range allowed {
		value := bytes.TrimSpace(all[key])
		if len(value) == 0 || len(key) > maxMetadataKey || len(out) == maxMetadata || bytes.ContainsAny(value[:1], "[{n") {
			continue
		}
		text := string(value)
		if value[0] == '"' && json.Unmarshal(value, &text) != nil {
			continue
		}
		if len(text) <= maxMetadataValue {
			out[key] = text
		}
	}
	return out
}

// toolChoice returns the choice of tools for the host; the zero value leaves it to the model.
func toolChoice(p *mcp.CreateMessageParams) chat.ToolChoice {
	if p.ToolChoice != nil {
		switch p.ToolChoice.Mode {
		case "required":
			return chat.ToolChoice{Choice: chat.Required}
		case "none":
			return chat.ToolChoice{Choice: chat.None}
		}
	}
	return chat.ToolChoice{}
}
