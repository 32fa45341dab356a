package convert

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// Ask asks a model of ours. It reads the options that a request has no field for.
type Ask func(*model.Request, *llms.CallOptions) iter.Seq2[model.Delta, error]

// Generate implements [llms.Model] by ask. The error comes from ask or a streaming function, or names
// a message or an option that has no equivalent.
func Generate(ctx context.Context, messages []llms.MessageContent, options []llms.CallOption, ask Ask) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, set := range options {
		set(&o)
	}
	r, err := request(messages, &o)
	if err != nil {
		return nil, fmt.Errorf("generate content: %w", err)
	}
	for d, err := range ask(r, &o) {
		switch {
		case err != nil:
			return nil, err
		case d.Response != nil && d.Response.Finish == model.FinishRefusal && d.Response.Message.Text() == "":
			reason := errors.New("generate content: " + cmp.Or(d.Response.Warning, "the model refuses to answer"))
			return nil, &model.Error{Kind: model.ErrorRefused, Err: reason}
		case d.Response != nil:
			return response(d.Response), nil
		}
		if err := stream(ctx, &o, d); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("generate content: no reply")
}

// stream passes a piece of the reply to the streaming functions, whose error ends the reply.
func stream(ctx context.Context, o *llms.CallOptions, d model.Delta) error {
	if o.StreamingReasoningFunc != nil {
		if err := o.StreamingReasoningFunc(ctx, []byte(d.Reasoning), []byte(d.Text)); err != nil {
			return err
		}
	}
	if o.StreamingFunc == nil || d.Text == "" {
		return nil
	}
	return o.StreamingFunc(ctx, []byte(d.Text))
}

// request translates langchaingo's messages and options.
func request(messages []llms.MessageContent, o *llms.CallOptions) (r *model.Request, err error) {
	if o.N > 1 || o.CandidateCount > 1 {
		return nil, errors.New("more than one candidate is not supported; ask again for another")
	}
	r = &model.Request{MaxTokens: o.MaxTokens, Stop: o.StopWords, Stream: o.StreamingFunc != nil || o.StreamingReasoningFunc != nil}
	if o.Temperature != 0 {
		r.Temperature = &o.Temperature
	}
	functions := make([]*llms.FunctionDefinition, 0, len(o.Tools)+len(o.Functions))
	for _, t := range o.Tools {
		functions = append(functions, t.Function)
	}
	for i := range o.Functions {
		functions = append(functions, &o.Functions[i])
	}
	for i, f := range functions {
		if f == nil || f.Name == "" {
			return nil, fmt.Errorf("tool %d is not a function with a name", i)
		}
		schema, err := schemaOf(f.Parameters)
		if err != nil {
			return nil, fmt.Errorf("tool %q: parameters: %w", f.Name, err)
		}
		r.Tools = append(r.Tools, model.Tool{Name: f.Name, Description: f.Description, Schema: schema, Strict: f.Strict})
	}
	if r.ToolChoice, r.ToolName, err = choiceOf(o); err != nil {
		return nil, err
	}
	r.Messages, err = FromLLMS(messages)
	return r, err
}

// schemaOf returns a function's parameters as JSON. langchaingo allows JSON, or any value that
// marshals to it.
func schemaOf(parameters any) (json.RawMessage, error) {
	if raw, ok := parameters.(json.RawMessage); ok && (len(raw) == 0 || json.Valid(raw)) {
		return raw, nil // in its own form
	}
	schema, err := jsonrpc.Marshal(parameters)
	if string(schema) == "null" {
		return nil, err
	}
	return schema, err
}

var choices = map[string]model.Choice{
	"": model.ChoiceAuto, "auto": model.ChoiceAuto, "none": model.ChoiceNone, "required": model.ChoiceRequired, "any": model.ChoiceRequired,
}

// choiceOf returns the choice of tools, and with ChoiceTool the tool, by ToolChoice, or else by
// the older FunctionCallBehavior.
func choiceOf(o *llms.CallOptions) (_ model.Choice, tool string, err error) {
	choice := o.ToolChoice
	if choice == nil {
		choice = string(o.FunctionCallBehavior)
	}
	if p, ok := choice.(*llms.ToolChoice); ok && p != nil {
		choice = *p
	}
	switch choice := choice.(type) {
	case string:
		if mode, ok := choices[choice]; ok {
			return mode, "", nil
		}
	case llms.ToolChoice:
		if choice.Function != nil && choice.Function.Name != "" {
			return model.ChoiceTool, choice.Function.Name, nil
		}
	}
	return model.ChoiceAuto, "", fmt.Errorf(`tool choice %#v is not "auto", "none", "required" or an llms.ToolChoice with a function`, choice)
}

// response translates a reply to langchaingo's types.
func response(r *model.Response) *llms.ContentResponse {
	info := map[string]any{"Model": r.Message.Model}
	if r.ID != "" {
		info["ID"] = r.ID
	}
	if r.Warning != "" {
		info["Warning"] = r.Warning
	}
	if u := r.Usage; u.Total > 0 {
		info["PromptTokens"], info["CompletionTokens"], info["TotalTokens"] = int(u.Input), int(u.Output), int(u.Total)
		info["PromptCachedTokens"], info["CacheCreationInputTokens"], info["ReasoningTokens"] = int(u.Cached), int(u.CacheWrite), int(u.Reasoning)
	}
	choice := &llms.ContentChoice{
		Content: r.Message.Text(), StopReason: r.Finish, ReasoningContent: reasoningOf(r.Message.Parts),
		ToolCalls: callsOf(r.Message.Parts), GenerationInfo: info,
	}
	if len(choice.ToolCalls) > 0 {
		choice.FuncCall = choice.ToolCalls[0].FunctionCall
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{choice}}
}

// callsOf returns the calls among the parts of a message.
func callsOf(parts []run.Part) (calls []llms.ToolCall) {
	for _, p := range parts {
		if p.Type == run.PartCall {
			calls = append(calls, llms.ToolCall{ID: p.ID, Type: "function", FunctionCall: &llms.FunctionCall{Name: p.Name, Arguments: p.Arguments}})
		}
	}
	return calls
}

// reasoningOf returns the reasoning among the parts of a message, each in paragraphs of its own.
func reasoningOf(parts []run.Part) string {
	var texts []string
	for _, p := range parts {
		if p.Type == run.PartReasoning && p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}
