package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/evals/llama/tiny"
)

// overflow sends a prompt that is too long, and wants the refusal to be understood.
func overflow(ctx context.Context, t *trial) error {
	_, err := t.say(ctx, tooLong())
	if !llms.IsTokenLimitError(err) {
		return fmt.Errorf("got %v, want a limit of tokens", err)
	}
	t.note = err.Error()
	return nil
}

// conversation continues to four windows. A server that cuts a longer prompt without an error gets
// eight windows at once: the agent takes a token for up to eight bytes, and must warn.
func conversation(ctx context.Context, t *trial) error {
	a, err := agent.New(t.llm, nil)
	if err != nil {
		return err
	}
	var history agent.Input
	const size = 2000
	long := agent.Text(strings.Repeat("word ", size/len("word ")))
	turns := 4 * tiny.Window / size
	if !t.has[refusals] {
		for range 2 * turns {
			history = append(history, long...)
		}
		turns = 1
	}
	for turn := range turns {
		r, err := a.Run(ctx, append(history, long...))
		if err == nil {
			err = want("answer", r.Output, tiny.Greeting)
		}
		if err != nil {
			return fmt.Errorf("turn %d: %w", turn+1, err)
		}
		history = agent.Messages(r.Messages...)
		for _, w := range r.Warnings {
			t.note = w.Text
		}
	}
	return want("a warning that the server cuts prompts", t.has[refusals] || t.note != "", true)
}

// connections asks 20 times, over one connection.
func connections(ctx context.Context, t *trial) error {
	for range 20 {
		if err := chat(ctx, t); err != nil {
			return err
		}
	}
	if err := want("connections", t.wire.dials, 1); err != nil {
		return err
	}
	return t.retried()
}

// streamedConnections asks by streams. A llama-server ends the connection after each one; that must
// not fail a call, nor count as a failure that is tried again.
func streamedConnections(ctx context.Context, t *trial) error {
	const streams = 40
	pass := func(context.Context, []byte) error { return nil }
	for range streams {
		if _, err := t.say(ctx, "Hi", llms.WithStreamingFunc(pass)); err != nil {
			return err
		}
	}
	t.note = fmt.Sprintf("%d streams over %d connections", streams, t.wire.dials)
	return t.retried()
}

// otherEndpoint wants calls from the Responses API.
func otherEndpoint(ctx context.Context, t *trial) error {
	if err := t.open("responses"); err != nil {
		return err
	}
	return calls(ctx, t)
}
