package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// InputRequired is a call that waits for input: the server's questions, and all
// data to continue. Nothing of it is kept elsewhere, so it may be stored as
// JSON and continued days later, by another client and in another process, with
// mcpclient.Continue, or mcpclient.Task.Answer if a task asks.
//
// It is the error of a call made mcpclient.WithManualInput; find it with [errors.As].
type InputRequired struct {
	Method string          `json:"method"` // of the call: "tools/call", "prompts/get" or "resources/read"; "tasks/update" if a task asks
	Params json.RawMessage `json:"params"` // of the call, without _meta; of a task its id, a secret

	// Requests are the server's questions, by keys of its own choice. Nil means
	// that it only asks to be called again later.
	Requests map[string]InputRequest `json:"inputRequests,omitzero"`

	// Answers have been given by handlers, by the keys of Requests, while other handlers
	// returned [ErrAnswerLater]. mcpclient.Continue sends them, too.
	Answers map[string]json.RawMessage `json:"answers,omitempty"`

	// State belongs to the server and is given back unchanged. It may be a secret.
	State json.RawMessage `json:"requestState,omitempty"`

	Rounds int `json:"rounds"` // rounds with questions so far, this one included
}

// Error names the kinds of questions, but not their texts.
func (r *InputRequired) Error() string {
	if len(r.Requests) == 0 {
		return "the server wants to be called again"
	}
	var asked []string
	for _, key := range slices.Sorted(maps.Keys(r.Requests)) {
		asked = append(asked, fmt.Sprintf("%q (%s)", key, r.Requests[key].Method))
	}
	return excerpt.Cut("the server needs input: " + strings.Join(asked, ", "))
}

// InputRequest is one question of an [InputRequired].
type InputRequest struct {
	Method string          `json:"method"` // "elicitation/create", "sampling/createMessage" or "roots/list"
	Params json.RawMessage `json:"params,omitempty"`
}

// Elicitation reads the question as a question to a person; ok is false if it
// is of another kind, or has a dangerous URL.
func (r *InputRequest) Elicitation() (params *ElicitParams, ok bool) {
	params, ok = r.elicitation()
	if ok && params.Mode == ElicitURL && !Visitable(params.URL) {
		return nil, false
	}
	return params, ok
}

func (r *InputRequest) elicitation() (params *ElicitParams, ok bool) {
	params = new(ElicitParams)
	if r.Method != "elicitation/create" || json.Unmarshal(r.Params, params) != nil {
		return nil, false
	}
	if params.Mode == "" {
		params.Mode = ElicitForm
	}
	return params, true
}

// Sampling reads the question as one to a model; ok is false when it is another
// one.
func (r *InputRequest) Sampling() (params *CreateMessageParams, ok bool) {
	params = new(CreateMessageParams)
	if r.Method != "sampling/createMessage" || json.Unmarshal(r.Params, params) != nil {
		return nil, false
	}
	return params, true
}

// Answer encodes the answer to the question: an [*ElicitResult], which is completed and
// checked, or any value that marshals to the result.
func (r *InputRequest) Answer(v any) (json.RawMessage, error) {
	if elicited, ok := v.(*ElicitResult); ok && elicited != nil {
		params, asked := r.elicitation()
		if !asked {
			return nil, fmt.Errorf("%s is not answered by an ElicitResult", excerpt.Cut(r.Method))
		}
		complete, err := params.Complete(elicited)
		if err != nil {
			return nil, err
		}
		v = complete
	}
	raw, err := jsonrpc.EncodeParams(v)
	if err != nil {
		return nil, err
	}
	if raw == nil {
		return nil, fmt.Errorf("%s has no answer", excerpt.Cut(r.Method))
	}
	return raw, nil
}
