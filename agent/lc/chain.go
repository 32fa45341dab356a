package lc

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/memory"
	"github.com/tmc/langchaingo/schema"

	"github.com/mcpchain/mcpchain/agent"
)

// The keys of a chain.
const (
	inputKey  = "input"
	outputKey = "output"
)

// Chain returns a chain that gives the text "input" to the agent and returns its answer as "output". An answer at a
// limit is returned like any other, as a chain has no output for [agent.Output.StopReason]. The options are for each
// run. The chain may be used concurrently.
//
// The chain has no memory. With [agent.WithRun] its calls are one conversation, which the agent's
// store keeps, so that only one of them can run at a time.
//
// If the model streams, [chains.WithStreamingFunc] gets the text of each of its turns, including those with tool calls,
// but not the text of sub-agents. Options for the model are refused: they belong to [agent.Options.Model].
//
// If the run waits for a person, the error matches [agent.ErrWaiting]: [agent.Agent.Questions] has the
// questions of a stored run, and [agent.Agent.Resume] takes the replies.
func Chain(a *agent.Agent, opts ...agent.RunOption) chains.Chain {
	return &chain{a, slices.Clone(opts)}
}

// chain implements [chains.Chain].
type chain struct {
	agent   *agent.Agent
	options []agent.RunOption
}

func (*chain) GetMemory() schema.Memory { return memory.NewSimple() }

func (*chain) GetInputKeys() []string { return []string{inputKey} }

func (*chain) GetOutputKeys() []string { return []string{outputKey} }

// Call implements [chains.Chain] by a run of the agent.
func (c *chain) Call(ctx context.Context, inputs map[string]any, options ...chains.ChainCallOption) (map[string]any, error) {
	text, ok := inputs[inputKey].(string)
	if !ok {
		return nil, fmt.Errorf("chain input %q is a %T, want a string", inputKey, inputs[inputKey])
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

// streamFunc is a streaming function of langchaingo.
type streamFunc = func(ctx context.Context, chunk []byte) error

// run runs the agent and returns its answer. If the streaming function fails, the work on the run
// ends.
func (c *chain) run(ctx context.Context, text string, stream streamFunc) (string, error) {
	answer := ""
	var waitErr error // the run waits for a person, unless a reply has come: then it continues
	for event, err := range c.agent.Events(ctx, agent.Text(text), c.options...) {
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
				waitErr = fmt.Errorf("%w: %q", agent.ErrWaiting, e.Run)
			}
		case *agent.Output:
			if len(e.Path) == 0 {
				answer, waitErr = e.Text, nil
			}
		}
	}
	return answer, waitErr
}

// streamOption returns the streaming function of a call, nil for none. Any other option is an error.
func streamOption(options []chains.ChainCallOption) (streamFunc, error) {
	set := chains.GetLLMCallOptions(options...)
	if len(set) > 1 { // the streaming function is always one of them
		return nil, errors.New("chain of an agent takes no options for the model; set agent.Options.Model")
	}
	var o llms.CallOptions
	for _, option := range set {
		option(&o)
	}
	return o.StreamingFunc, nil
}
