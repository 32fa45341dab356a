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

// oneCheck is a check by its name. It is skipped at a server without what it needs.
type oneCheck struct {
	name  string
	needs fact
	run   func(context.Context, *trial) error
}

// patience bounds a check.
const patience = 5 * time.Minute

// run runs one check, and returns what a person wants to know about it.
func (s *server) run(ctx context.Context, c oneCheck) (note string, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	t := &trial{server: s, wire: newWire(s.transport)}
	defer t.wire.transport.CloseIdleConnections()
	if err := t.open(""); err != nil {
		return "", err
	}
	err = c.run(ctx, t)
	return t.note, err
}

// offers reports whether the server has what a check needs.
func (s *server) offers(c oneCheck) bool { return c.needs == "" || s.has[c.needs] }

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
