package chat

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// draft is a request in go-openai's types, with the changes to its JSON and what is needed to read the reply.
type draft struct {
	request openai.ChatCompletionRequest
	amend   amendment
	names   *names
	ids     map[string]bool // tool call ids of the conversation
	stops   []string
	must    bool   // the reply must call a tool
	toEnd   bool   // a stream is read to its end, as by Request.ToEnd
	streams bool   // the reply comes in pieces
	sent    int    // bytes of text in the messages
	note    string // for the person, with the reply

	memory       *Memory // nil if the host wants no data back, or the messages have it
	conversation conversationHash
}

// encode writes a request for the host.
func (c *Client) encode(r *Request, streams bool) (*draft, error) {
	d := &draft{
		names: namesOf(r), ids: map[string]bool{}, toEnd: r.ToEnd, streams: streams, sent: textSize(r.Messages),
		stops: slices.DeleteFunc(slices.Clone(r.Stop), func(s string) bool { return s == "" }),
	}
	if len(r.Metadata) > 0 {
		if err := c.CheckMetadata(); err != nil {
			return nil, err
		}
	}
	if err := d.checkChoice(r); err != nil {
		return nil, err
	}
	endpoint := c.EndpointOf(r)
	if !r.Recorded && (c.WantsDataBack() || endpoint == Responses) {
		d.conversation = newConversationHash()
		if d.memory = r.Memory; d.memory == nil {
			d.memory = c.memory
		}
	}
	d.request.Model = r.Model
	if checkedModel.MatchString(r.Model) { // go-openai refuses some fields for such a name that the host may take
		d.request.Model = "m"
		d.amend.field("model", r.Model)
	}
	rule := modelRule{sampling: always}
	if c.profile.OpenAIModels {
		rule = ruleOf(r.Model)
	}
	encode := c.encodeChat
	if endpoint == Responses {
		encode = c.encodeResponses
	}
	if err := encode(d, r, rule); err != nil {
		return nil, err
	}
	for key, value := range c.extra {
		d.amend.field(key, value)
	}
	return d, nil
}

// checkChoice checks that the choice of a tool fits the tools, and sets must.
func (d *draft) checkChoice(r *Request) error {
	choice := r.ToolChoice
	d.must = choice.Choice == Required || choice.Choice == Named
	switch {
	case d.must && len(r.Tools) == 0:
		return errors.New("a tool call is required, but there are no tools")
	case choice.Choice == Named && toolNamed(r.Tools, choice.Name) < 0:
		return fmt.Errorf("tool choice names %q, which is not among the tools", excerpt.Cut(choice.Name))
	}
	return nil
}

// toolNamed returns the index of a tool, -1 if there is none with this name.
func toolNamed(tools []Tool, name string) int {
	return slices.IndexFunc(tools, func(t Tool) bool { return t.Name == name })
}

// encodeChat writes a request for Chat Completions.
func (c *Client) encodeChat(d *draft, r *Request, rule modelRule) error {
	effort := r.ReasoningEffort
	if len(r.Tools) > 0 {
		var err error
		if effort, d.note, err = c.profile.withTools(r.Model, rule, effort); err != nil {
			return err
		}
	}
	c.encodeSampling(d, r, rule, effort)
	c.encodeTools(d, r)
	if c.profile.Developer && r.CacheKey != "" {
		d.amend.field("prompt_cache_key", cacheKey(r.CacheKey))
	}
	return c.encodeMessages(d, r, rule)
}

// checkedModel matches the models that go-openai has rules for. models.go has rules of its own.
var checkedModel = regexp.MustCompile(`^(?:o1|o3|o4|gpt-5|gpt-6)`)

// textSize returns the number of bytes of text in a conversation, without reasoning, which not every host reads.
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

// encodeSampling sets the parameters of the generation. The numbers are
// amendments, since go-openai drops zeros and applies gpt-5's restrictions to
// every gpt-5 model.
func (c *Client) encodeSampling(d *draft, r *Request, rule modelRule, effort string) {
	q := &d.request
	if r.MaxTokens > 0 {
		d.amend.field(c.tokenField(), r.MaxTokens)
	} else if _, needed := c.needBound.Load(r.Model); needed {
		c.addBound(d)
	}
	if rule.samplingWith(effort) {
		d.amend.number("temperature", r.Temperature)
		d.amend.number("top_p", r.TopP)
		d.amend.number("presence_penalty", r.PresencePenalty)
		d.amend.number("frequency_penalty", r.FrequencyPenalty)
	}
	q.ReasoningEffort = effort
	q.Metadata = r.Metadata
	switch {
	case r.Seed == nil:
	case c.profile.SeedField == "":
		q.Seed = r.Seed
	default:
		d.amend.field(c.profile.SeedField, *r.Seed)
	}
	if !rule.reasons && !rule.none { // models that may reason refuse the field; the reply is cut here
		q.Stop = c.profile.stops(d.stops)
	}
	q.ResponseFormat = responseFormat(r)
}

func (c *Client) tokenField() string { return cmp.Or(c.profile.TokenField, "max_tokens") }

// upstreamTokens bounds a reply, in tokens, if the request has no bound and the API behind a gateway requires one:
// Anthropic's does, and not every gateway adds one.
const upstreamTokens = 8192

// addBound bounds the reply to a request without a bound. It reports whether there was none.
func (c *Client) addBound(d *draft) (changed bool) {
	if _, set := d.amend.fields[c.tokenField()]; set || d.amend.body != nil {
		return false
	}
	d.amend.field(c.tokenField(), upstreamTokens)
	return true
}

// responseFormat returns the response_format of a request, nil for none.
func responseFormat(r *Request) *openai.ChatCompletionResponseFormat {
	switch {
	case r.Format != nil:
		return &openai.ChatCompletionResponseFormat{
			Type:       openai.ChatCompletionResponseFormatTypeJSONSchema,
			JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: r.Format.Name, Schema: r.Format.Schema, Strict: true},
		}
	case r.JSON:
		return &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	}
	return nil
}

// encodeTools sets the tools and the choice among them.
func (c *Client) encodeTools(d *draft, r *Request) {
	tools, choice := r.Tools, r.ToolChoice
	if choice.Choice == Named && !c.profile.NamedChoice { // offer only that tool
		i := toolNamed(tools, choice.Name)
		tools, choice = tools[i:i+1], ToolChoice{Choice: Required}
	}
	if choice.Choice == None && c.profile.NoneDrops || len(tools) == 0 {
		return
	}
	for _, t := range tools {
		d.request.Tools = append(d.request.Tools, openai.Tool{
			Type: openai.ToolTypeFunction,
			Function: &openai.FunctionDefinition{
				Name: d.names.outgoing(t.Name), Description: t.Description,
				Strict: t.Strict && c.profile.Strict, Parameters: parameters(t.Parameters),
			},
		})
	}
	d.request.ToolChoice = c.toolChoice(d, choice)
	switch {
	case r.ParallelToolCalls != nil:
		d.request.ParallelToolCalls = *r.ParallelToolCalls
	case c.profile.Parallel:
		d.request.ParallelToolCalls = true
	}
}

// parameters returns a tool's schema. Hosts refuse null.
func parameters(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 || string(schema) == "null" {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return schema
}

// toolChoice returns the tool_choice of a request, nil for the default.
func (c *Client) toolChoice(d *draft, choice ToolChoice) any {
	switch choice.Choice {
	case None:
		return "none"
	case Named:
		return openai.ToolChoice{
			Type:     openai.ToolTypeFunction,
			Function: openai.ToolFunction{Name: d.names.outgoing(choice.Name)},
		}
	case Required:
		if c.profile.Required != requiredBySystem {
			return string(c.profile.Required)
		}
	}
	return nil // auto is the default everywhere
}
