package chat

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// The wire types of Chat Completions.
type (
	chatMessage struct {
		Role             string          `json:"role"`
		Content          any             `json:"content,omitzero"` // a string, or parts
		Name             string          `json:"name,omitempty"`
		CallID           string          `json:"tool_call_id,omitempty"`
		Calls            []chatCall      `json:"tool_calls,omitempty"`
		Reasoning        string          `json:"reasoning,omitempty"`
		ReasoningContent string          `json:"reasoning_content,omitempty"`
		Details          json.RawMessage `json:"reasoning_details,omitempty"`
	}
	chatPart struct {
		Type     string            `json:"type"`
		Text     string            `json:"text,omitempty"`
		Image    map[string]string `json:"image_url,omitempty"`
		Audio    map[string]string `json:"input_audio,omitempty"`
		Thinking []chatPart        `json:"thinking,omitempty"` // Mistral
		Closed   bool              `json:"closed,omitempty"`   // of a thought that has ended
	}
	chatCall struct {
		ID       string          `json:"id"`
		Type     string          `json:"type"`
		Function calledFunction  `json:"function"`
		Extra    json.RawMessage `json:"extra_content,omitempty"`
	}
	calledFunction struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	chatTool struct {
		Type     string       `json:"type"`
		Function chatFunction `json:"function"`
	}
	chatFunction struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Strict      bool            `json:"strict,omitempty"`
		Parameters  json.RawMessage `json:"parameters"`
	}
)

// draft is a request as it is sent, with the data that is needed to read the reply.
type draft struct {
	profile      *Profile // of the host for the model
	model        string
	fields       map[string]any
	request      *http.Request // with the fields as its body
	messages     []chatMessage // messages for Chat Completions
	hasReasoning bool          // a message has reasoning
	endpoint     string        // [Chat] or [Responses]
	wantedEffort string        // as the caller asks for it

	names     *names
	ids       *ids
	toolNames map[string]string // the host's names of the tools, by the ids of their calls
	stops     []string
	mustCall  bool   // the reply must call a tool
	readToEnd bool   // see Request.ReadToEnd
	streams   bool   // the reply comes in pieces
	textBytes int    // bytes of text in the messages
	warning   string // see Reply.Warning

	memory       *Memory // nil if the host wants no data back, or the messages have it
	conversation conversationHash

	reply *Reply // once its answer has ended
}

// encode writes a request for the host.
func (c *Client) encode(r *Request, streams bool) (*draft, error) {
	if learned, ok := c.learned.Load(r.Model); ok {
		return c.encodeBy(learned.(*Profile), r, streams)
	}
	return c.encodeBy(&c.profile, r, streams)
}

// encodeBy writes a request by a profile of the host.
func (c *Client) encodeBy(profile *Profile, r *Request, streams bool) (*draft, error) {
	d := &draft{
		profile:   profile,
		model:     r.Model,
		endpoint:  c.EndpointOf(r),
		fields:    map[string]any{"model": r.Model},
		names:     newNames(r),
		ids:       newIDs(profile.IDs),
		toolNames: map[string]string{},
		readToEnd: r.ReadToEnd,
		streams:   streams,
		textBytes: textSize(r.Messages),
		stops:     slices.DeleteFunc(slices.Clone(r.Stop), func(s string) bool { return s == "" }),
	}
	if len(r.Metadata) > 0 {
		if err := c.CheckMetadata(); err != nil {
			return nil, err
		}
		d.fields["metadata"] = r.Metadata
	}
	if profile.Developer {
		set(d, "prompt_cache_key", cacheKey(r.CacheKey))
	}
	if err := d.checkChoice(r); err != nil {
		return nil, err
	}
	if !r.Recorded && (profile.Reasoning != "" || profile.EchoExtra || d.endpoint == Responses) {
		d.conversation = newConversationHash()
		d.memory = cmp.Or(r.Memory, c.memory)
	}
	rule := modelRule{sampling: always}
	if profile.OpenAIModels {
		rule = findRule(r.Model)
	}
	encode := d.encodeChat
	if d.endpoint == Responses {
		encode, d.ids = d.encodeResponses, newIDs(plainID)
	}
	if err := encode(r, rule); err != nil {
		return nil, err
	}
	for key, value := range c.extra {
		d.fields[key] = value
	}
	var err error
	d.request, err = c.newRequest(d)
	return d, err
}

// set sets a field unless the value is the zero one.
func set[T comparable](d *draft, key string, value T) {
	if value != *new(T) {
		d.fields[key] = value
	}
}

// checkChoice checks that the choice of a tool fits the tools, and sets mustCall.
func (d *draft) checkChoice(r *Request) error {
	choice := r.ToolChoice
	d.mustCall = choice.Choice == Required || choice.Choice == Named
	switch {
	case d.mustCall && len(r.Tools) == 0:
		return errors.New("tool call is required, but there are no tools")
	case choice.Choice == Named && findTool(r.Tools, choice.Name) < 0:
		return fmt.Errorf("tool choice names %q, which is not among the tools", excerpt.Cut(choice.Name))
	}
	return nil
}

// findTool returns the index of a tool, -1 if there is none with this name.
func findTool(tools []Tool, name string) int {
	return slices.IndexFunc(tools, func(t Tool) bool { return t.Name == name })
}

// encodeChat writes a request for Chat Completions.
func (d *draft) encodeChat(r *Request, rule modelRule) error {
	effort := d.effort(r)
	if len(r.Tools) > 0 {
		possible, warning, err := d.profile.effortWithTools(r.Model, rule, effort)
		if err != nil {
			return err
		}
		effort = possible
		d.warn(warning)
	}
	d.encodeGeneration(r, rule, effort)
	d.encodeTools(r)
	err := d.encodeMessages(r, rule)
	d.fields["messages"], d.fields["stream"] = d.messages, d.streams
	return err
}

// effortField is the field of the effort in Chat Completions.
const effortField = "reasoning_effort"

// effort returns the effort of a request, "" if the model refuses it.
func (d *draft) effort(r *Request) string {
	d.wantedEffort = r.ReasoningEffort
	if r.ReasoningEffort == "" || d.leavesOut("effort", setting{effortField, r.ReasoningEffort}) {
		return ""
	}
	return r.ReasoningEffort
}

// leavesOut reports whether the host has refused a setting, and warns if it has.
func (d *draft) leavesOut(name string, s setting) bool {
	if !d.profile.hasRefused(s) {
		return false
	}
	d.warn(fmt.Sprintf("the model %s does not take the %s %s: it is left out", excerpt.Cut(d.model), name, excerpt.Cut(fmt.Sprint(s.value))))
	return true
}

// setSampling sets a field about how tokens are chosen, unless it is nil or the model refuses it.
func (d *draft) setSampling(field string, value *float64) {
	if value != nil && !d.leavesOut(field, setting{field, *value}) {
		d.fields[field] = *value
	}
}

// textSize returns the number of bytes of text and arguments in a conversation, without reasoning, which not every host
// reads.
func textSize(messages []Message) (n int) {
	for i := range messages {
		for j := range messages[i].Parts {
			n += len(messages[i].Parts[j].Text)
		}
		for j := range messages[i].ToolCalls {
			n += len(messages[i].ToolCalls[j].Arguments)
		}
	}
	return n
}

// warn adds a warning, if it is not "".
func (d *draft) warn(text string) {
	if d.warning != "" && text != "" {
		text = d.warning + "; " + text
	}
	d.warning = cmp.Or(text, d.warning)
}

// encodeGeneration sets the fields about how the reply is generated and where it ends, and its format.
func (d *draft) encodeGeneration(r *Request, rule modelRule, effort string) {
	p := d.profile
	if r.MaxTokens > 0 {
		d.fields[p.tokenField()] = r.MaxTokens
	} else if p.NeedsMaxTokens {
		d.fields[p.tokenField()] = upstreamTokens
	}
	if rule.samplingWith(effort) {
		d.setSampling("temperature", r.Temperature)
		d.setSampling("top_p", r.TopP)
		d.setSampling("presence_penalty", r.PresencePenalty)
		d.setSampling("frequency_penalty", r.FrequencyPenalty)
	}
	if effort == "none" && p.ThinkingOff {
		d.fields["thinking"] = map[string]string{"type": "disabled"}
	} else {
		set(d, effortField, effort)
	}
	set(d, cmp.Or(p.SeedField, "seed"), r.Seed)
	// Models that may reason refuse stop sequences; their reply is cut here.
	if stops := p.stops(d.stops); len(stops) > 0 && !rule.reasons && !rule.effortNone {
		d.fields["stop"] = stops
	}
	switch {
	case r.Format != nil:
		schema := map[string]any{"name": r.Format.Name, "schema": r.Format.Schema, "strict": true}
		d.fields["response_format"] = map[string]any{"type": "json_schema", "json_schema": schema}
	case r.JSON:
		d.fields["response_format"] = map[string]any{"type": "json_object"}
	}
	if d.streams && p.StreamUsage {
		d.fields["stream_options"] = map[string]bool{"include_usage": true}
	}
}

// upstreamTokens bounds a reply, in tokens, if the request has no bound and the API behind a gateway requires one:
// Anthropic's does, and not every gateway adds one.
const upstreamTokens = 8192

// encodeTools sets the tools and the choice among them.
func (d *draft) encodeTools(r *Request) {
	p, tools, choice := d.profile, r.Tools, r.ToolChoice
	if choice.Choice == Named && !p.NamedChoice { // offer only that tool
		i := findTool(tools, choice.Name)
		tools, choice = tools[i:i+1], ToolChoice{Choice: Required}
	}
	if choice.Choice == None && p.NoneDrops || len(tools) == 0 {
		return
	}
	offered := make([]chatTool, len(tools))
	for i, t := range tools {
		offered[i] = chatTool{Type: "function"}
		offered[i].Function = chatFunction{d.names.outgoing(t.Name), t.Description, t.Strict && p.Strict, parameters(t.Parameters)}
	}
	d.fields["tools"] = offered
	switch {
	case choice.Choice == None:
		d.fields["tool_choice"] = "none"
	case choice.Choice == Named:
		d.fields["tool_choice"] = map[string]any{"type": "function", "function": map[string]string{"name": d.names.outgoing(choice.Name)}}
	case choice.Choice == Required:
		set(d, "tool_choice", string(p.Required)) // "": an instruction asks for the call
	}
	if p.Parallel {
		d.fields["parallel_tool_calls"] = true
	}
}

// parameters returns a tool's schema. Hosts refuse null.
func parameters(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 || string(schema) == "null" {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return schema
}
