// Package replydata decodes the data in a person's reply to a server: the values of a form, and the sampling request
// that replaces the server's.
package replydata

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// ElicitResult returns the reply to an elicitation in the form that the server gets: checked, and with defaults
// filled in. Integers keep all their digits.
func ElicitResult(asked *mcp.ElicitParams, action string, content json.RawMessage) (*mcp.ElicitResult, error) {
	if asked == nil {
		return nil, errors.New("the question has no form and no URL")
	}
	result := &mcp.ElicitResult{Action: action}
	if len(content) > 0 {
		if !IsObject(content) {
			return nil, errors.New("content is not a JSON object")
		}
		d := json.NewDecoder(bytes.NewReader(content))
		d.UseNumber()
		if err := d.Decode(&result.Content); err != nil {
			return nil, err
		}
	}
	return forms.Complete(asked, result)
}

// SamplingParams returns the sampling request by which the person replaced the server's, or nil.
func SamplingParams(arguments json.RawMessage) (*mcp.CreateMessageParams, error) {
	if len(arguments) == 0 {
		return nil, nil
	}
	params := new(mcp.CreateMessageParams)
	if err := json.Unmarshal(arguments, params); err != nil {
		return nil, fmt.Errorf("arguments are not a sampling request: %w", err)
	}
	if len(params.Messages) == 0 {
		return nil, errors.New("arguments have no messages")
	}
	return params, inquiry.CheckMessages(params.Messages)
}

// IsObject reports whether a text is a JSON object.
func IsObject(raw json.RawMessage) bool {
	return json.Valid(raw) && bytes.TrimLeft(raw, " \t\r\n")[0] == '{'
}
