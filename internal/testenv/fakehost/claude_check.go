package fakehost

import (
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// ClaudeRequest is a request of the Messages API that passed all checks.
type ClaudeRequest struct {
	Model     string                     `json:"model"`
	MaxTokens int                        `json:"max_tokens"`
	System    []Content                  `json:"system"`
	Messages  []Message                  `json:"messages"`
	Tools     []Tool                     `json:"tools"`
	Choice    map[string]string          `json:"tool_choice"`
	Thinking  map[string]any             `json:"thinking"`
	Output    map[string]json.RawMessage `json:"output_config"`
	Usage     Usage                      `json:"-"`

	blocks []cacheBlock // blocks in the order of the cache
	rule   claudeRule
}

// Message is a message of a request.
type Message struct {
	Role    string    `json:"role"`
	Content []Content `json:"content"`
}

// Content is a block of a message. Raw has all of its members.
type Content struct {
	Type      string    `json:"type"`
	Text      string    `json:"text"`
	Thinking  string    `json:"thinking"`
	Signature string    `json:"signature"`
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	CallID    string    `json:"tool_use_id"`
	ToolName  string    `json:"tool_name"`
	Content   []Content `json:"content"`
	IsError   bool      `json:"is_error"`

	Raw map[string]json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps all members in Raw.
func (c *Content) UnmarshalJSON(data []byte) error {
	type plain Content
	return errors.Join(json.Unmarshal(data, (*plain)(c)), json.Unmarshal(data, &c.Raw))
}

// Tool is the definition of a tool. Raw has all of its members.
type Tool struct {
	Name     string                     `json:"name"`
	Deferred bool                       `json:"defer_loading"`
	Raw      map[string]json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps all members in Raw.
func (t *Tool) UnmarshalJSON(data []byte) error {
	type plain Tool
	return errors.Join(json.Unmarshal(data, (*plain)(t)), json.Unmarshal(data, &t.Raw))
}

type cacheBlock struct {
	text   []byte
	marked bool
}

// claudeRule lists the parameters that a model accepts, by Anthropic's reference.
type claudeRule struct {
	reply    int    // most tokens of a reply
	thinking string // types of thinking
	sampling bool   // accepts a temperature
	efforts  string // levels of effort; empty for none
	format   bool   // accepts a schema for its text
	refers   bool   // accepts results that refer to tools
}

var claudeRules = map[string]claudeRule{
	"claude-fable-5":    {128_000, "adaptive", false, "low medium high xhigh max", true, true},
	"claude-opus-5-5":   {128_000, "adaptive", false, "low medium high xhigh max", true, true},
	"claude-sonnet-5-5": {128_000, "adaptive between_tools", false, "low medium high xhigh max", true, true},
	"claude-haiku-5-5":  {128_000, "adaptive disabled", false, "low medium high xhigh max", true, true},
	"claude-opus-5":     {128_000, "adaptive disabled", false, "low medium high xhigh max", true, true},
	"claude-sonnet-5":   {128_000, "adaptive disabled", false, "low medium high xhigh max", true, true},
	"claude-opus-4-8":   {128_000, "adaptive disabled", false, "low medium high xhigh max", true, true},
	"claude-opus-4-7":   {128_000, "adaptive disabled", false, "low medium high xhigh max", true, true},
	"claude-opus-4-6":   {128_000, "adaptive disabled enabled", true, "low medium high max", true, true},
	"claude-sonnet-4-6": {64_000, "adaptive disabled enabled", true, "low medium high max", true, true},
	"claude-opus-4-5":   {64_000, "disabled enabled", true, "low medium high", true, true},
	"claude-sonnet-4-5": {64_000, "disabled enabled", true, "", true, true},
	"claude-haiku-4-5":  {64_000, "disabled enabled", true, "", true, true},
	"claude-opus-4-0":   {32_000, "disabled enabled", true, "", false, false},
}

// ClaudeModels lists the models that the host knows.
func ClaudeModels() []string { return slices.Sorted(maps.Keys(claudeRules)) }

// checkClaude reads a request and refuses it as Anthropic would. sign signs thoughts as the host does.
func checkClaude(body []byte, sign func(string) string) (*ClaudeRequest, error) {
	if err := Messages(body); err != nil {
		return nil, Refuse("by the published schema: %v", err)
	}
	var all map[string]json.RawMessage
	r := &ClaudeRequest{}
	if err := errors.Join(json.Unmarshal(body, &all), json.Unmarshal(body, r)); err != nil {
		return nil, err
	}
	model, ok := claudeRules[r.Model]
	r.rule = model
	switch {
	case !ok:
		return nil, Refuse("model: %s", r.Model)
	case r.MaxTokens > model.reply:
		return nil, Refuse("max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s", r.MaxTokens, model.reply, r.Model)
	case all["temperature"] != nil && !model.sampling:
		return nil, Refuse("`temperature` is deprecated for this model.")
	}
	checkMessages := func() error { return r.checkMessages(sign) }
	for _, check := range []func() error{r.checkThinking, r.checkOutput, r.checkTools, checkMessages, r.checkCache} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	if kind, _ := r.Thinking["type"].(string); all["temperature"] != nil && kind != "" && kind != "disabled" {
		return nil, Refuse("`temperature` may only be set to 1 when thinking is enabled")
	}
	return r, nil
}

func (r *ClaudeRequest) checkThinking() error {
	isForced := r.Choice["type"] == "any" || r.Choice["type"] == "tool"
	if isForced && !strings.Contains(r.rule.thinking, "disabled") {
		return Refuse("tool_choice: forced tool use is not supported for this model")
	}
	if r.Thinking == nil {
		return nil
	}
	kind, _ := r.Thinking["type"].(string)
	effort := string(r.Output["effort"])
	budget, _ := r.Thinking["budget_tokens"].(float64)
	switch {
	case !slices.Contains(strings.Fields(r.rule.thinking), kind):
		return Refuse("%q is not supported for this model", "thinking.type."+kind)
	case kind == "enabled" && int(budget) >= r.MaxTokens:
		return Refuse("`max_tokens` must be greater than `thinking.budget_tokens`")
	case (kind == "disabled" || kind == "between_tools") && (effort == `"xhigh"` || effort == `"max"`):
		return Refuse("thinking.type.%s is not supported with the effort %s", kind, effort)
	case kind != "disabled" && isForced:
		return Refuse("Thinking may not be enabled when tool_choice forces tool use.")
	}
	return nil
}

func (r *ClaudeRequest) checkOutput() error {
	if raw := r.Output["effort"]; raw != nil {
		var effort string
		if json.Unmarshal(raw, &effort) != nil || !slices.Contains(strings.Fields(r.rule.efforts), effort) {
			return Refuse("output_config.effort: %s is not supported for this model", raw)
		}
	}
	if raw := r.Output["format"]; raw != nil && !r.rule.format {
		return Refuse("output_config.format: not supported: %s", raw)
	}
	return nil
}

func (r *ClaudeRequest) checkTools() error {
	names := map[string]bool{}
	if len(r.Tools) > 0 && !slices.ContainsFunc(r.Tools, func(t Tool) bool { return !t.Deferred }) {
		return Refuse("At least one tool must have defer_loading=false.")
	}
	for _, t := range r.Tools {
		var schema map[string]any
		_ = json.Unmarshal(t.Raw["input_schema"], &schema)
		switch {
		case !toolName.MatchString(t.Name):
			return Refuse("tools.name: String should match pattern '%s'", toolName)
		case t.Deferred && t.Raw["cache_control"] != nil:
			return Refuse("tools.%s: cache_control cannot be used with defer_loading", t.Name)
		case t.Deferred && !r.rule.refers:
			return Refuse("tools.%s: defer_loading is not supported with %s", t.Name, r.Model)
		case names[t.Name]:
			return Refuse("tools: Tool names must be unique.")
		case schema["oneOf"] != nil || schema["anyOf"] != nil || schema["allOf"] != nil:
			return Refuse("tools.%s: input_schema does not support oneOf, allOf, or anyOf at the top level", t.Name)
		}
		names[t.Name] = true
	}
	switch kind := r.Choice["type"]; {
	case r.Choice == nil:
	case len(r.Tools) == 0:
		return Refuse("tool_choice may only be specified while providing tools.")
	case kind == "tool" && !names[r.Choice["name"]]:
		return Refuse("Tool %q not found in provided tools", r.Choice["name"])
	}
	return nil
}

func (r *ClaudeRequest) checkMessages(sign func(string) string) error {
	var waiting []string // ids of calls without results
	seen := map[string]bool{}
	for i, m := range r.Messages {
		if i == 0 && m.Role != "user" || i > 0 && r.Messages[i-1].Role == m.Role {
			return Refuse("messages.%d: role %q", i, m.Role)
		}
		if m.Role == "user" {
			if err := checkResults(i, m.Content, waiting); err != nil {
				return err
			}
			waiting = nil
		}
		for j, c := range m.Content {
			if err := r.checkBlock(m.Role, c, sign); err != nil {
				return Refuse("messages.%d.content.%d: %v", i, j, err)
			}
			if c.Type == "tool_use" {
				if seen[c.ID] {
					return Refuse("messages.%d.content.%d: `tool_use` ids must be unique", i, j)
				}
				seen[c.ID] = true
				waiting = append(waiting, c.ID)
			}
		}
	}
	return r.checkEnd()
}

// checkResults checks that a message begins with the results of all calls that wait for one.
func checkResults(message int, blocks []Content, waiting []string) error {
	results := 0
	for j, c := range blocks {
		if c.Type != "tool_result" {
			continue
		}
		call := slices.Index(waiting, c.CallID)
		if call < 0 || j != results {
			return Refuse("messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s", message, j, c.CallID)
		}
		waiting = slices.Delete(waiting, call, call+1)
		results++
	}
	if len(waiting) > 0 {
		return Refuse("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %v", message, waiting)
	}
	return nil
}

// checkEnd checks the last messages: a call that gets its result begins with a thought, and the model is not given the
// beginning of its reply.
func (r *ClaudeRequest) checkEnd() error {
	last := r.Messages[len(r.Messages)-1]
	if last.Role == "assistant" {
		return Refuse("This model does not support assistant message prefill. The conversation must end with a user message.")
	}
	if r.Thinking["type"] == "enabled" && last.Content[0].Type == "tool_result" {
		if first := r.Messages[len(r.Messages)-2].Content[0].Type; first != "thinking" && first != "redacted_thinking" {
			return Refuse("Expected `thinking` or `redacted_thinking`, but found `%s`", first)
		}
	}
	return nil
}

var toolName = regexp.MustCompile("^[a-zA-Z0-9_-]{1,128}$")

// checkBlock checks that a block may be in a message of the role, and that its thoughts are ours.
func (r *ClaudeRequest) checkBlock(role string, c Content, sign func(string) string) error {
	fromModel := c.Type == "thinking" || c.Type == "redacted_thinking" || c.Type == "tool_use"
	fromUser := c.Type == "tool_result" || c.Type == "image" || c.Type == "document"
	switch {
	case fromModel && role != "assistant", fromUser && role != "user":
		return Refuse("%s blocks are not allowed in %s messages", c.Type, role)
	case c.Type == "thinking" && c.Signature != sign(c.Thinking):
		return Refuse("Invalid `signature` in `thinking` block")
	case c.Type == "redacted_thinking" && !strings.Contains(string(c.Raw["data"]), sign("redacted")):
		return Refuse("Invalid `data` in `redacted_thinking` block, no signature of ours")
	case c.Type == "tool_use" && !toolName.MatchString(c.Name):
		return Refuse("tool_use.name: String should match pattern '%s'", toolName)
	case c.Type == "tool_result" && c.IsError && len(c.Content) == 0:
		return Refuse("tool_result: content cannot be empty if `is_error` is true")
	case c.Type == "tool_result" && c.IsError && slices.ContainsFunc(c.Content, func(b Content) bool { return b.Type != "text" }):
		return Refuse("tool_result: all content must be type `text` if `is_error` is true")
	case (c.Type == "tool_use" || c.Type == "tool_result") && len(r.Tools) == 0:
		return Refuse("Requests which include `tool_use` or `tool_result` blocks must define tools")
	}
	for _, inner := range c.Content {
		if inner.Type == "tool_reference" {
			if !slices.ContainsFunc(r.Tools, func(t Tool) bool { return t.Deferred && t.Name == inner.ToolName }) {
				return Refuse("Tool reference '%s' not found in available tools", inner.ToolName)
			}
		}
		if err := r.checkBlock("user", inner, sign); err != nil {
			return err
		}
	}
	return nil
}

// checkCache lists the blocks in the order in which the cache reads them, and counts the marks.
func (r *ClaudeRequest) checkCache() error {
	add := func(object any, raw map[string]json.RawMessage) {
		mark := raw["cache_control"]
		delete(raw, "cache_control")
		text, err := json.Marshal(object)
		if err != nil {
			panic(err)
		}
		r.blocks = append(r.blocks, cacheBlock{text, mark != nil})
	}
	for _, t := range r.Tools {
		if !t.Deferred {
			add(t.Raw, t.Raw)
		}
	}
	for _, c := range r.System {
		add(c.Raw, c.Raw)
	}
	for _, m := range r.Messages {
		for _, c := range m.Content {
			add([]any{m.Role, c.Raw, r.referredTools(&c)}, c.Raw)
		}
	}
	marks := 0
	for _, b := range r.blocks {
		if b.marked {
			marks++
		}
	}
	if marks > 4 {
		return Refuse("A maximum of 4 blocks with cache_control may be provided. Found %d.", marks)
	}
	return nil
}

// referredTools returns the definitions of the tools that a result refers to: the model reads them there.
func (r *ClaudeRequest) referredTools(c *Content) (tools []map[string]json.RawMessage) {
	for _, inner := range c.Content {
		for _, t := range r.Tools {
			if inner.Type == "tool_reference" && t.Name == inner.ToolName {
				tools = append(tools, t.Raw)
			}
		}
	}
	return tools
}
