package fakehost

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

type object = map[string]json.RawMessage

func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s)
	return s
}

var (
	openaiName   = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	openaiCallID = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
)

// sampling checks the temperature.
func (r openaiRule) sampling(o object, effort string) error {
	if o["temperature"] == nil && o["top_p"] == nil || r.temperature == "always" || r.temperature == "none" && (effort == "none" || effort == "" && r.unasked) {
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

// checkResponses checks a request to Responses.
func (h *OpenAI) checkResponses(r *OpenAIRequest) (stream bool, err error) {
	var o object
	if err := json.Unmarshal(r.Body, &o); err != nil {
		return false, err
	}
	if err := Responses(r.Body); err != nil {
		return false, Refuse("by the published schema: %v", err)
	}
	_ = json.Unmarshal(o["stream"], &stream)
	r.Model = text(o["model"])
	model, ok := openaiRules[r.Model]
	var reasoning struct{ Effort string }
	_ = json.Unmarshal(o["reasoning"], &reasoning)
	switch {
	case !ok:
		return false, Refuse("The requested model '%s' does not exist.", r.Model)
	case string(o["store"]) != "false":
		return false, Refuse("these tests are of an organization without a store: 'store' must be false")
	case model.efforts == "" && (o["reasoning"] != nil || strings.Contains(string(o["include"]), "encrypted_content")):
		return false, Refuse("Encrypted content is not supported with this model.")
	case len(text(o["prompt_cache_key"])) > 64:
		return false, Refuse("Invalid 'prompt_cache_key': string too long.")
	}
	if err := model.effort(reasoning.Effort); err != nil {
		return false, err
	}
	if err := model.sampling(o, reasoning.Effort); err != nil {
		return false, err
	}
	if err := checkFormat(o["text"]); err != nil {
		return false, err
	}
	names, err := checkTools(o["tools"], responsesTool)
	if err != nil {
		return false, err
	}
	if err := checkChoice(o["tool_choice"], names, "name"); err != nil {
		return false, err
	}
	if err := json.Unmarshal(o["input"], &r.Input); err != nil || len(r.Input) == 0 {
		return false, Refuse("Invalid 'input': %v", err)
	}
	return stream, h.checkInput(r.Input, names, model.adds)
}

// responsesTool returns the function in a tool of Responses: the tool itself.
func responsesTool(t object) (object, error) { return t, nil }

func checkFormat(raw json.RawMessage) error {
	if raw == nil {
		return nil
	}
	var text struct {
		Format struct {
			Type, Name string
			Schema     map[string]any
			Strict     bool
		}
	}
	if err := json.Unmarshal(raw, &text); err != nil {
		return err
	}
	if f := text.Format; f.Type != "json_object" && (f.Type != "json_schema" || !openaiName.MatchString(f.Name) || f.Schema == nil) {
		return Refuse("Invalid 'text.format': %s", raw)
	}
	return nil
}

func checkTools(raw json.RawMessage, function func(object) (object, error)) (names []string, err error) {
	if raw == nil {
		return nil, nil
	}
	var tools []object
	if err := json.Unmarshal(raw, &tools); err != nil || len(tools) == 0 {
		return nil, Refuse("Invalid 'tools': empty array. %v", err)
	}
	for _, t := range tools {
		f, err := function(t)
		if err != nil {
			return nil, err
		}
		name := text(f["name"])
		var schema map[string]any
		switch {
		case text(t["type"]) != "function" || !openaiName.MatchString(name) || slices.Contains(names, name):
			return nil, Refuse("Invalid 'tools': name %q of type %s", name, t["type"])
		case f["parameters"] != nil && (json.Unmarshal(f["parameters"], &schema) != nil || schema["type"] != "object"):
			return nil, Refuse("Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"'", name)
		case string(f["strict"]) == "true" && schema["additionalProperties"] != false:
			return nil, Refuse("Invalid schema for function '%s': 'additionalProperties' is required to be supplied and to be false.", name)
		}
		names = append(names, name)
	}
	return names, nil
}

func checkChoice(raw json.RawMessage, names []string, at ...string) error {
	var choice object
	switch {
	case raw == nil:
		return nil
	case len(names) == 0:
		return Refuse("Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
	case json.Unmarshal(raw, &choice) == nil:
		for _, key := range at[:len(at)-1] {
			_ = json.Unmarshal(choice[key], &choice)
		}
		if !slices.Contains(names, text(choice[at[len(at)-1]])) {
			return Refuse("Tool choice %s not found in 'tools' parameter.", raw)
		}
	case !slices.Contains([]string{"auto", "none", "required"}, text(raw)):
		return Refuse("Invalid value: 'tool_choice' %s", raw)
	}
	return nil
}

// checkInput checks the items: messages, calls with the thoughts before them, and the outputs of calls.
func (h *OpenAI) checkInput(input []json.RawMessage, tools []string, adds bool) error {
	calls, outputs := map[string]bool{}, map[string]bool{}
	thought := "" // the latest one
	for i, raw := range input {
		var o object
		if err := json.Unmarshal(raw, &o); err != nil {
			return err
		}
		at := fmt.Sprintf("input[%d]", i)
		var err error
		switch text(o["type"]) {
		case "message":
			err = checkMessage(at, o)
		case "reasoning":
			thought = text(o["encrypted_content"])
			switch {
			case !h.isOurs(thought):
				err = Refuse("The encrypted content for item %s could not be verified.", o["id"])
			case i+1 == len(input) || strings.Contains(string(input[i+1]), `"function_call_output"`):
				err = Refuse("Item '%s' of type 'reasoning' was provided without its required following item.", text(o["id"]))
			}
		case "additional_tools":
			var more []string
			more, err = checkTools(o["tools"], responsesTool)
			for _, name := range more {
				if !adds || slices.Contains(tools, name) {
					err = Refuse("Invalid '%s': the tool %s is there already, or the model takes none here", at, name)
				}
			}
			tools = append(tools, more...)
		case "function_call":
			id := text(o["call_id"])
			h.mu.Lock()
			want, issued := h.thoughts[id]
			h.mu.Unlock()
			switch {
			case !openaiCallID.MatchString(id) || calls[id] || !openaiName.MatchString(text(o["name"])) || !json.Valid([]byte(text(o["arguments"]))):
				err = Refuse("Invalid '%s': %s", at, raw)
			case issued && want != "" && want != thought:
				err = Refuse("Item 'function_call' %s was provided without its required 'reasoning' item.", id)
			}
			calls[id] = true
		case "function_call_output":
			id := text(o["call_id"])
			if !calls[id] {
				err = Refuse("No tool call found for function call output with call_id %s.", id)
			}
			outputs[id] = true
		}
		if err != nil {
			return err
		}
	}
	for id := range calls {
		if !outputs[id] {
			return Refuse("No tool output found for function call %s.", id)
		}
	}
	return nil
}

func checkMessage(at string, o object) error {
	types := "input_text input_image input_file"
	switch text(o["role"]) {
	case "assistant":
		types = "output_text refusal"
	case "system", "developer":
		types = "input_text"
	}
	var parts []object
	if json.Unmarshal(o["content"], &parts) != nil {
		if text(o["content"]) == "" {
			return Refuse("Missing required parameter: '%s.content'", at)
		}
		return nil
	}
	if len(parts) == 0 {
		return Refuse("Invalid '%s.content': empty array.", at)
	}
	for _, p := range parts {
		if !slices.Contains(strings.Fields(types), text(p["type"])) {
			return Refuse("Invalid value: %s. Supported values are: %s.", p["type"], types)
		}
	}
	return nil
}

// checkChat checks a request to Chat Completions.
func checkChat(r *OpenAIRequest) (stream bool, err error) {
	var o object
	if err := json.Unmarshal(r.Body, &o); err != nil {
		return false, err
	}
	if err := Chat(r.Body); err != nil {
		return false, Refuse("by the published schema: %v", err)
	}
	_ = json.Unmarshal(o["stream"], &stream)
	r.Model = text(o["model"])
	model, ok := openaiRules[r.Model]
	if !ok {
		return false, Refuse("The model '%s' does not exist.", r.Model)
	}
	effort := text(o["reasoning_effort"])
	if err := model.effort(effort); err != nil {
		return false, err
	}
	if err := model.sampling(o, effort); err != nil {
		return false, err
	}
	if model.efforts != "" && o["stop"] != nil {
		return false, Refuse("Unsupported parameter: 'stop' is not supported with this model.")
	}
	names, err := checkTools(o["tools"], func(t object) (f object, err error) {
		return f, json.Unmarshal(t["function"], &f)
	})
	if err != nil {
		return false, err
	}
	if err := checkChoice(o["tool_choice"], names, "function", "name"); err != nil {
		return false, err
	}
	if len(names) > 0 && (model.chatTools == "never" || model.chatTools == "none" && effort != "none") {
		return false, Refuse("Function tools with reasoning_effort are not supported for %s in /v1/chat/completions. Please use /v1/responses instead.", r.Model)
	}
	return stream, checkTurns(o["messages"])
}

// checkTurns checks that each message with calls is followed by their results and no others.
func checkTurns(raw json.RawMessage) error {
	var messages []struct {
		Role       string
		ToolCallID string `json:"tool_call_id"`
		ToolCalls  []struct {
			ID       string
			Function struct{ Name, Arguments string }
		} `json:"tool_calls"`
	}
	if err := json.Unmarshal(raw, &messages); err != nil || len(messages) == 0 {
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
			if !openaiCallID.MatchString(call.ID) || !openaiName.MatchString(call.Function.Name) {
				return Refuse("Invalid 'messages[%d].tool_calls'", i)
			}
			open = append(open, call.ID)
		}
	}
	if len(open) > 0 {
		return Refuse("An assistant message with 'tool_calls' must be followed by tool messages: %v", open)
	}
	return nil
}
