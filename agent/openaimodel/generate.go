package openaimodel

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/internal/hostfail"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/chat"
)

// Info implements [model.Model].
func (m *Model) Info() model.Info {
	return model.Info{
		Provider: m.chat.Provider(), Name: m.model, Endpoint: m.chat.Endpoint(m.model), Profile: m.chat.Schemas(m.model),
		Window: m.options.Window, MaxTokens: m.options.MaxTokens, Media: m.isAccepted,
		Formats: func(tools bool) bool {
			return m.options.Format == "always" || m.options.Format != "never" && m.chat.TakesFormats(m.model, tools)
		},
	}
}

// isAccepted reports whether the provider accepts media of a MIME type in a message of the user.
func (m *Model) isAccepted(mimeType string) bool {
	_, isImage := chat.ImageType(mimeType)
	_, isAudio := chat.AudioFormat(mimeType)
	return isImage && m.chat.TakesImages() || isAudio && m.chat.TakesAudio()
}

// Generate implements [model.Model]. Data that a provider wants back with a message is in the parts
// of the response, under the key "host" of [run.Part.Provider]. It is sent only to the same
// kind of provider ([Options.Host]), at any URL: the endpoint may move, or be behind a proxy.
func (m *Model) Generate(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return m.replies(ctx, r, nil)
}

// replies is Generate for an agent, or, with options, for langchaingo.
func (m *Model) replies(ctx context.Context, r *model.Request, o *llms.CallOptions) iter.Seq2[model.Delta, error] {
	generate := func(show func(model.Delta) error) (*model.Response, error) { return m.generate(ctx, r, o, show) }
	return hostfail.Replies(generate, failure)
}

// generate asks for a reply, again without thoughts that the provider refuses.
func (m *Model) generate(
	ctx context.Context, r *model.Request, o *llms.CallOptions, show func(model.Delta) error,
) (*model.Response, error) {
	thoughts := hostfail.Thoughts{
		ID: func(p *run.Part) string {
			data, _ := m.hostDataOf(p)
			return string(data.Item)
		},
		Refuses: func(e *chat.Error) bool {
			return e.Code == "invalid_encrypted_content" || strings.Contains(strings.ToLower(e.Message), "encrypted content")
		},
	}
	return thoughts.Ask(r, func(r *model.Request) (*model.Response, error) {
		q, err := m.chatRequest(r, o)
		if err != nil {
			return nil, &model.Error{Kind: model.ErrorInvalid, Err: err}
		}
		var reply *chat.Reply
		if r.Stream {
			reply, err = m.chat.Stream(ctx, q, chat.Deltas{
				Text:      func(piece string) error { return show(model.Delta{Text: piece}) },
				Reasoning: func(piece string) error { return show(model.Delta{Reasoning: piece}) },
			})
		} else {
			reply, err = m.chat.Complete(ctx, q)
		}
		if e, ok := errors.AsType[*chat.Error](err); ok && e.Code == chat.CodeContentFilter && e.Status == 0 { // it has to be paid for
			reply = &chat.Reply{Endpoint: m.chat.EndpointOf(q), Finish: chat.FinishContentFilter, Usage: e.Usage, Warning: e.Error()}
		} else if err != nil {
			return nil, err
		}
		return m.modelResponse(reply), nil
	})
}

// formatName is the name of the response format, which the API requires.
const formatName = "final_answer"

// chatRequest translates a request for the provider.
func (m *Model) chatRequest(r *model.Request, o *llms.CallOptions) (*chat.Request, error) {
	q := &chat.Request{
		Model: m.model, MaxTokens: cmp.Or(r.MaxTokens, m.options.MaxTokens), Temperature: r.Temperature,
		ReasoningEffort: cmp.Or(r.Effort, m.options.Effort), Stop: r.Stop, Recorded: true,
		Endpoint: r.Endpoint, CacheKey: r.CacheKey,
	}
	if r.Format != nil {
		q.Format = &chat.Format{Name: formatName, Schema: r.Format}
	}
	if len(r.Tools) > 0 || r.ToolChoice == model.ChoiceRequired || r.ToolChoice == model.ChoiceTool {
		q.ToolChoice = chat.ToolChoice{Choice: choices[r.ToolChoice], Name: r.ToolName}
	}
	q.Tools = make([]chat.Tool, len(r.Tools))
	for i, t := range r.Tools {
		q.Tools[i] = chat.Tool{Name: t.Name, Description: t.Description, Parameters: t.Schema, Strict: t.Strict}
	}
	if o != nil {
		setOptions(q, o)
	}
	c := &conversation{
		model: m, responses: q.Recorded && m.chat.EndpointOf(q) == chat.Responses,
		messages: make([]chat.Message, 0, len(r.Messages)+8),
	}
	if r.System != "" {
		c.messages = append(c.messages, chat.Text(chat.System, r.System))
	}
	err := c.add(r.Messages)
	q.Messages = c.messages
	return q, err
}

// choices translates which tools the model may or must call.
var choices = map[model.Choice]chat.Choice{
	model.ChoiceAuto: chat.Auto, model.ChoiceNone: chat.None, model.ChoiceRequired: chat.Required, model.ChoiceTool: chat.Named,
}
