package anthropicmodel

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/internal/hostfail"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

var _ llms.Model = (*Model)(nil)

// GenerateContent implements [llms.Model]. langchaingo's types have no field for thoughts, so those of earlier replies are
// not sent back. The response has one choice. Options without a counterpart in the API are ignored; more than one
// candidate is an error. A failure of the host matches [*model.Error] and [*llms.Error] by errors.As.
func (m *Model) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, option := range options {
		option(&o)
	}
	r, err := request(messages, &o)
	if err != nil {
		return nil, fmt.Errorf("generate content: %w", err)
	}
	asked := m
	if o.Model != "" && o.Model != m.name {
		other := *m
		other.name = o.Model
		if err := other.setAddress(""); err != nil {
			return nil, fmt.Errorf("generate content: %w", err)
		}
		asked = &other
	}
	for d, err := range asked.Generate(ctx, r) {
		switch {
		case err != nil:
			return nil, withLLMSError(err)
		case d.Response != nil:
			return response(d.Response), nil
		}
		if err := stream(ctx, &o, d); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("generate content: no reply")
}

// Call asks the model one question and returns the text of its answer.
//
// Deprecated: use [Model.GenerateContent].
func (m *Model) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, m, prompt, options...)
}

// stream passes a piece of the reply to the streaming functions.
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

// withLLMSError returns an error that matches langchaingo's error, too.
func withLLMSError(err error) error {
	failure, ok := errors.AsType[*model.Error](err)
	if !ok {
		return err
	}
	return &llmsError{failure, llms.NewError(hostfail.Code(failure.Kind), "anthropic", failure.Error())}
}

// llmsError is a failure in both forms.
type llmsError struct {
	failure *model.Error
	llms    *llms.Error
}

func (e *llmsError) Error() string { return e.failure.Error() }

func (e *llmsError) Unwrap() []error { return []error{e.failure, e.llms} }

// request translates langchaingo's messages and options.
func request(messages []llms.MessageContent, o *llms.CallOptions) (*model.Request, error) {
	if o.N > 1 || o.CandidateCount > 1 {
		return nil, errors.New("more than one candidate is not supported; ask again for another")
	}
	r := &model.Request{MaxTokens: o.MaxTokens, Stop: o.StopWords, Stream: o.StreamingFunc != nil || o.StreamingReasoningFunc != nil}
	if o.Temperature != 0 {
		r.Temperature = &o.Temperature
	}
	for i, t := range o.Tools {
		if t.Function == nil || t.Function.Name == "" {
			return nil, fmt.Errorf("tool %d is not a function with a name", i)
		}
		schema, err := jsonrpc.Marshal(t.Function.Parameters)
		if err != nil {
			return nil, fmt.Errorf("tool %q: parameters: %w", t.Function.Name, err)
		}
		if string(schema) == "null" {
			schema = nil
		}
		r.Tools = append(r.Tools, model.Tool{Name: t.Function.Name, Description: t.Function.Description, Schema: schema, Strict: t.Function.Strict})
	}
	var err error
	if r.Choice, r.ChosenTool, err = choiceOf(o.ToolChoice); err != nil {
		return nil, err
	}
	for i, message := range messages {
		out, err := messageOf(message)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i, err)
		}
		r.Messages = append(r.Messages, out)
	}
	return r, nil
}

func choiceOf(choice any) (_ model.Choice, tool string, err error) {
	switch choice := choice.(type) {
	case nil:
		return model.ChoiceAuto, "", nil
	case string:
		modes := map[string]model.Choice{"": model.ChoiceAuto, "auto": model.ChoiceAuto, "none": model.ChoiceNone, "required": model.ChoiceRequired, "any": model.ChoiceRequired}
		if mode, ok := modes[choice]; ok {
			return mode, "", nil
		}
	case llms.ToolChoice:
		if choice.Function != nil {
			return model.ChoiceTool, choice.Function.Name, nil
		}
	}
	return model.ChoiceAuto, "", fmt.Errorf(`tool choice %v is not "auto", "none", "required" or an llms.ToolChoice with a function`, choice)
}

// messageOf translates a message of langchaingo.
func messageOf(in llms.MessageContent) (out run.Message, err error) {
	roles := map[llms.ChatMessageType]run.Role{
		llms.ChatMessageTypeSystem: run.RoleSystem, llms.ChatMessageTypeHuman: run.RoleUser, llms.ChatMessageTypeGeneric: run.RoleUser,
		llms.ChatMessageTypeAI: run.RoleAssistant, llms.ChatMessageTypeTool: run.RoleTool, llms.ChatMessageTypeFunction: run.RoleTool,
	}
	role, ok := roles[in.Role]
	if !ok {
		return out, fmt.Errorf("role %q is unknown", in.Role)
	}
	out.Role = role
	for i, part := range in.Parts {
		for {
			cached, ok := part.(llms.CachedContent)
			if !ok {
				break
			}
			part = cached.ContentPart // markForCache sets the marks
		}
		switch p := part.(type) {
		case llms.TextContent:
			out.Parts = append(out.Parts, run.Part{Type: run.PartText, Text: p.Text})
		case llms.ImageURLContent:
			out.Parts = append(out.Parts, run.Part{Type: run.PartImage, MIMEType: "image/*", URL: p.URL})
		case llms.BinaryContent:
			kind := run.PartFile
			if strings.HasPrefix(p.MIMEType, "image/") {
				kind = run.PartImage
			}
			out.Parts = append(out.Parts, run.Part{Type: kind, MIMEType: p.MIMEType, Data: p.Data})
		case llms.ToolCall:
			if p.FunctionCall == nil {
				return out, fmt.Errorf("part %d: tool call %q without a function", i, p.ID)
			}
			out.Parts = append(out.Parts, run.Part{Type: run.PartCall, ID: p.ID, Name: p.FunctionCall.Name, Arguments: p.FunctionCall.Arguments})
		case llms.ToolCallResponse:
			out.Parts = append(out.Parts, run.Part{Type: run.PartResult, ID: p.ToolCallID, Name: p.Name, Text: p.Content})
		default:
			return out, fmt.Errorf("part %d: content of type %T is not supported", i, p)
		}
	}
	return out, nil
}

// response translates a reply to langchaingo's types.
func response(r *model.Response) *llms.ContentResponse {
	choice := &llms.ContentChoice{Content: r.Message.Text(), StopReason: r.Finish, GenerationInfo: map[string]any{
		"Model": r.Message.Model, "ID": r.ID, "PromptTokens": int(r.Usage.Input), "CompletionTokens": int(r.Usage.Output), "TotalTokens": int(r.Usage.Total),
		"PromptCachedTokens": int(r.Usage.Cached), "CacheCreationInputTokens": int(r.Usage.CacheWrite), "ReasoningTokens": int(r.Usage.Reasoning),
	}}
	if r.Warning != "" {
		choice.GenerationInfo["Warning"] = r.Warning
	}
	for _, p := range r.Message.Parts {
		switch p.Type {
		case run.PartReasoning:
			choice.ReasoningContent += p.Text
		case run.PartCall:
			choice.ToolCalls = append(choice.ToolCalls, llms.ToolCall{ID: p.ID, Type: "function", FunctionCall: &llms.FunctionCall{Name: p.Name, Arguments: p.Arguments}})
		}
	}
	if len(choice.ToolCalls) > 0 {
		choice.FuncCall = choice.ToolCalls[0].FunctionCall
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{choice}}
}
