package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Continue continues a call that needed input. T is the result of the call. answers has an
// answer for each key of round.Requests that is not in round.Answers: an [*mcp.ElicitResult], a
// [*mcp.CreateMessageResult], or any value that marshals to the result. The answer to a form is
// completed and checked like the answer of an [mcp.ElicitationHandler].
//
// Further questions go to the handlers or, with [WithManualInput], are returned as another
// [*mcp.InputRequired]. Continue a round only once: nothing else prevents the server from
// running the call twice.
func Continue[T mcp.CallToolResult | mcp.GetPromptResult | mcp.ReadResourceResult](
	ctx context.Context, c *Client, round *mcp.InputRequired, answers map[string]any, opts ...CallOption,
) (*T, error) {
	result := new(T)
	method, what := "resources/read", "resource"
	switch any(result).(type) {
	case *mcp.CallToolResult:
		method, what = "tools/call", "tool"
	case *mcp.GetPromptResult:
		method, what = "prompts/get", "prompt"
	}
	r, opts, err := newContinuation(round, method, answers, opts)
	if err != nil {
		return nil, fmt.Errorf("continue %s: %w", what, err)
	}
	if called, ok := any(&result).(**mcp.CallToolResult); ok {
		*called, err = c.callTool(ctx, r, opts)
	} else {
		err = c.caller.calls.do(ctx, r, result, opts)
	}
	if err != nil {
		return nil, fmt.Errorf("continue %s %q: %w", what, r.target, err)
	}
	return result, nil
}

// AnswerInput lets the handlers of [Options] answer one question of a round, as during a call.
// The answer is for [Continue]. The error of a handler that leaves the question to a person
// matches [mcp.ErrAnswerLater].
func AnswerInput(ctx context.Context, c *Client, round *mcp.InputRequired, key string) (json.RawMessage, error) {
	if round == nil {
		return nil, errors.New("answer question: no round (nil)")
	}
	q, ok := round.Requests[key]
	if !ok {
		return nil, fmt.Errorf("answer question %q: nothing is asked under this key", excerpt.Cut(key))
	}
	r, _, err := customRequest(round.Method, round.Params)
	if err != nil {
		return nil, fmt.Errorf("answer question %q: %w", excerpt.Cut(key), err)
	}
	info := mcp.CallInfo{ID: c.wire.lastCallID.Add(1), Method: round.Method, Name: r.target}
	if round.Method == taskInput {
		info.Method, info.Name = "tools/call", "" // its target is the id of the task, a secret
	}
	answers, err := c.gather(ctx, map[string]mcp.InputRequest{key: q}, info)
	if err != nil {
		return nil, fmt.Errorf("answer question %q: %w", excerpt.Cut(key), err)
	}
	return answers[key], nil
}

func newContinuation(r *mcp.InputRequired, method string, answers map[string]any, opts []CallOption) (*request, []CallOption, error) {
	if r == nil {
		return nil, nil, errors.New("no round (nil)")
	}
	if r.Method != method {
		return nil, nil, fmt.Errorf("round is one of %q, not of %s", excerpt.Cut(r.Method), method)
	}
	next, meta, err := customRequest(r.Method, r.Params)
	if err != nil {
		return nil, nil, err
	}
	given, err := encodeAnswers(r, answers)
	if err != nil {
		return nil, nil, err
	}
	state := r.State
	if state != nil {
		if state, err = jsonrpc.OneLine(state); err != nil {
			return nil, nil, fmt.Errorf("InputRequired.State: %w", err)
		}
	}
	if next.answers, err = encodeInput(given, state); err != nil {
		return nil, nil, err
	}
	meta = append(meta, func(o *callOptions) { o.rounds = r.Rounds })
	return next, append(meta, opts...), nil
}

// encodeAnswers returns the answers to all questions of a round, both given answers and answers of
// handlers. It returns nil for a round without questions.
func encodeAnswers(r *mcp.InputRequired, answers map[string]any) (map[string]json.RawMessage, error) {
	for key := range answers {
		if _, ok := r.Requests[key]; !ok {
			return nil, fmt.Errorf("answer %q: nothing is asked under this key", key)
		}
	}
	if r.Requests == nil {
		return nil, nil
	}
	wire := make(map[string]json.RawMessage, len(r.Requests))
	for key, q := range r.Requests {
		answer, given := answers[key]
		if earlier, ok := r.Answers[key]; ok && !given {
			answer = earlier
		}
		var err error
		if wire[key], err = encodeAnswer(&q, answer); err != nil {
			return nil, fmt.Errorf("answer %q: %w", key, err)
		}
	}
	return wire, nil
}

// encodeAnswer encodes the answer to a question: an [*mcp.ElicitResult], which is completed and
// checked, or any value that marshals to the result.
func encodeAnswer(q *mcp.InputRequest, v any) (json.RawMessage, error) {
	if elicited, ok := v.(*mcp.ElicitResult); ok && elicited != nil {
		params, _ := inquiry.Elicitation(q)
		if params == nil {
			return nil, fmt.Errorf("ElicitResult does not answer %q", excerpt.Cut(q.Method))
		}
		complete, err := forms.Complete(params, elicited)
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
		return nil, fmt.Errorf("%q has no answer", excerpt.Cut(q.Method))
	}
	return raw, nil
}
