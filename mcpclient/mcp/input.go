package mcp

import (
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// InputRequest is one question of an [mcpclient.InputRequired].
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

// answer encodes one answer.
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
