package chat

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// Item is a piece of an assistant's message, in the order of the Responses API. Raw, Text or Call is set.
type Item struct {
	Raw     json.RawMessage // reasoning with its encrypted content, which goes back as it came
	Summary string          // in a reply: what the host shows of the reasoning
	Text    *ItemText
	Call    *ToolCall
}

// ItemText is a text of the model. Phase is "commentary" or "final_answer" if the host sends it.
type ItemText struct{ Text, Phase string }

// The wire types of a request to the Responses API.
type (
	responsesTool struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      bool            `json:"strict"` // the host's default is true
	}
	responsesMessage struct {
		Type    string `json:"type"`
		Role    string `json:"role"`
		Content any    `json:"content"` // a string, or a list of parts
		Phase   string `json:"phase,omitempty"`
	}
	responsesPart struct {
		Type     string `json:"type"`
		Text     string `json:"text,omitempty"`
		ImageURL string `json:"image_url,omitempty"`
		Detail   string `json:"detail,omitempty"`
		Filename string `json:"filename,omitempty"`
		FileData string `json:"file_data,omitempty"`
		FileURL  string `json:"file_url,omitempty"`
	}
	responsesAddition struct {
		Type  string          `json:"type"`
		Role  string          `json:"role"`
		Tools []responsesTool `json:"tools"`
	}
	responsesCall struct {
		Type      string `json:"type"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	responsesResult struct {
		Type   string `json:"type"`
		CallID string `json:"call_id"`
		Output any    `json:"output"` // a string, or a list of parts
	}
)

// encodeResponses writes a request for the Responses API. It has no field for stop sequences: the reply is cut here.
func (d *draft) encodeResponses(r *Request, rule modelRule) error {
	d.fields["store"] = false // the caller keeps the conversation
	set(d, "stream", d.streams)
	if r.MaxTokens > 0 {
		d.fields["max_output_tokens"] = max(r.MaxTokens, leastTokens)
	}
	effort := d.effort(r)
	if rule.samplingWith(effort) {
		d.setSampling("temperature", r.Temperature)
		d.setSampling("top_p", r.TopP)
	}
	if effort != "" {
		d.fields["reasoning"] = map[string]string{"effort": effort}
	}
	if d.profile.Developer && (rule.reasons || rule.effortNone) {
		d.fields["include"] = []string{"reasoning.encrypted_content"}
	}
	switch {
	case r.Format != nil:
		format := map[string]any{"type": "json_schema", "name": r.Format.Name, "schema": r.Format.Schema, "strict": true}
		d.fields["text"] = map[string]any{"format": format}
	case r.JSON:
		d.fields["text"] = map[string]any{"format": map[string]string{"type": "json_object"}}
	}
	later := map[string]responsesTool{}
	if d.profile.Developer && rule.addsTools {
		for i := range r.Messages {
			for _, name := range r.Messages[i].Tools {
				later[name] = responsesTool{}
			}
		}
	}
	d.responsesTools(r, later)
	return d.responsesInput(r, later)
}

const (
	maxCacheKey = 64 // bytes of prompt_cache_key
	leastTokens = 16 // the least max_output_tokens that the API accepts
)

// cacheKey returns a key of a length that the host accepts.
func cacheKey(key string) string {
	if len(key) > maxCacheKey {
		return digest(key, 40)
	}
	return key
}

// responsesTools sets the tools, except those that come later in the conversation: their definitions go to later.
func (d *draft) responsesTools(r *Request, later map[string]responsesTool) {
	if len(r.Tools) == 0 {
		return
	}
	var first []responsesTool
	for _, t := range r.Tools {
		tool := responsesTool{
			Type: "function", Name: d.names.outgoing(t.Name), Description: t.Description,
			Parameters: parameters(t.Parameters), Strict: t.Strict && d.profile.Strict,
		}
		if _, ok := later[t.Name]; ok {
			later[t.Name] = tool
		} else {
			first = append(first, tool)
		}
	}
	if len(first) > 0 {
		d.fields["tools"] = first
	}
	switch r.ToolChoice.Choice {
	case None:
		d.fields["tool_choice"] = "none"
	case Required:
		d.fields["tool_choice"] = "required"
	case Named:
		d.fields["tool_choice"] = map[string]string{"type": "function", "name": d.names.outgoing(r.ToolChoice.Name)}
	}
}

// responsesInput sets the conversation as items. Tools that come later follow the results that name them.
func (d *draft) responsesInput(r *Request, later map[string]responsesTool) error {
	system, rest := leadingSystem(r.Messages)
	set(d, "instructions", strings.Join(system, "\n\n"))
	input := []any{}
	var added []responsesTool
	addTools := func() {
		if len(added) > 0 {
			input, added = append(input, responsesAddition{"additional_tools", "developer", added}), nil
		}
	}
	if err := d.encodeEach(r, rest, func(m *Message) error {
		if m.Role != ToolRole {
			addTools()
		}
		items, err := d.responsesItems(m)
		input = append(input, items...)
		for _, name := range m.Tools {
			if tool := later[name]; tool.Name != "" {
				added = append(added, tool)
				delete(later, name)
			}
		}
		return err
	}); err != nil {
		return err
	}
	addTools()
	if len(input) == 0 && len(system) == 0 {
		return errors.New("no messages")
	}
	d.fields["input"] = input
	return nil
}

// responsesItems returns the items of a message.
func (d *draft) responsesItems(m *Message) ([]any, error) {
	switch m.Role {
	case System:
		role := "system"
		if d.profile.Developer {
			role = "developer"
		}
		return []any{responsesMessage{Type: "message", Role: role, Content: joinText(m.Parts)}}, nil
	case User:
		parts, err := d.responsesParts(m.Parts)
		if len(parts) == 0 {
			parts = []responsesPart{{Type: "input_text", Text: " "}}
		}
		return []any{responsesMessage{Type: "message", Role: "user", Content: parts}}, err
	case Assistant:
		return d.responsesAssistant(m)
	}
	result := responsesResult{Type: "function_call_output", CallID: d.ids.outgoing(m.ToolCallID), Output: joinText(m.Parts)}
	if !slices.ContainsFunc(m.Parts, Part.isMedia) {
		return []any{result}, nil
	}
	parts, err := d.responsesParts(m.Parts)
	result.Output = parts
	return []any{result}, err
}

// responsesAssistant returns the items of an assistant's message, in the order in which they came if that is known.
func (d *draft) responsesAssistant(m *Message) (out []any, err error) {
	items := m.Items
	if items == nil {
		items = d.reconstructItems(m)
	}
	for _, item := range withoutTrailingReasoning(items) {
		switch {
		case item.Raw != nil:
			out = append(out, item.Raw)
		case item.Text != nil && item.Text.Text != "":
			out = append(out, responsesMessage{Type: "message", Role: "assistant", Content: item.Text.Text, Phase: item.Text.Phase})
		case item.Call != nil:
			id, name := d.ids.outgoing(item.Call.ID), d.names.outgoing(item.Call.Name)
			out = append(out, responsesCall{"function_call", id, name, objectText(item.Call.Arguments)})
		}
	}
	if slices.ContainsFunc(m.Parts, Part.isMedia) {
		return nil, errors.New("assistant message takes text only")
	}
	return out, nil
}

// reconstructItems returns the items of a message whose order is not known: remembered reasoning,
// then text, then calls.
func (d *draft) reconstructItems(m *Message) (items []Item) {
	details := m.Details
	if details == nil && len(m.ToolCalls) > 0 {
		details = d.recall(&m.ToolCalls[0]).details
	}
	var reasoning []json.RawMessage
	if json.Unmarshal(details, &reasoning) == nil {
		for _, raw := range reasoning {
			if kind, _ := jsonrpc.String(jsonrpc.Lookup(raw, "type")); kind == "reasoning" {
				items = append(items, Item{Raw: raw})
			}
		}
	}
	if text := joinText(m.Parts); text != "" {
		items = append(items, Item{Text: &ItemText{Text: text}})
	}
	for i := range m.ToolCalls {
		items = append(items, Item{Call: &m.ToolCalls[i]})
	}
	return items
}

// responsesParts returns the parts of a user's message or of a tool's result.
func (d *draft) responsesParts(parts []Part) (out []responsesPart, err error) {
	for i := range parts {
		p := &parts[i]
		if err := d.profile.checkPart(p); err != nil {
			return nil, err
		}
		switch {
		case p.Audio != nil:
			return nil, errors.New("the Responses API takes no audio")
		case p.Image != nil:
			out = append(out, responsesPart{Type: "input_image", ImageURL: p.Image.url(), Detail: cmp.Or(p.Image.Detail, "auto")})
		case p.File != nil && p.File.Data == nil:
			out = append(out, responsesPart{Type: "input_file", FileURL: p.File.URL})
		case p.File != nil:
			out = append(out, responsesPart{Type: "input_file", Filename: p.File.Name, FileData: dataURL(p.File.MIMEType, p.File.Data)})
		case p.Text != "":
			out = append(out, responsesPart{Type: "input_text", Text: p.Text})
		}
	}
	return out, nil
}
