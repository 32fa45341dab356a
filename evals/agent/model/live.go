package model

import (
	"context"
	"fmt"
	"iter"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
)

// live is a model whose errors match [ErrInfra]. It has tried again before it gives one.
type live struct {
	*openaimodel.Model
	session *Session
}

// Generate is for agents, and GenerateContent for recordings.
func (l *live) Generate(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		for d, err := range l.Model.Generate(ctx, r) {
			if !yield(d, l.failed(ctx, err)) {
				return
			}
		}
	}
}

func (l *live) failed(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	err = fmt.Errorf("%w: %w", ErrInfra, err)
	l.session.fail(err)
	return err
}

func (l *live) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	r, err := l.Model.GenerateContent(ctx, messages, options...)
	return r, l.failed(ctx, err)
}
