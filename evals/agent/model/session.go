package model

import (
	"context"
	"fmt"
	"iter"
	"sync"

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

	mu     sync.Mutex // guards failed
	failed error
}

// Err returns why the trial says nothing about the agent: an endpoint failed, or the cassette
// lacked something. It matches [ErrInfra] or [tape.ErrMiss], even if the agent continued.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil && s.Tape != nil {
		return s.Tape.Err()
	}
	return s.failed
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
	live := &live{m, s}
	if s.Spec.Record {
		return s.Tape.RecordModel(live), nil
	}
	return live, nil
}

// live is a model whose errors match [ErrInfra]. It has retried before it returns one.
type live struct {
	agent.Model
	session *Session
}

// Generate implements [agent.Model].
func (l *live) Generate(ctx context.Context, r *llm.Request) iter.Seq2[llm.Delta, error] {
	return func(yield func(llm.Delta, error) bool) {
		for d, err := range l.Model.Generate(ctx, r) {
			if err != nil && ctx.Err() == nil {
				err = fmt.Errorf("%w: %w", ErrInfra, err)
				l.session.fail(err)
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// fail keeps the first failure of an endpoint.
func (s *Session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
	}
}
