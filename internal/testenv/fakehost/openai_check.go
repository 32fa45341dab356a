package fakehost

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// openaiRule lists the parameters that a model accepts, by OpenAI's reference.
type openaiRule struct {
	efforts          string // efforts that it accepts; "" for a model that does not reason
	chatTools        string // efforts with tools at Chat Completions: "any", "none" alone, or "never"
	temperature      string // "always", or "none" with that effort alone, or "never"
	reasonsOnRequest bool   // it reasons only if an effort is given
	addsTools        bool   // accepts definitions of tools within a conversation
}

var openaiRules = map[string]openaiRule{
	"gpt-4o":      {"", "any", "always", false, false},
	"gpt-4.1":     {"", "any", "always", false, false},
	"gpt-5-mini":  {"minimal low medium high", "any", "never", false, false},
	"gpt-5.1":     {"none low medium high", "any", "none", true, false},
	"gpt-5.4":     {"none low medium high xhigh", "any", "none", true, true},
	"gpt-5.5":     {"none low medium high xhigh", "none", "none", false, true},
	"gpt-5.6-sol": {"none low medium high xhigh max", "none", "none", false, true},
	"gpt-6-sol":   {"none low medium high xhigh max", "none", "none", false, true},
	"gpt-6-luna":  {"none low medium high xhigh max", "none", "none", false, true},
	"gpt-6-astra": {"low medium high xhigh max", "never", "never", false, true},
	"gpt-6.1-sol": {"low medium high xhigh max", "never", "never", false, true},
	"o4-mini":     {"low medium high", "any", "never", false, false},
}

// OpenAIModels lists the models that the host knows.
func OpenAIModels() []string { return slices.Sorted(maps.Keys(openaiRules)) }

// OpenAIEfforts lists the efforts that a model accepts.
func OpenAIEfforts(model string) []string { return strings.Fields(openaiRules[model].efforts) }

type object = map[string]json.RawMessage

func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s)
	return s
}

func (r openaiRule) sampling(o object, effort string) error {
	set := o["temperature"] != nil || o["top_p"] != nil
	reasons := effort != "none" && !(effort == "" && r.reasonsOnRequest)
	if !set || r.temperature == "always" || r.temperature == "none" && !reasons {
		return nil
	}
	return Refuse("Unsupported parameter: 'temperature' is not supported with this model.")
}

func (r openaiRule) effort(effort string) error {
	if effort != "" && !slices.Contains(strings.Fields(r.efforts), effort) {
		return Refuse("Unsupported value: 'reasoning.effort' does not support '%s' with this model.", effort)
	}
	return nil
}

type openaiCheck struct {
	members object
	stream  bool
	rule    openaiRule // rule of the model
	effort  string
	tools   []string // names
}

func checkOpenAI(r *OpenAIRequest, published func([]byte) error) (c openaiCheck, err error) {
	if err := published(r.Body); err != nil {
		return c, Refuse("by the published schema: %v", err)
	}
	if err := json.Unmarshal(r.Body, &c.members); err != nil {
		return c, err
	}
	_ = json.Unmarshal(c.members["stream"], &c.stream)
	_ = json.Unmarshal(c.members["input"], &r.Input)
	r.Model = text(c.members["model"])
	var reasoning struct{ Effort string } // at Chat Completions it is not in an object
	_ = json.Unmarshal(c.members["reasoning"], &reasoning)
	c.effort = reasoning.Effort + text(c.members["reasoning_effort"])
	var ok bool
	if c.rule, ok = openaiRules[r.Model]; !ok {
		return c, Refuse("The model '%s' does not exist.", r.Model)
	}
	if err := c.rule.effort(c.effort); err != nil {
		return c, err
	}
	if err := c.rule.sampling(c.members, c.effort); err != nil {
		return c, err
	}
	if c.tools, err = checkTools(c.members["tools"]); err != nil {
		return c, err
	}
	return c, checkChoice(c.members["tool_choice"], c.tools)
}

func (h *OpenAI) checkResponses(r *OpenAIRequest) (stream bool, err error) {
	c, err := checkOpenAI(r, Responses)
	switch {
	case err != nil:
		return false, err
	case string(c.members["store"]) != "false":
		return false, Refuse("these tests are of an organization without a store: 'store' must be false")
	case c.rule.efforts == "" && (c.members["reasoning"] != nil || strings.Contains(string(c.members["include"]), "encrypted_content")):
		return false, Refuse("Encrypted content is not supported with this model.")
	}
	return c.stream, h.checkInput(r.Input, c.tools, c.rule.addsTools)
}

// function returns the function in a tool or a choice, which is within another member at Chat Completions.
func function(o object) object {
	if raw := o["function"]; raw != nil {
		_ = json.Unmarshal(raw, &o)
	}
	return o
}

func checkTools(raw json.RawMessage) (names []string, err error) {
	var tools []object
	_ = json.Unmarshal(raw, &tools)
	for _, t := range tools {
		f := function(t)
		name := text(f["name"])
		var schema map[string]any
		_ = json.Unmarshal(f["parameters"], &schema)
		switch {
		case slices.Contains(names, name):
			return nil, Refuse("Invalid 'tools': the name %q twice", name)
		case string(f["strict"]) == "true" && schema["additionalProperties"] != false:
			return nil, Refuse("Invalid schema for function '%s': 'additionalProperties' is required to be supplied and to be false.", name)
		}
		names = append(names, name)
	}
	return names, nil
}

func checkChoice(raw json.RawMessage, names []string) error {
	var choice object
	switch {
	case raw == nil:
	case len(names) == 0:
		return Refuse("Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
	case json.Unmarshal(raw, &choice) == nil && !slices.Contains(names, text(function(choice)["name"])):
		return Refuse("Tool choice %s not found in 'tools' parameter.", raw)
	}
	return nil
}

// inputCheck is an input of Responses that is being checked, item by item.
type inputCheck struct {
	host      *OpenAI
	tools     []string        // names
	addsTools bool            // the model accepts definitions of tools within a conversation
	thought   string          // the latest one, encrypted
	calls     map[string]bool // by id, whether the call has an output
}

// checkInput checks the items: messages, calls with the thoughts before them, and the outputs of calls.
func (h *OpenAI) checkInput(input []json.RawMessage, tools []string, addsTools bool) error {
	c := &inputCheck{host: h, tools: tools, addsTools: addsTools, calls: map[string]bool{}}
	for i, raw := range input {
		var o object
		if err := json.Unmarshal(raw, &o); err != nil {
			return err
		}
		var err error
		switch text(o["type"]) {
		case "reasoning":
			c.thought = text(o["encrypted_content"])
			followed := i+1 < len(input) && !strings.Contains(string(input[i+1]), `"function_call_output"`)
			err = c.checkThought(text(o["id"]), followed)
		case "additional_tools":
			err = c.addTools(i, o)
		case "function_call":
			err = c.addCall(i, o)
		case "function_call_output":
			err = c.addOutput(text(o["call_id"]))
		}
		if err != nil {
			return err
		}
	}
	for id, answered := range c.calls {
		if !answered {
			return Refuse("No tool output found for function call %s.", id)
		}
	}
	return nil
}

func (c *inputCheck) checkThought(id string, followed bool) error {
	switch {
	case !c.host.isOurs(c.thought):
		return Refuse("The encrypted content for item %s could not be verified.", id)
	case !followed:
		return Refuse("Item '%s' of type 'reasoning' was provided without its required following item.", id)
	}
	return nil
}

func (c *inputCheck) addTools(at int, o object) error {
	more, err := checkTools(o["tools"])
	for _, name := range more {
		if !c.addsTools || slices.Contains(c.tools, name) {
			return Refuse("Invalid 'input[%d]': the tool %s is defined already, or the model accepts no tools here", at, name)
		}
	}
	c.tools = append(c.tools, more...)
	return err
}

func (c *inputCheck) addCall(at int, o object) error {
	id := text(o["call_id"])
	thought, _ := c.host.thoughts.Load(id)
	_, twice := c.calls[id]
	switch {
	case twice || !json.Valid([]byte(text(o["arguments"]))):
		return Refuse("Invalid 'input[%d]': the function call %s", at, id)
	case thought != nil && thought != "" && thought != c.thought:
		return Refuse("Item 'function_call' %s was provided without its required 'reasoning' item.", id)
	}
	c.calls[id] = false
	return nil
}

func (c *inputCheck) addOutput(id string) error {
	if _, ok := c.calls[id]; !ok {
		return Refuse("No tool call found for function call output with call_id %s.", id)
	}
	c.calls[id] = true
	return nil
}

func checkChat(r *OpenAIRequest) (stream bool, err error) {
	c, err := checkOpenAI(r, Chat)
	switch {
	case err != nil:
		return false, err
	case c.rule.efforts != "" && c.members["stop"] != nil:
		return false, Refuse("Unsupported parameter: 'stop' is not supported with this model.")
	case len(c.tools) > 0 && (c.rule.chatTools == "never" || c.rule.chatTools == "none" && c.effort != "none"):
		return false, Refuse("Function tools with reasoning_effort are not supported for %s in /v1/chat/completions. "+
			"Please use /v1/responses instead.", r.Model)
	}
	return c.stream, checkTurns(c.members["messages"])
}

// checkTurns checks that each message with calls is followed by their results and no others.
func checkTurns(raw json.RawMessage) error {
	var messages []struct {
		Role       string
		ToolCallID string                `json:"tool_call_id"`
		ToolCalls  []struct{ ID string } `json:"tool_calls"`
	}
	if err := json.Unmarshal(raw, &messages); err != nil {
		return Refuse("Invalid 'messages': %v", err)
	}
	var open []string
	for i, m := range messages {
		if m.Role == "tool" {
			at := slices.Index(open, m.ToolCallID)
			if at < 0 {
				return Refuse("Invalid parameter: messages[%d] with role 'tool' must be a response to a preceding message with 'tool_calls'.", i)
			}
			open = slices.Delete(open, at, at+1)
			continue
		}
		if len(open) > 0 {
			return Refuse("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id': %v", open)
		}
		for _, call := range m.ToolCalls {
			open = append(open, call.ID)
		}
	}
	if len(open) > 0 {
		return Refuse("An assistant message with 'tool_calls' must be followed by tool messages: %v", open)
	}
	return nil
}
