package model

import (
	"context"
	"fmt"
	"iter"

	"github.com/mcpchain/mcpchain/agent"
	llm "github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/evals/agent/tape"
)

// Session holds the model of one trial.
type Session struct {
	Spec Spec
	Task *suite.Task
	Tape *tape.Tape // tape of a model that is recorded or played; otherwise nil
}

// Model returns the model of the task's agent.
func (s *Session) Model() (agent.Model, error) {
	switch s.Spec.Mode {
	case results.Scripted:
		return &script{s.Task.Script}, nil
	case results.Recorded:
		return s.Tape.PlayModel(s.Spec.Info), nil
	}
	m, err := s.Spec.Endpoint.Open(nil)
	if err != nil {
		return nil, err
	}
	if s.Spec.Record {
		return s.Tape.RecordModel(live{m}), nil
	}
	return live{m}, nil
}

// live is a model whose errors match [ErrInfra]. It has retried before it returns one.
type live struct{ agent.Model }

// Generate implements [agent.Model].
func (l live) Generate(ctx context.Context, r *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for d, err := range l.Model.Generate(ctx, r) {
			if err != nil && ctx.Err() == nil {
				err = fmt.Errorf("%w: %w", ErrInfra, err)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}
