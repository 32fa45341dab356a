package model

import (
	"fmt"
	"os"
	"sync"

	"github.com/sashabaranov/go-openai"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/lc"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/evals/agent/tape"
)

// Session has the models of one trial: of the task's agent, and of its sub-agents.
type Session struct {
	Spec  Spec
	Task  *suite.Task
	Trial int
	Tape  *tape.Tape // of a model that is recorded or plays; otherwise nil

	mu     sync.Mutex // guards failed
	failed error
}

// Err says why the trial tells nothing of the agent: an endpoint failed, or the cassette lacked
// something. It matches [ErrInfra] or [tape.ErrMiss], also if the agent went on.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil && s.Tape != nil {
		return s.Tape.Err()
	}
	return s.failed
}

// fail keeps the first failure of an endpoint.
func (s *Session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
	}
}

// Model is the model of the task's agent, or of one that works for it.
func (s *Session) Model(a *suite.Agent) (agent.Model, error) {
	m, err := s.model(a)
	if native, ok := m.(agent.Model); ok || err != nil {
		return native, err
	}
	return lc.Model(m, nil), nil
}

func (s *Session) model(a *suite.Agent) (llms.Model, error) {
	c := &cassette{tape: s.Tape, name: s.Spec.Name}
	if a != nil {
		c.agent = a.Name
	}
	if s.Spec.Kind == "recorded" {
		return c, nil
	}
	m, err := s.fresh(a)
	if err != nil || !s.Spec.Record {
		return m, err
	}
	c.model = m
	return c, nil
}

// fresh is a model that is not recorded.
func (s *Session) fresh(a *suite.Agent) (llms.Model, error) {
	want, name := &s.Task.Expect, s.Task.ID
	if a != nil {
		want, name = &suite.Expect{}, s.Task.ID+"/"+a.Name
	}
	switch s.Spec.Kind {
	case "scripted":
		if a != nil {
			return &script{steps: a.Script, after: handoffOf(a)}, nil
		}
		return &script{steps: s.Task.Script}, nil
	case "oracle":
		return oracle(want), nil
	case "keyword":
		return keyword(), nil
	case "random":
		return random(s.Spec.Seed, name, s.Trial), nil
	case "live":
		cfg := openai.DefaultConfig(os.Getenv(s.Spec.KeyEnv))
		cfg.BaseURL = s.Spec.BaseURL
		m, err := openaimodel.New(cfg, s.Spec.Name, &openaimodel.Options{
			API: s.Spec.API, Host: s.Spec.Host, ReasoningEffort: s.Spec.Effort, MaxTokens: s.Spec.MaxTokens, Extra: s.Spec.Extra,
		})
		return &live{m, s}, err
	}
	return nil, fmt.Errorf("there is no model %q", s.Spec.Kind)
}
