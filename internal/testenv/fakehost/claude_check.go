package fakehost

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// claudeRule lists the parameters that a model accepts, by Anthropic's reference.
type claudeRule struct {
	reply    int      // most tokens of a reply
	thinking []string // types of thinking
	sampling bool     // accepts a temperature
	efforts  []string // levels of effort
	format   bool     // accepts a schema for its text
	refers   bool     // accepts results that refer to tools
}

var (
	efforts      = []string{"low", "medium", "high", "xhigh", "max"}
	adaptiveOnly = claudeRule{reply: 128_000, thinking: []string{"adaptive"}, efforts: efforts, format: true, refers: true}
	adaptive     = claudeRule{reply: 128_000, thinking: []string{"adaptive", "disabled"}, efforts: efforts, format: true, refers: true}
	budgeted     = claudeRule{reply: 64_000, thinking: []string{"disabled", "enabled"}, sampling: true, format: true, refers: true}
)

var claudeRules = map[string]claudeRule{
	"claude-fable-5":    adaptiveOnly,
	"claude-opus-5-5":   adaptiveOnly,
	"claude-sonnet-5-5": {reply: 128_000, thinking: []string{"adaptive", "between_tools"}, efforts: efforts, format: true, refers: true},
	"claude-haiku-5-5":  adaptive,
	"claude-opus-5":     adaptive,
	"claude-sonnet-5":   adaptive,
	"claude-opus-4-8":   adaptive,
	"claude-opus-4-7":   adaptive,
	"claude-opus-4-6":   {reply: 128_000, thinking: []string{"adaptive", "disabled", "enabled"}, sampling: true, efforts: []string{"low", "medium", "high", "max"}, format: true, refers: true},
	"claude-sonnet-4-6": {reply: 64_000, thinking: []string{"adaptive", "disabled", "enabled"}, sampling: true, efforts: []string{"low", "medium", "high", "max"}, format: true, refers: true},
	"claude-opus-4-5":   {reply: 64_000, thinking: budgeted.thinking, sampling: true, efforts: efforts[:3], format: true, refers: true},
	"claude-sonnet-4-5": budgeted,
	"claude-haiku-4-5":  budgeted,
	"claude-opus-4-0":   {reply: 32_000, thinking: budgeted.thinking, sampling: true},
}

// ClaudeModels lists the models that the host knows.
func ClaudeModels() []string { return slices.Sorted(maps.Keys(claudeRules)) }

// checkClaude reads a request, and refuses one that does not follow Anthropic's reference. It is stricter in two ways:
// no model continues a reply that the request begins, and the blocks within a result have no marks of the cache. sign
// signs thoughts as the host does.
func checkClaude(body []byte, sign func(string) string) (*ClaudeRequest, error) {
	if err := Messages(body); err != nil {
		return nil, Refuse("by the published schema: %v", err)
	}
	r := &ClaudeRequest{}
	if err := json.Unmarshal(body, r); err != nil {
		return nil, err
	}
	model, ok := claudeRules[r.Model]
	r.rule = model
	switch {
	case !ok:
		return nil, Refuse("model: %s", r.Model)
	case r.MaxTokens > model.reply:
		return nil, Refuse("max_tokens: %d > %d, which is the maximum allowed number of output tokens for %s", r.MaxTokens, model.reply, r.Model)
	case r.Temperature != nil && !model.sampling:
		return nil, Refuse("`temperature` is deprecated for this model.")
	case r.Temperature != nil && *r.Temperature != 1 && r.thinks():
		return nil, Refuse("`temperature` may only be set to 1 when thinking is enabled")
	}
	checkMessages := func() error { return r.checkMessages(sign) }
	for _, check := range []func() error{r.checkThinking, r.checkOutput, r.checkTools, r.checkChoice, checkMessages, r.checkMarks} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// checkThinking checks that the model has this type of thinking, with this effort and budget.
func (r *ClaudeRequest) checkThinking() error {
	if r.Thinking == nil {
		return nil
	}
	kind, _ := r.Thinking["type"].(string)
	effort := string(r.Output["effort"])
	budget, _ := r.Thinking["budget_tokens"].(float64)
	switch {
	case !slices.Contains(r.rule.thinking, kind):
		return Refuse("%q is not supported for this model", "thinking.type."+kind)
	case kind == "enabled" && int(budget) >= r.MaxTokens:
		return Refuse("`max_tokens` must be greater than `thinking.budget_tokens`")
	case (kind == "disabled" || kind == "between_tools") && (effort == `"xhigh"` || effort == `"max"`):
		return Refuse("thinking.type.%s is not supported with the effort %s", kind, effort)
	}
	return nil
}

// checkOutput checks that the model has this level of effort, and accepts a schema if there is one.
func (r *ClaudeRequest) checkOutput() error {
	if raw := r.Output["effort"]; raw != nil {
		var effort string
		if json.Unmarshal(raw, &effort) != nil || !slices.Contains(r.rule.efforts, effort) {
			return Refuse("output_config.effort: %s is not supported for this model", raw)
		}
	}
	if raw := r.Output["format"]; raw != nil && !r.rule.format {
		return Refuse("output_config.format: not supported: %s", raw)
	}
	return nil
}

// checkTools checks the definitions of the tools.
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
	return nil
}

// checkChoice checks that the model can be made to call the tools of the choice.
func (r *ClaudeRequest) checkChoice() error {
	kind, name := r.Choice["type"], r.Choice["name"]
	isForced := kind == "any" || kind == "tool"
	switch {
	case r.Choice == nil:
	case isForced && !slices.Contains(r.rule.thinking, "disabled"):
		return Refuse("tool_choice: forced tool use is not supported for this model")
	case isForced && r.thinks():
		return Refuse("Thinking may not be enabled when tool_choice forces tool use.")
	case len(r.Tools) == 0:
		return Refuse("tool_choice may only be specified while providing tools.")
	case kind == "tool" && !slices.ContainsFunc(r.Tools, func(t Tool) bool { return t.Name == name }):
		return Refuse("Tool %q not found in provided tools", name)
	}
	return nil
}

// checkMessages checks the order of the messages, their blocks, and that each call has one result, in the next message.
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

// checkEnd checks that the last message is the user's. With a budget of thinking, a message whose calls get their
// results there begins with a thought.
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
		if inner.Raw["cache_control"] != nil {
			return Refuse("tool_result.content: cache_control is not supported here")
		}
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

// checkMarks counts the marks of the cache.
func (r *ClaudeRequest) checkMarks() error {
	marks := 0
	for _, b := range r.cacheBlocks() {
		if b.marked {
			marks++
		}
	}
	if marks > 4 {
		return Refuse("A maximum of 4 blocks with cache_control may be provided. Found %d.", marks)
	}
	return nil
}
