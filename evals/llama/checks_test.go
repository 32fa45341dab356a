package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/evals/llama/tiny"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/sampling"
)

// toolLists has the lists of tools of servers.
var toolLists = os.DirFS("../interop/testdata/tools")

func checks() []oneCheck {
	return append([]oneCheck{
		{"chat", "", chat}, {"stream", "", stream}, {"length", "", length}, {"cancel", "", cancelled},
		{"calls", "", calls}, {"calls/required", grammar, requiredCall}, {"schemas", grammar, oddSchemas},
		{"schemas/refused", grammar, refusedSchema}, {"agent", "", twoTurns}, {"structured", formats, structured},
		{"structured/tools", grammar, structuredWithTools}, {"sampling", "", sampled}, {"reasoning", "", reasoning},
		{"reasoning/echo", thoughts, echo}, {"overflow", refusals, overflow}, {"overflow/conversation", "", conversation},
		{"connections", "", connections}, {"connections/streamed", "", streamedConnections},
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

// reasoning wants the thought apart from the text, also if the server leaves it there.
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

func (t *trial) agent(ctx context.Context, tools *toolbox, whole bool, in []run.Message) (*agent.Result, error) {
	a, err := agent.New(t.llm, &agent.Options{Tools: tools.all, Model: agent.ModelSettings{NoStreaming: whole}})
	if err != nil {
		return nil, err
	}
	return a.Run(ctx, in)
}

// twoTurns has an agent call both tools, and answer.
func twoTurns(ctx context.Context, t *trial) (err error) {
	for _, whole := range []bool{true, false} {
		tools := twoTools(nil)
		r, wrong := t.agent(ctx, tools, whole, agent.Text("Hi"))
		if wrong != nil {
			return wrong
		}
		err = errors.Join(err, want("answer", r.Output, tiny.Answer), want("calls", tools.calls.Load(), 2),
			want("turns", r.Usage.Turns, 2), want("counted tokens", r.Usage.Input > 0, true))
	}
	return err
}

type form struct {
	City    string `json:"city"`
	Degrees int    `json:"degrees"`
	Sky     string `json:"sky" enum:"clear,cloudy"`
}

// structured wants a structured answer from an agent without tools.
func structured(ctx context.Context, t *trial) error { return t.fill(ctx, &agent.Options{}) }

// structuredWithTools wants one from an agent that calls its tools first.
func structuredWithTools(ctx context.Context, t *trial) error {
	return t.fill(ctx, &agent.Options{Tools: twoTools(nil).all, Limits: run.Limits{Turns: 3}})
}

// fill wants a structured answer from an agent with these options.
func (t *trial) fill(ctx context.Context, o *agent.Options) error {
	a, err := agent.New(t.llm, o)
	if err != nil {
		return err
	}
	got, r, err := agent.RunAs[form](ctx, a, agent.Text("Hi"))
	if err != nil {
		return err
	}
	t.note = fmt.Sprintf("%d turns", r.Usage.Turns)
	return want("sky", got.Sky == "clear" || got.Sky == "cloudy", true)
}

// echo wants each thought of a run in the prompts of later turns, also by another model with the same history.
func echo(ctx context.Context, t *trial) error {
	tools := twoTools(func(n int32) string {
		if n <= 2 { // calls of the first turn
			return tiny.Think
		}
		return "rain"
	})
	r, err := t.agent(ctx, tools, false, agent.Text(tiny.Think))
	if err != nil {
		return err
	}
	if err := errors.Join(want("answer", r.Output, tiny.Answer), want("turns", r.Usage.Turns, 3), t.echoed(ctx), t.open("")); err != nil {
		return err
	}
	if _, err = t.agent(ctx, tools, false, append(r.Messages, agent.Text("Hi")...)); err != nil {
		return err
	}
	if err := t.echoed(ctx); err != nil {
		return fmt.Errorf("by another model, with the same history: %w", err)
	}
	return nil
}

// echoed wants two thoughts in the latest request, and in the prompt that the server makes from it, if it shows prompts.
func (t *trial) echoed(ctx context.Context) error {
	const thoughts = 2
	if err := want("thoughts in the request", strings.Count(string(t.wire.last), tiny.Thought), thoughts); err != nil {
		return err
	}
	status, shown, err := t.ask(ctx, "/apply-template", json.RawMessage(t.wire.last))
	if err != nil || status != http.StatusOK {
		t.note = "the server shows no prompts"
		return err
	}
	return want("thoughts in the prompt", strings.Count(at(shown, "prompt"), tiny.Thought), thoughts)
}

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
	var history []run.Message
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
		history = r.Messages
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
