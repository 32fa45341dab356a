package lc_test

import (
	"context"
	"errors"
	"testing"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/lc"
	"github.com/mcpchain/mcpchain/internal/check"
)

// script is a model that gives one reply for every call, the last one again and again.
// It streams text.
type script struct {
	replies []*llms.ContentChoice
	err     error // after the replies
	seen    [][]llms.MessageContent
	options llms.CallOptions // of the last call
}

func (s *script) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, set := range options {
		set(&o)
	}
	s.seen, s.options = append(s.seen, messages), o
	if len(s.seen) > len(s.replies) {
		return nil, s.err
	}
	reply := s.replies[len(s.seen)-1]
	if o.StreamingFunc != nil && reply.Content != "" {
		if err := o.StreamingFunc(ctx, []byte(reply.Content)); err != nil {
			return nil, err
		}
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{reply}}, nil
}

func (s *script) Call(context.Context, string, ...llms.CallOption) (string, error) {
	return "", errors.New("not used")
}

func play(replies ...*llms.ContentChoice) *script {
	return &script{replies: replies, err: errors.New("the script is over")}
}

func says(text string) *llms.ContentChoice {
	return &llms.ContentChoice{Content: text, StopReason: "stop"}
}

func uses(id, name, arguments string) *llms.ContentChoice {
	return &llms.ContentChoice{StopReason: "tool_calls", ToolCalls: []llms.ToolCall{
		{ID: id, Type: "function", FunctionCall: &llms.FunctionCall{Name: name, Arguments: arguments}},
	}}
}

type place struct {
	City string `json:"city"`
}

// forecast is a tool that knows one city.
func forecast() adapter.Source {
	return adapter.Func("forecast", "Weather of a city", func(_ context.Context, in place) (string, error) {
		if in.City != "Oslo" {
			return "", errors.New("unknown city")
		}
		return "Sunny.", nil
	}, nil)
}

// newAgent makes an agent with a model that streams.
func newAgent(t testing.TB, model llms.Model, opts *agent.Options) *agent.Agent {
	t.Helper()
	return wrapping(t, model, &lc.ModelOptions{Stream: true}, opts)
}

func wrapping(t testing.TB, model llms.Model, o *lc.ModelOptions, opts *agent.Options) *agent.Agent {
	t.Helper()
	a, err := agent.New(lc.Model(model, o), opts)
	check.Must(t, err)
	return a
}
