package anthropicmodel

import (
	"context"
	"iter"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/internal/convert"
	"github.com/mcpchain/mcpchain/agent/internal/hostfail"
	"github.com/mcpchain/mcpchain/agent/model"
)

var _ llms.Model = (*Model)(nil)

// GenerateContent implements [llms.Model]. langchaingo's types have no field for thoughts, so
// thoughts of earlier replies are not sent back. The response has one choice. Options without a
// counterpart in the API are ignored; more than one candidate is an error. A failure of the
// provider matches [*model.Error] and [*llms.Error] by errors.As.
func (m *Model) GenerateContent(
	ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption,
) (*llms.ContentResponse, error) {
	response, err := convert.Generate(ctx, messages, options, func(r *model.Request, o *llms.CallOptions) iter.Seq2[model.Delta, error] {
		asked := *m
		if o.Model != "" {
			asked.name = o.Model
		}
		return asked.Generate(ctx, r)
	})
	return response, hostfail.ForLangchaingo("anthropic", err)
}

// Call asks the model one question and returns the text of its answer.
//
// Deprecated: use [Model.GenerateContent].
func (m *Model) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, m, prompt, options...)
}
