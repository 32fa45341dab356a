package mcpchain

import (
	"context"
	"fmt"
	"sync"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/sampling"
)

// Ask asks the model of the environment one question, with an agent as Agent(nil, nil) makes it.
// opts configure the run. For other options, such as a system prompt or a store, make an agent.
func (h *Host) Ask(ctx context.Context, question string, opts ...agent.RunOption) (*agent.Result, error) {
	a, err := h.Agent(nil, nil)
	if err != nil {
		return nil, err
	}
	return a.Run(ctx, agent.Text(question), opts...)
}

// Model returns the model of the environment ([ModelFromEnv]) for chains and agents of langchaingo.
// The environment is read at the first call of a method of the returned model, which returns an
// error if no model is named. From then on servers may borrow the model, as Sampling of [Options]
// says.
func (h *Host) Model() llms.Model {
	return &envModel{sync.OnceValues(func() (llms.Model, error) {
		own, err := ModelFromEnv()
		if err != nil {
			return nil, err
		}
		if err := h.lender.lend(own, h.options.Sampling); err != nil {
			return nil, err
		}
		return own.(llms.Model), nil // both results of ModelFromEnv implement it
	})}
}

// envModel makes its model at the first call.
type envModel struct{ model func() (llms.Model, error) }

func (m *envModel) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	own, err := m.model()
	if err != nil {
		return nil, err
	}
	return own.GenerateContent(ctx, messages, options...)
}

func (m *envModel) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, m, prompt, options...)
}

// NewSampler returns a sampler that lends the model of the environment ([ModelFromEnv]) to servers.
// Set its [sampling.Sampler.ForServer] as Sampling of [mcpclient.Options]. The servers of a [Host]
// do not need it: see Sampling of [Options]. It returns an error for a model of Anthropic, which
// cannot be lent.
func NewSampler(opts *sampling.Options) (*sampling.Sampler, error) {
	m, err := ModelFromEnv()
	if err != nil {
		return nil, err
	}
	lent, ok := m.(lendable)
	if !ok {
		return nil, fmt.Errorf("model %s cannot be lent: set OPENAI_MODEL", m.Info().Name)
	}
	return lent.Sampler(opts)
}
