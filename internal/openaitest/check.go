package openaitest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/published"
)

type object = map[string]json.RawMessage

func known(kind string, o object, keys string) error {
	for key := range o {
		if !slices.Contains(strings.Fields(keys), key) {
			return refuse("Unknown parameter: '%s.%s'.", kind, key)
		}
	}
	return nil
}

func text(raw json.RawMessage) (s string) {
	_ = json.Unmarshal(raw, &s)
	return s
}

var (
	toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	callID   = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
)

// sampling checks the temperature.
func (r rule) sampling(o object, effort string) error {
	if o["temperature"] == nil && o["top_p"] == nil || r.temperature == "always" || r.temperature == "none" && (effort == "none" || effort == "" && r.unasked) {
		return nil
	}
	return refuse("Unsupported parameter: 'temperature' is not supported with this model.")
}

func (r rule) effort(effort string) error {
	if effort != "" && !slices.Contains(strings.Fields(r.efforts), effort) {
		return refuse("Unsupported value: 'reasoning.effort' does not support '%s' with this model.", effort)
	}
	return nil
}

// checkResponses checks a request to Responses.
func (h *Host) checkResponses(r *Request) (stream bool, err error) {
	var o object
	if err := json.Unmarshal(r.Body, &o); err != nil {
		return false, err
	}
	if err := published.Responses(r.Body); err != nil {
		return false, refuse("by the published schema: %v", err)
	}
	if err := known("request", o, "model instructions input tools tool_choice parallel_tool_calls store include reasoning text max_output_tokens temperature top_p prompt_cache_key stream"); err != nil {
		return false, err
	}
	_ = json.Unmarshal(o["stream"], &stream)
	r.Model = text(o["model"])
	model, ok := rules[r.Model]
	var reasoning struct{ Effort string }
	_ = json.Unmarshal(o["reasoning"], &reasoning)
	var bound *int
	_ = json.Unmarshal(o["max_output_tokens"], &bound)
	switch {
	case !ok:
		return false, refuse("The requested model '%s' does not exist.", r.Model)
	case string(o["store"]) != "false":
		return false, refuse("these tests are of an organization without a store: 'store' must be false")
	case model.efforts == "" && (o["reasoning"] != nil || strings.Contains(string(o["include"]), "encrypted_content")):
		return false, refuse("Encrypted content is not supported with this model.")
	case bound != nil && *bound < 16:
		return false, refuse("Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16, but got %d instead.", *bound)
	case len(text(o["prompt_cache_key"])) > 64:
		return false, refuse("Invalid 'prompt_cache_key': string too long.")
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
	names, err := checkTools(o["tools"], func(t object) (object, error) {
		return t, known("tools", t, "type name description parameters strict")
	})
	if err != nil {
		return false, err
	}
	if err := checkChoice(o["tool_choice"], names, "name"); err != nil {
		return false, err
	}
	if err := json.Unmarshal(o["input"], &r.Input); err != nil || len(r.Input) == 0 {
		return false, refuse("Invalid 'input': %v", err)
	}
	return stream, h.checkInput(r.Input)
}

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
	if f := text.Format; f.Type != "json_object" && (f.Type != "json_schema" || !toolName.MatchString(f.Name) || f.Schema == nil) {
		return refuse("Invalid 'text.format': %s", raw)
	}
	return nil
}

func checkTools(raw json.RawMessage, function func(object) (object, error)) (names []string, err error) {
	if raw == nil {
		return nil, nil
	}
	var tools []object
	if err := json.Unmarshal(raw, &tools); err != nil || len(tools) == 0 {
		return nil, refuse("Invalid 'tools': empty array. %v", err)
	}
	for _, t := range tools {
		f, err := function(t)
		if err != nil {
			return nil, err
		}
		name := text(f["name"])
		var schema map[string]any
		switch {
		case text(t["type"]) != "function" || !toolName.MatchString(name) || slices.Contains(names, name):
			return nil, refuse("Invalid 'tools': name %q of type %s", name, t["type"])
		case f["parameters"] != nil && (json.Unmarshal(f["parameters"], &schema) != nil || schema["type"] != "object"):
			return nil, refuse("Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"'", name)
		case string(f["strict"]) == "true" && schema["additionalProperties"] != false:
			return nil, refuse("Invalid schema for function '%s': 'additionalProperties' is required to be supplied and to be false.", name)
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
		return refuse("Invalid value for 'tool_choice': 'tool_choice' is only allowed when 'tools' are specified.")
	case json.Unmarshal(raw, &choice) == nil:
		for _, key := range at[:len(at)-1] {
			_ = json.Unmarshal(choice[key], &choice)
		}
		if !slices.Contains(names, text(choice[at[len(at)-1]])) {
			return refuse("Tool choice %s not found in 'tools' parameter.", raw)
		}
	case !slices.Contains([]string{"auto", "none", "required"}, text(raw)):
		return refuse("Invalid value: 'tool_choice' %s", raw)
	}
	return nil
}

// checkInput checks the items: what the model wrote, with the thoughts before, and the outputs of calls.
func (h *Host) checkInput(input []json.RawMessage) error {
	calls, outputs := map[string]bool{}, map[string]bool{}
	thought := "" // the latest one
	for i, raw := range input {
		var o object
		if err := json.Unmarshal(raw, &o); err != nil {
			return err
		}
		at := fmt.Sprintf("input[%d]", i)
		kind := text(o["type"])
		var err error
		switch kind {
		case "message":
			err = checkMessage(at, o)
		case "reasoning":
			thought = text(o["encrypted_content"])
			err = known(at, o, "id type summary content encrypted_content status")
			switch {
			case err != nil:
			case !h.isOurs(thought):
				err = refuse("The encrypted content for item %s could not be verified.", o["id"])
			case i+1 == len(input) || strings.Contains(string(input[i+1]), `"function_call_output"`):
				err = refuse("Item '%s' of type 'reasoning' was provided without its required following item.", text(o["id"]))
			}
		case "function_call":
			id := text(o["call_id"])
			err = known(at, o, "id type call_id name arguments status")
			h.mu.Lock()
			want, issued := h.thoughts[id]
			h.mu.Unlock()
			switch {
			case err != nil:
			case !callID.MatchString(id) || calls[id] || !toolName.MatchString(text(o["name"])) || !json.Valid([]byte(text(o["arguments"]))):
				err = refuse("Invalid '%s': %s", at, raw)
			case issued && want != "" && want != thought:
				err = refuse("Item 'function_call' %s was provided without its required 'reasoning' item.", id)
			}
			calls[id] = true
		case "function_call_output":
			id := text(o["call_id"])
			if err = known(at, o, "id type call_id output status"); err == nil && !calls[id] {
				err = refuse("No tool call found for function call output with call_id %s.", id)
			}
			outputs[id] = true
		default:
			err = refuse("Invalid value: '%s' for '%s.type'", kind, at)
		}
		if err != nil {
			return err
		}
	}
	for id := range calls {
		if !outputs[id] {
			return refuse("No tool output found for function call %s.", id)
		}
	}
	return nil
}

func checkMessage(at string, o object) error {
	if err := known(at, o, "type role content phase id status"); err != nil {
		return err
	}
	types := "input_text input_image input_file"
	switch text(o["role"]) {
	case "assistant":
		types = "output_text refusal"
	case "user":
	case "system", "developer":
		types = "input_text"
	default:
		return refuse("Invalid value: '%s.role' %s", at, o["role"])
	}
	var parts []object
	if json.Unmarshal(o["content"], &parts) != nil {
		if text(o["content"]) == "" {
			return refuse("Missing required parameter: '%s.content'", at)
		}
		return nil
	}
	if len(parts) == 0 {
		return refuse("Invalid '%s.content': empty array.", at)
	}
	for _, p := range parts {
		if !slices.Contains(strings.Fields(types), text(p["type"])) {
			return refuse("Invalid value: %s. Supported values are: %s.", p["type"], types)
		}
	}
	return nil
}

// checkChat checks a request to Chat Completions.
func checkChat(r *Request) (stream bool, err error) {
	var o object
	if err := json.Unmarshal(r.Body, &o); err != nil {
		return false, err
	}
	if err := published.Chat(r.Body); err != nil {
		return false, refuse("by the published schema: %v", err)
	}
	if err := known("request", o, "model messages tools tool_choice parallel_tool_calls reasoning_effort response_format max_completion_tokens temperature top_p seed stop presence_penalty frequency_penalty prompt_cache_key stream stream_options"); err != nil {
		return false, err
	}
	_ = json.Unmarshal(o["stream"], &stream)
	r.Model = text(o["model"])
	model, ok := rules[r.Model]
	if !ok {
		return false, refuse("The model '%s' does not exist.", r.Model)
	}
	effort := text(o["reasoning_effort"])
	if err := model.effort(effort); err != nil {
		return false, err
	}
	if err := model.sampling(o, effort); err != nil {
		return false, err
	}
	if model.efforts != "" && o["stop"] != nil {
		return false, refuse("Unsupported parameter: 'stop' is not supported with this model.")
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
		return false, refuse("Function tools with reasoning_effort are not supported for %s in /v1/chat/completions. Please use /v1/responses instead.", r.Model)
	}
	return stream, checkTurns(o["messages"])
}

// checkTurns checks that each call has its answer at once, and no other.
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
		return refuse("Invalid 'messages': %v", err)
	}
	var open []string
	for i, m := range messages {
		if m.Role == "tool" {
			at := slices.Index(open, m.ToolCallID)
			if at < 0 {
				return refuse("Invalid parameter: messages[%d] with role 'tool' must be a response to a preceding message with 'tool_calls'.", i)
			}
			open = slices.Delete(open, at, at+1)
			continue
		}
		if len(open) > 0 {
			return refuse("An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id': %v", open)
		}
		for _, call := range m.ToolCalls {
			if !callID.MatchString(call.ID) || !toolName.MatchString(call.Function.Name) {
				return refuse("Invalid 'messages[%d].tool_calls'", i)
			}
			open = append(open, call.ID)
		}
	}
	if len(open) > 0 {
		return refuse("An assistant message with 'tool_calls' must be followed by tool messages: %v", open)
	}
	return nil
}

// refusal is an error in the words of the host, which are not Go's.
type refusal string

func (r refusal) Error() string { return string(r) }

func refuse(format string, args ...any) error { return refusal(fmt.Sprintf(format, args...)) }
