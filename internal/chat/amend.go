package chat

import (
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// amendment holds changes to a request's JSON that go-openai cannot express: a temperature of 0, audio, empty
// content, fields of one host.
type amendment struct {
	body     []byte // replaces the JSON before the other changes; nil keeps it
	fields   map[string]any
	messages map[int]map[string]any // by index
}

// field sets a field of the request.
func (a *amendment) field(key string, value any) {
	if a.fields == nil {
		a.fields = map[string]any{}
	}
	a.fields[key] = value
}

// number sets a field of the request unless the value is nil.
func (a *amendment) number(key string, value *float64) {
	if value != nil {
		a.field(key, *value)
	}
}

// message sets a field of a message.
func (a *amendment) message(i int, key string, value any) {
	if a.messages == nil {
		a.messages = map[int]map[string]any{}
	}
	if a.messages[i] == nil {
		a.messages[i] = map[string]any{}
	}
	a.messages[i][key] = value
}

// apply returns the request's JSON with the changes.
func (a *amendment) apply(body []byte) ([]byte, error) {
	if a.body != nil {
		body = a.body
	}
	if len(a.fields) == 0 && len(a.messages) == 0 {
		return body, nil
	}
	var request map[string]json.RawMessage
	if err := json.Unmarshal(body, &request); err != nil {
		return nil, fmt.Errorf("amend request: %w", err)
	}
	if len(a.messages) > 0 {
		messages, err := a.applyMessages(request["messages"])
		if err != nil {
			return nil, fmt.Errorf("amend request: %w", err)
		}
		request["messages"] = messages
	}
	if err := set(request, a.fields); err != nil {
		return nil, fmt.Errorf("amend request: %w", err)
	}
	return jsonrpc.Marshal(request)
}

func (a *amendment) applyMessages(raw json.RawMessage) (json.RawMessage, error) {
	var messages []json.RawMessage
	if err := json.Unmarshal(raw, &messages); err != nil {
		return nil, err
	}
	for i, fields := range a.messages {
		var message map[string]json.RawMessage
		if err := json.Unmarshal(messages[i], &message); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		if err := set(message, fields); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		var err error
		if messages[i], err = jsonrpc.Marshal(message); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
	}
	return jsonrpc.Marshal(messages)
}

func set(object map[string]json.RawMessage, fields map[string]any) error {
	for key, value := range fields {
		raw, err := jsonrpc.Marshal(value)
		if err != nil {
			return fmt.Errorf("field %q: %w", key, err)
		}
		object[key] = raw
	}
	return nil
}
