package mcpchain

import (
	"context"
	"fmt"
	"sync"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/sampling"
)

// Ask runs [Host.Agent] with the model of the environment and default options, once. A conversation, limits and durable runs
// need an agent of one's own.
func (h *Host) Ask(ctx context.Context, question string, opts ...agent.RunOption) (*agent.Result, error) {
	a, err := h.Agent(nil, nil)
	if err != nil {
		return nil, err
	}
	return a.Run(ctx, agent.Text(question), opts...)
}

// Model is the model of the environment ([FromEnv]) for chains and agents of langchaingo. The first call makes it, has it lent to the
// servers, and fails if the environment names none.
func (h *Host) Model() llms.Model {
	return &envModel{sync.OnceValues(func() (llms.Model, error) {
		own, err := FromEnv()
		if err != nil {
			return nil, err
		}
		if err := h.lender.lend(own, h.options.Sampling); err != nil {
			return nil, err
		}
		return own.(llms.Model), nil // both kinds are one
	})}
}

// envModel is a model that its first call makes.
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

// Sampler lends the model of the environment ([FromEnv]) to servers, within the options. It is the Sampling of a connection:
// [sampling.Sampler.For]. The servers of a [Host] need none.
func Sampler(opts *sampling.Options) (*sampling.Sampler, error) {
	m, err := FromEnv()
	if err != nil {
		return nil, err
	}
	lent, ok := m.(lendable)
	if !ok {
		return nil, fmt.Errorf("the model %s cannot be lent: set OPENAI_MODEL", m.Info().Name)
	}
	return lent.Sampler(opts)
}
