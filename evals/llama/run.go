package main

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/agent/openaimodel"
)

// check is a check by its name. It is skipped at a server without what it needs.
type check struct {
	name  string
	needs fact
	run   func(context.Context, *trial) error
}

// outcome is the end of a check.
type outcome string

const (
	passed  outcome = "pass"
	failed  outcome = "fail"
	skipped outcome = "skip" // the server does not offer what the check needs
)

// result is a check that has ended.
type result struct {
	outcome outcome
	took    time.Duration
	text    string // the error, or the note of the trial
}

// patience bounds a check.
const patience = 5 * time.Minute

// run runs one check.
func (s *server) run(ctx context.Context, c check) result {
	if c.needs != "" && !s.has[c.needs] {
		return result{outcome: skipped, text: "not offered: " + string(c.needs)}
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began := time.Now()
	t := &trial{server: s, wire: newWire(s.transport)}
	defer t.wire.transport.CloseIdleConnections()
	err := t.open("")
	if err == nil {
		err = c.run(ctx, t)
	}
	if err != nil {
		return result{failed, time.Since(began), err.Error()}
	}
	return result{passed, time.Since(began), t.note}
}

// trial is a check under way, with a model of its own.
type trial struct {
	*server
	wire *wire
	llm  *openaimodel.Model
	note string // what a person wants to know about a check that passes

	mu      sync.Mutex
	retries []error // the failures that were tried again
}

// open makes a model at the server, for one of its APIs; "" is its usual one.
func (t *trial) open(api string) (err error) {
	t.llm, err = openaimodel.New(t.config(), t.model, &openaimodel.Options{Host: t.kind, API: api, Retrying: func(err error, _ time.Duration) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.retries = append(t.retries, err)
	}})
	return err
}

func (t *trial) config() openai.ClientConfig {
	cfg := openai.DefaultConfig("none")
	cfg.BaseURL, cfg.HTTPClient = t.base, &http.Client{Transport: t.wire}
	return cfg
}

// retried is an error if a failure was tried again.
func (t *trial) retried() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.retries) == 0 {
		return nil
	}
	return fmt.Errorf("%d failures were tried again, such as: %w", len(t.retries), t.retries[0])
}

// want is an error if a value differs from the wanted one.
func want[T comparable](what string, got, want T) error {
	if got == want {
		return nil
	}
	return fmt.Errorf("%s: got %v, want %v", what, got, want)
}
