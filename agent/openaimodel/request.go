package openaimodel

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// request translates langchaingo's messages and options for the host.
func (m *Model) request(messages []llms.MessageContent, o *llms.CallOptions) (*chat.Request, error) {
	if o.N > 1 || o.CandidateCount > 1 {
		return nil, errors.New("more than one candidate is not supported; ask again for another")
	}
	r := &chat.Request{
		Model: m.model, MaxTokens: m.options.MaxTokens, Temperature: m.options.Temperature,
		TopP: unlessZero(o.TopP), PresencePenalty: unlessZero(o.PresencePenalty),
		FrequencyPenalty: unlessZero(o.FrequencyPenalty),
		Stop:             o.StopWords, JSON: o.JSONMode || o.ResponseMIMEType == "application/json",
		ReasoningEffort: m.options.ReasoningEffort,
	}
	if o.Model != "" {
		r.Model = o.Model
	}
	if o.MaxTokens > 0 {
		r.MaxTokens = o.MaxTokens
	}
	if o.Temperature != 0 {
		r.Temperature = &o.Temperature
	}
	if o.Seed != 0 {
		r.Seed = &o.Seed
	}
	var err error
	if r.Tools, err = requestTools(o); err != nil {
		return nil, err
	}
	if r.ToolChoice, err = toolChoice(o); err != nil {
		return nil, err
	}
	if len(r.Tools) == 0 && r.ToolChoice.Choice != chat.Required && r.ToolChoice.Choice != chat.Named {
		r.ToolChoice = chat.ToolChoice{}
	}
	for i, msg := range messages {
		if r.Messages, err = appendMessage(r.Messages, msg); err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
	}
	return r, nil
}

func unlessZero(f float64) *float64 {
	if f == 0 {
		return nil
	}
	return &f
}

func requestTools(o *llms.CallOptions) ([]chat.Tool, error) {
	functions := make([]*llms.FunctionDefinition, 0, len(o.Tools)+len(o.Functions))
	for i, t := range o.Tools {
		if t.Type != "" && t.Type != "function" || t.Function == nil {
			return nil, fmt.Errorf("tool %d of type %q is not a function", i, t.Type)
		}
		functions = append(functions, t.Function)
	}
	for i := range o.Functions {
		functions = append(functions, &o.Functions[i])
	}
	var tools []chat.Tool
	for i, f := range functions {
		if f.Name == "" {
			return nil, fmt.Errorf("tool %d has no name", i)
		}
		parameters, err := schema(f.Parameters)
		if err != nil {
			return nil, fmt.Errorf("tool %q: parameters: %w", f.Name, err)
		}
		tools = append(tools, chat.Tool{Name: f.Name, Description: f.Description, Parameters: parameters, Strict: f.Strict})
	}
	return tools, nil
}

// schema returns a function's parameters as JSON. langchaingo allows JSON, or any value that
// marshals to it.
func schema(v any) (json.RawMessage, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		if len(v) > 0 && !json.Valid(v) {
			return nil, errors.New("not JSON")
		}
		return v, nil
	}
	return jsonrpc.Marshal(v)
}

func toolChoice(o *llms.CallOptions) (chat.ToolChoice, error) {
	choice := o.ToolChoice
	if choice == nil && o.FunctionCallBehavior != "" {
		choice = string(o.FunctionCallBehavior)
	}
	switch choice := choice.(type) {
	case nil:
		return chat.ToolChoice{}, nil
	case llms.ToolChoice:
		return namedChoice(&choice)
	case *llms.ToolChoice:
		if choice == nil {
			return chat.ToolChoice{}, nil
		}
		return namedChoice(choice)
	case string:
		switch choice {
		case "", "auto":
			return chat.ToolChoice{}, nil
		case "none":
			return chat.ToolChoice{Choice: chat.None}, nil
		case "required", "any":
			return chat.ToolChoice{Choice: chat.Required}, nil
		}
		return chat.ToolChoice{}, fmt.Errorf(`tool choice %q is not "auto", "none" or "required"`, choice)
	}
	return chat.ToolChoice{}, fmt.Errorf("tool choice of type %T is neither a string nor an llms.ToolChoice", choice)
}

func namedChoice(c *llms.ToolChoice) (chat.ToolChoice, error) {
	if c.Function == nil || c.Function.Name == "" {
		return chat.ToolChoice{}, fmt.Errorf("tool choice of type %q names no function", c.Type)
	}
	return chat.ToolChoice{Choice: chat.Named, Name: c.Function.Name}, nil
}

// appendMessage adds a message. The results of tools become messages of their own, one for each result,
// before the rest of the message: the API requires them directly after the calls.
func appendMessage(out []chat.Message, in llms.MessageContent) ([]chat.Message, error) {
	msg := chat.Message{}
	switch in.Role {
	case llms.ChatMessageTypeHuman, llms.ChatMessageTypeGeneric:
		msg.Role = chat.User
	case llms.ChatMessageTypeAI:
		msg.Role = chat.Assistant
	case llms.ChatMessageTypeSystem:
		msg.Role = chat.System
	case llms.ChatMessageTypeTool, llms.ChatMessageTypeFunction:
		msg.Role = chat.ToolRole
	default:
		return nil, fmt.Errorf("role %q is unknown", in.Role)
	}
	results := 0
	for i, p := range in.Parts {
		switch p := uncached(p).(type) {
		case llms.ToolCallResponse:
			out = append(out, chat.Message{Role: chat.ToolRole, ToolCallID: p.ToolCallID, Parts: []chat.Part{{Text: p.Content}}})
			results++
		case llms.ToolCall:
			if p.FunctionCall == nil {
				return nil, fmt.Errorf("part %d: tool call %q without a function", i, p.ID)
			}
			msg.ToolCalls = append(msg.ToolCalls, chat.ToolCall{ID: p.ID, Name: p.FunctionCall.Name, Arguments: p.FunctionCall.Arguments})
		default:
			part, err := contentPart(p)
			if err != nil {
				return nil, fmt.Errorf("part %d: %w", i, err)
			}
			msg.Parts = append(msg.Parts, part)
		}
	}
	rest := len(msg.Parts) + len(msg.ToolCalls)
	switch {
	case msg.Role == chat.ToolRole && (rest > 0 || results == 0):
		return nil, errors.New("a tool's message must have llms.ToolCallResponse parts only")
	case msg.Role != chat.Assistant && len(msg.ToolCalls) > 0:
		return nil, fmt.Errorf("a message of role %q cannot call tools", in.Role)
	case rest == 0 && results > 0:
		return out, nil
	}
	return append(out, msg), nil
}

// uncached removes the wrapper that marks a part for prompt caches. The API caches
// without marks.
func uncached(p llms.ContentPart) llms.ContentPart {
	for {
		cached, ok := p.(llms.CachedContent)
		if !ok {
			return p
		}
		p = cached.ContentPart
	}
}

func contentPart(p llms.ContentPart) (chat.Part, error) {
	switch p := p.(type) {
	case llms.TextContent:
		return chat.Part{Text: p.Text}, nil
	case llms.ImageURLContent:
		return chat.Part{Image: &chat.Image{URL: p.URL, Detail: p.Detail}}, nil
	case llms.BinaryContent:
		return binary(p.MIMEType, p.Data)
	}
	return chat.Part{}, fmt.Errorf("content of type %T is not supported", p)
}
