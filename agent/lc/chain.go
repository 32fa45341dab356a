package lc

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/tmc/langchaingo/callbacks"
	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/memory"
	"github.com/tmc/langchaingo/schema"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
)

// The keys of a chain.
const (
	inputKey  = "input"
	outputKey = "output"
)

// Chain returns a chain that gives the text "input" to the agent and returns its answer as "output". The
// handler h, which may be nil, is told when the chain starts and ends, and what happens in its runs, as
// by [Callbacks]. The options are for each run. The chain may be used concurrently if h may.
//
// The chain has no memory. With [agent.WithRun] its calls are one conversation, which the agent's
// store keeps.
//
// [chains.WithStreamingFunc] gets the text of the agent's model if the model streams, without the
// text of sub-agents. Options for the model are refused: they belong to [agent.Options.Model]. If
// the run waits for a person, the error is a [*WaitingError], which matches [agent.ErrWaiting].
func Chain(a *agent.Agent, h callbacks.Handler, opts ...agent.RunOption) chains.Chain {
	return &chain{agent: a, handler: h, options: opts}
}

// WaitingError is the error of a chain whose run waits for a person. With [agent.Durable.Store],
// [agent.Agent.Resume] takes the replies.
type WaitingError struct {
	Run       string // its id; its tenant is the one of the options of the chain
	Questions []*run.Question
}

// Error names the run that waits, and counts its questions.
func (e *WaitingError) Error() string {
	return fmt.Sprintf("run %q waits for a person: it has %d open questions", e.Run, len(e.Questions))
}

// Unwrap returns [agent.ErrWaiting].
func (*WaitingError) Unwrap() error { return agent.ErrWaiting }

// chain is the chain of [Chain].
type chain struct {
	agent   *agent.Agent
	handler callbacks.Handler // may be nil
	options []agent.RunOption
}

var _ callbacks.HandlerHaver = (*chain)(nil)

func (*chain) GetMemory() schema.Memory { return memory.NewSimple() }

func (*chain) GetInputKeys() []string { return []string{inputKey} }

func (*chain) GetOutputKeys() []string { return []string{outputKey} }

// GetCallbackHandler returns the handler that [chains.Call] tells about the chain.
func (c *chain) GetCallbackHandler() callbacks.Handler { return c.handler }

// Call runs the agent. It is for [chains.Call].
func (c *chain) Call(ctx context.Context, inputs map[string]any, options ...chains.ChainCallOption) (map[string]any, error) {
	text, ok := inputs[inputKey].(string)
	if !ok {
		return nil, fmt.Errorf("value of %q is a %T; give a string", inputKey, inputs[inputKey])
	}
	stream, err := streamOption(options)
	if err != nil {
		return nil, err
	}
	answer, err := c.run(ctx, text, stream)
	if err != nil {
		return nil, err
	}
	return map[string]any{outputKey: answer}, nil
}

// run runs the agent and returns its answer. If the streaming function fails, the work on the run
// ends. A run that waits for a person is left as it is.
func (c *chain) run(ctx context.Context, text string, stream streamFunc) (string, error) {
	events := c.agent.Events(ctx, agent.Text(text), c.options...)
	if c.handler != nil {
		events = Callbacks(ctx, c.handler, events)
	}
	answer := ""
	for event, err := range events {
		if err != nil {
			return "", err
		}
		switch e := event.(type) {
		case *agent.TextDelta:
			if stream == nil || len(e.Path) > 0 {
				continue
			}
			if err := stream(ctx, []byte(e.Text)); err != nil {
				return "", fmt.Errorf("streaming function: %w", err)
			}
		case *agent.Suspended:
			if len(e.Path) == 0 {
				return "", &WaitingError{Run: e.Run, Questions: e.Questions}
			}
		case *agent.Output:
			if len(e.Path) == 0 {
				answer = e.Text
			}
		}
	}
	return answer, nil
}

// streamFunc is a streaming function of langchaingo.
type streamFunc = func(ctx context.Context, chunk []byte) error

// streamOption returns the streaming function of a call. Other options are an error.
func streamOption(options []chains.ChainCallOption) (streamFunc, error) {
	var o llms.CallOptions
	for _, set := range chains.GetLLMCallOptions(options...) {
		set(&o)
	}
	stream := o.StreamingFunc
	o.StreamingFunc = nil
	if !reflect.ValueOf(o).IsZero() {
		return nil, errors.New("chain of an agent takes no options for the model; set agent.Options.Model")
	}
	return stream, nil
}
