package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sashabaranov/go-openai"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/evals/llama/tiny"
)

// overflow sends a prompt that is too long, and the refusal is understood.
func overflow(ctx context.Context, t *trial) error {
	_, err := t.say(ctx, tooLong())
	if !llms.IsTokenLimitError(err) {
		return fmt.Errorf("got %w, want a limit of tokens", err)
	}
	t.note = err.Error()
	return nil
}

// conversation goes on to four windows. A server that cuts a longer prompt, and says nothing, gets eight at once: the
// agent takes a token for up to eight bytes, and must warn.
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

// loads asks while the server loads its model: so it says, as a llama-server does.
func loads(ctx context.Context, t *trial) error {
	const refusals = 4
	t.wire.refusals = refusals
	return errors.Join(chat(ctx, t), want("requests", t.wire.requests, refusals+1))
}

// connections asks 20 times, by one connection.
func connections(ctx context.Context, t *trial) error {
	for range 20 {
		if err := chat(ctx, t); err != nil {
			return err
		}
	}
	return errors.Join(want("connections", t.wire.dials, 1), t.retried())
}

// streamedConnections asks by streams. A llama-server ends the connection behind each; that fails no call, and
// is not told.
func streamedConnections(ctx context.Context, t *trial) error {
	const streams = 40
	pass := func(context.Context, []byte) error { return nil }
	for range streams {
		if _, err := t.say(ctx, "Hi", llms.WithStreamingFunc(pass)); err != nil {
			return err
		}
	}
	t.note = fmt.Sprintf("%d streams by %d connections", streams, t.wire.dials)
	return t.retried()
}

// otherEndpoint asks for a call at the endpoint of the Responses API, whole and by a stream.
func otherEndpoint(ctx context.Context, t *trial) error {
	client := openai.NewClientWithConfig(t.config())
	request := openai.CreateResponseRequest{Model: t.model, Input: "Hi", Tools: []openai.ResponseTool{
		openai.NewResponseFunctionTool(openai.FunctionDefinition{Name: tiny.Weather, Parameters: citySchema}),
	}}
	whole, err := client.CreateResponse(ctx, request)
	if err != nil {
		return err
	}
	s, err := client.CreateResponseStream(ctx, request)
	if err != nil {
		return err
	}
	defer s.Close()
	var last *openai.CreateResponseResponse
	for err == nil {
		var e openai.ResponseStreamEvent
		if e, err = s.Recv(); err == nil && e.Response != nil {
			last = e.Response
		}
	}
	if !errors.Is(err, io.EOF) || last == nil {
		return fmt.Errorf("stream: got %v and %w, want a response and its end", last, err)
	}
	return errors.Join(callIn(whole.Output), callIn(last.Output))
}

// callIn wants a call among the items of a response.
func callIn(output []any) error {
	for _, item := range output {
		if at(item, "type") == "function_call" {
			var in map[string]string
			return errors.Join(json.Unmarshal([]byte(at(item, "arguments")), &in), want("tool", at(item, "name"), tiny.Weather), want("city", in["city"], "Oslo"))
		}
	}
	return errors.New("the response has no call")
}
