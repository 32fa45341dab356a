package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/evals/llama/tiny"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/sampling"
)

// toolLists has the lists of tools of servers.
var toolLists = os.DirFS("../interop/testdata/tools")

// checks returns all checks.
func checks() []check {
	return append([]check{
		{"chat", "", chat},
		{"stream", "", stream},
		{"length", "", length},
		{"cancel", "", cancelled},
		{"calls", "", calls},
		{"calls/required", grammar, requiredCall},
		{"schemas", grammar, oddSchemas},
		{"schemas/refused", grammar, refusedSchema},
		{"agent", "", twoTurns},
		{"structured", formats, structured},
		{"structured/tools", grammar, structuredWithTools},
		{"sampling", "", sampled},
		{"reasoning", thoughts, reasoning},
		{"reasoning/echo", thoughts, echo},
		{"overflow", refusals, overflow},
		{"overflow/conversation", "", conversation},
		{"connections", "", connections},
		{"connections/streamed", "", streamedConnections},
		{"responses", responses, otherEndpoint},
	}, toolChecks(toolLists)...)
}

// say asks the model, with the text as the only message.
func (t *trial) say(ctx context.Context, text string, options ...llms.CallOption) (*llms.ContentChoice, error) {
	resp, err := t.llm.GenerateContent(ctx, []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, text)}, options...)
	if err != nil {
		return nil, err
	}
	return resp.Choices[0], nil
}

// both asks for a whole reply and for a stream, and compares the two. It returns the whole reply
// and the number of pieces of the stream.
func (t *trial) both(ctx context.Context, text string, options ...llms.CallOption) (c *llms.ContentChoice, pieces int, err error) {
	whole, err := t.say(ctx, text, options...)
	if err != nil {
		return nil, 0, err
	}
	var all strings.Builder
	streamed, err := t.say(ctx, text, append(options, llms.WithStreamingFunc(func(_ context.Context, piece []byte) error {
		pieces++
		all.Write(piece)
		return nil
	}))...)
	if err != nil {
		return nil, 0, fmt.Errorf("stream: %w", err)
	}
	if len(whole.ToolCalls) > 0 {
		err = fitting(streamed)
	}
	return whole, pieces, errors.Join(err, want("text of a stream", streamed.Content, whole.Content), want("pieces", all.String(), whole.Content),
		want("finish of a stream", streamed.StopReason, whole.StopReason), want("thought of a stream", streamed.ReasoningContent, whole.ReasoningContent))
}

// chat wants a greeting, and counts of tokens.
func chat(ctx context.Context, t *trial) error {
	c, err := t.say(ctx, "Hi")
	if err != nil {
		return err
	}
	in, _ := c.GenerationInfo["PromptTokens"].(int)
	out, _ := c.GenerationInfo["CompletionTokens"].(int)
	return errors.Join(want("text", c.Content, tiny.Greeting), want("finish", c.StopReason, "stop"), want("counts of tokens", in > 0 && out > 0, true))
}

// stream wants a greeting in several pieces.
func stream(ctx context.Context, t *trial) error {
	_, pieces, err := t.both(ctx, "Hi")
	t.note = fmt.Sprintf("%d pieces", pieces)
	return errors.Join(err, want("several pieces", pieces > 1, true))
}

// lengthWords is how many [tiny.EndWords], of two tokens each, length asks for.
const lengthWords = 3

// length wants the bound on a reply to be kept.
func length(ctx context.Context, t *trial) error {
	c, _, err := t.both(ctx, tiny.Forever, llms.WithMaxTokens(2*lengthWords))
	if err != nil {
		return err
	}
	return errors.Join(want("finish", c.StopReason, "length"), want("text", c.Content, strings.Repeat(tiny.EndWords, lengthWords)))
}

// cancelled gives up an endless reply, streamed and whole, and then asks for a short one.
func cancelled(ctx context.Context, t *trial) error {
	streamed, cancel := context.WithCancel(ctx)
	defer cancel()
	_, err := t.say(streamed, tiny.Forever, llms.WithStreamingFunc(func(context.Context, []byte) error { cancel(); return nil }))
	if !errors.Is(err, context.Canceled) {
		return fmt.Errorf("stream: got %v, want the end of the context", err)
	}
	err = chat(ctx, t)
	whole, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	if _, wrong := t.say(whole, tiny.Forever); !errors.Is(wrong, context.DeadlineExceeded) {
		return fmt.Errorf("whole: got %v, want the end of the context", wrong)
	}
	return errors.Join(err, chat(ctx, t), t.retried())
}

// calls wants the two calls of the model, whole and by a stream.
func calls(ctx context.Context, t *trial) error {
	c, _, err := t.both(ctx, "Hi", offered())
	if err != nil {
		return err
	}
	return fitting(c)
}

// offered offers the tools that the model knows.
func offered() llms.CallOption { return llms.WithTools(twoTools(nil).catalog("openai").Definitions()) }

// fitting wants the calls that the model makes, each with an id of its own.
func fitting(c *llms.ContentChoice) error {
	var got []string
	ids := map[string]bool{"": true}
	for _, call := range c.ToolCalls {
		var in struct{ City string }
		if err := json.Unmarshal([]byte(call.FunctionCall.Arguments), &in); err != nil {
			return fmt.Errorf("arguments of the call of %s: %w", call.FunctionCall.Name, err)
		}
		if ids[call.ID] {
			return fmt.Errorf("call of %s: the id %q is empty or used twice", call.FunctionCall.Name, call.ID)
		}
		got, ids[call.ID] = append(got, call.FunctionCall.Name+" "+in.City), true
	}
	return want("calls", strings.Join(got, ", "), tiny.Weather+" Oslo, "+tiny.Clock+" Oslo")
}

// reasoning wants the thought apart from the text.
func reasoning(ctx context.Context, t *trial) error {
	c, _, err := t.both(ctx, tiny.Think, offered())
	if err != nil {
		return err
	}
	return errors.Join(want("thought", c.ReasoningContent, tiny.Thought), want("text", c.Content, ""), fitting(c))
}

// sampled answers two requests of a server for sampling, one with a text and one with a call.
func sampled(ctx context.Context, t *trial) error {
	s, err := sampling.New(t.config(), t.model, &sampling.Options{Host: t.kind})
	if err != nil {
		return err
	}
	p := &mcp.CreateMessageParams{MaxTokens: 200, Messages: []mcp.SamplingMessage{{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: "Hi"}}}}}
	r, err := s.CreateMessage(ctx, p)
	if err != nil {
		return err
	}
	if text, ok := r.Content[0].(*mcp.TextContent); !ok || text.Text != tiny.Greeting {
		return fmt.Errorf("got %v, want the greeting", r.Content)
	}
	p.Tools = []*mcp.Tool{{Name: tiny.Weather, InputSchema: citySchema}}
	if r, err = s.CreateMessage(ctx, p); err != nil {
		return err
	}
	if use, ok := r.Content[len(r.Content)-1].(*mcp.ToolUseContent); !ok || use.Name != tiny.Weather {
		return fmt.Errorf("got %v, want a call of %s", r.Content, tiny.Weather)
	}
	return nil
}
