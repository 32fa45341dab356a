package main

import (
	"context"
	"fmt"
	"io/fs"
	"net/http"
	"sync"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/agent/openaimodel"
)

// Options say what is checked.
type Options struct {
	URL    string                 // of the server, with or without /v1
	Model  string                 // its name there; by default the first of the server's list
	Lists  fs.FS                  // lists of tools: the folder evals/interop/testdata/tools
	Wanted func(name string) bool // chooses checks by their names
}

// patience bounds a check.
const patience = 5 * time.Minute

// trial is a check under way, with a model of its own.
type trial struct {
	*server
	wire *wire
	llm  *openaimodel.Model
	note string // what a person wants to know of a check that passes

	mu   sync.Mutex
	told []error // failures that were tried again
}

// probe is a check by its name. It is skipped at a server without what it needs.
type probe struct {
	name  string
	needs fact
	run   func(context.Context, *trial) error
}

// outcome is what a check came to.
type outcome string

// The outcomes. What a server does not offer is skipped.
const (
	passed  outcome = "pass"
	failed  outcome = "fail"
	skipped outcome = "skip"
)

// result is a check that has ended.
type result struct {
	Name    string  `json:"name"`
	Outcome outcome `json:"outcome"`
	Seconds float64 `json:"seconds,omitempty"`
	Text    string  `json:"text,omitempty"`
}

// Run checks a server. What the server is goes to about first, then each check to told as it ends.
func Run(ctx context.Context, o *Options, about func(string), told func(*result)) error {
	s, err := find(ctx, o.URL, o.Model)
	if err != nil {
		return err
	}
	about(s.String())
	for _, p := range append(probes(), toolProbes(o.Lists)...) {
		if o.Wanted(p.name) {
			told(s.check(ctx, p))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// check runs one check.
func (s *server) check(ctx context.Context, p probe) *result {
	c := &result{Name: p.name, Outcome: skipped, Text: "not offered: " + string(p.needs)}
	if p.needs != "" && !s.has[p.needs] {
		return c
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	began := time.Now()
	t := &trial{server: s, wire: newWire()}
	defer t.wire.transport.CloseIdleConnections()
	err := t.open()
	if err == nil {
		err = p.run(ctx, t)
	}
	c.Outcome, c.Text, c.Seconds = passed, t.note, time.Since(began).Seconds()
	if err != nil {
		c.Outcome, c.Text = failed, err.Error()
	}
	return c
}

// open makes a model at the server.
func (t *trial) open() (err error) {
	t.llm, err = openaimodel.New(t.config(), t.model, &openaimodel.Options{Host: t.kind, Retrying: func(err error, _ time.Duration) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.told = append(t.told, err)
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
	if len(t.told) == 0 {
		return nil
	}
	return fmt.Errorf("%d failures were tried again, such as: %w", len(t.told), t.told[0])
}

// want is an error if a value differs from the wanted one.
func want[T comparable](what string, got, want T) error {
	if got == want {
		return nil
	}
	return fmt.Errorf("%s: got %v, want %v", what, got, want)
}
