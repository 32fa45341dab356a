package model

import (
	"context"
	"fmt"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/openaimodel"
)

// live is a model whose errors match [ErrInfra]. It has tried again before it gives one.
type live struct {
	*openaimodel.Model
	session *Session
}

func (l *live) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	r, err := l.Model.GenerateContent(ctx, messages, options...)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w: %w", ErrInfra, err)
		l.session.fail(err)
	}
	return r, err
}
