package model

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/evals/agent/tape"
)

// cassette is a model that a tape records, or that a tape plays.
type cassette struct {
	tape        *tape.Tape
	model       llms.Model // recorded; nil: played
	name, agent string
}

// ModelName is by what the model's price is found.
func (c *cassette) ModelName() string { return c.name }

// Call implements [llms.Model].
func (c *cassette) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, c, prompt, options...)
}

// GenerateContent implements [llms.Model].
func (c *cassette) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, set := range options {
		set(&o)
	}
	request, err := json.Marshal(map[string]any{"messages": messages, "tools": o.Tools})
	if err != nil {
		return nil, err
	}
	if c.model == nil {
		given, err := c.tape.Replay(c.agent, turn(messages), request)
		if err != nil {
			return nil, err
		}
		return response(given)
	}
	r, err := c.model.GenerateContent(ctx, messages, options...)
	if err != nil {
		return nil, err
	}
	given, err := said(r)
	if err != nil {
		return nil, err
	}
	return r, c.tape.Keep(tape.Line{Reply: &tape.Reply{Agent: c.agent, Turn: turn(messages), Request: request, Reply: given}})
}

// turn counts the replies that a model has given before, and this one.
func turn(messages []llms.MessageContent) int {
	n := 1
	for _, m := range messages {
		if m.Role == llms.ChatMessageTypeAI {
			n++
		}
	}
	return n
}

// line is a reply as a cassette has it.
type line struct {
	Text      string         `json:"text,omitempty"`
	Reasoning string         `json:"reasoning,omitempty"`
	Stop      string         `json:"stop,omitempty"`
	Calls     []lineCall     `json:"calls,omitempty"`
	Info      map[string]any `json:"info,omitempty"` // tokens, for instance
}

type lineCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// said writes a reply.
func said(r *llms.ContentResponse) (json.RawMessage, error) {
	if len(r.Choices) == 0 {
		return nil, errors.New("the reply has no choice")
	}
	c := r.Choices[0]
	l := line{Text: c.Content, Reasoning: c.ReasoningContent, Stop: c.StopReason, Info: c.GenerationInfo}
	for _, call := range c.ToolCalls {
		if f := call.FunctionCall; f != nil {
			l.Calls = append(l.Calls, lineCall{call.ID, f.Name, f.Arguments})
		}
	}
	return json.Marshal(l)
}

// response reads a reply.
func response(data json.RawMessage) (*llms.ContentResponse, error) {
	var l line
	if err := json.Unmarshal(data, &l); err != nil {
		return nil, err
	}
	c := &llms.ContentChoice{Content: l.Text, ReasoningContent: l.Reasoning, StopReason: l.Stop, GenerationInfo: map[string]any{}}
	for name, v := range l.Info {
		if n, ok := v.(float64); ok && n == float64(int(n)) {
			v = int(n)
		}
		c.GenerationInfo[name] = v
	}
	for _, call := range l.Calls {
		c.ToolCalls = append(c.ToolCalls, llms.ToolCall{ID: call.ID, Type: "function", FunctionCall: &llms.FunctionCall{Name: call.Name, Arguments: call.Arguments}})
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{c}}, nil
}
