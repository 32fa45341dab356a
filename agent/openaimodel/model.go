// Package openaimodel asks models by the Responses and Chat Completions APIs of OpenAI, or of a host that imitates
// them. Its [Model] works with agents and with langchaingo.
//
//	host := openai.DefaultConfig(os.Getenv("OPENAI_API_KEY")) // of github.com/sashabaranov/go-openai
//	host.BaseURL = "http://localhost:11434/v1"                // another host than OpenAI
//	model, err := openaimodel.New(host, "qwen3", nil)
//
// Unlike langchaingo's own OpenAI provider, it keeps parallel tool calls when streaming, passes only text to the streaming
// function, reports an interrupted stream as an error, sends a temperature only if it is set, keeps the host's model name,
// token counts and failures, and retries after temporary failures.
//
// The guide is docs/agent.md of the repository.
package openaimodel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sashabaranov/go-openai"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/internal/chat"
)

// Options configure a model. Nil and the zero value are valid.
type Options struct {
	// Temperature is used for requests that set none. langchaingo cannot tell a
	// temperature of 0 from an unset one, so it is used there, too. Default nil: the
	// host's own.
	Temperature *float64

	// MaxTokens bounds a reply if the request sets no bound. Default 0:
	// the host's own limit.
	MaxTokens int

	// ReasoningEffort for reasoning models: "none", "minimal", "low", ….
	// Default: the model's.
	ReasoningEffort string

	// Host names the kind of API behind the base URL: openai, azure, ollama,
	// vllm, llamacpp, lmstudio, openrouter, groq, together, gemini, mistral,
	// deepseek, moonshot, or compatible for any other. Default: by the base URL.
	Host string

	// Window is the context window in tokens, the reply included; agents keep their histories within it. Default 0:
	// unknown until the host refuses a request that is too long. See [Discover].
	Window int64

	// API selects an API of the host: "chat" for Chat Completions, or "responses". Default: by the host and
	// the model; OpenAI's models since gpt-5.4 use Responses, where they reason with tools.
	API string

	// Format says when a structured answer is text for which the host enforces a schema (response_format):
	// "auto", "always" or "never". Otherwise the model answers by calling a tool. Default "auto": for gpt-4o
	// and later models at OpenAI and Azure, and for agents without tools at Ollama, vLLM, llama.cpp,
	// LM Studio, OpenRouter, Groq, Together, Gemini and Mistral.
	Format string

	// Extra are fields to add to every request, for features of a single host. They replace fields of this package.
	// New refuses the fields of the conversation, its tools and the bound of the reply. Default: none.
	Extra map[string]json.RawMessage

	// Retries bounds the retries after temporary failures: an unreachable host and
	// the statuses 408, 429 and 5xx. A stream is never retried after it has begun.
	// While a host says that it is loading the model, it is asked again for up to 2 minutes.
	// Default 2; negative: none.
	Retries int

	// Retrying is called before the wait for another attempt, with the failure as an [*Error]. It may be
	// called concurrently, and must return soon. Default nil.
	Retrying func(err error, wait time.Duration)

	// Timeout bounds one attempt, its whole answer included. Default 10 min.
	Timeout time.Duration

	// IdleTimeout bounds the silence within a stream. Default 2 min.
	IdleTimeout time.Duration
}

// Model is a [model.Model] for agents, and an [llms.Model] for langchaingo. It may be used concurrently, and serve
// many users.
//
// Some hosts send data with a message and want it back: Gemini the thought signature of a call; DeepSeek, OpenRouter and
// local servers the model's thoughts. Agents store it with the run. langchaingo has no field for it, so
// [Model.GenerateContent] remembers the data of the latest 512 calls and texts, up to 4 MiB, by the conversation before
// them. If a caller cuts or rewrites earlier messages, the data is not found.
type Model struct {
	chat    *chat.Client
	host    openai.ClientConfig
	model   string
	options Options
}

var (
	_ model.Model = (*Model)(nil)
	_ llms.Model  = (*Model)(nil)
)

// New returns a model. It does no I/O. It returns an error if the name is empty, or the base URL or an option is invalid.
func New(cfg openai.ClientConfig, name string, opts *Options) (*Model, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if name == "" {
		return nil, errors.New("new model: the name of the model is empty")
	}
	if o.Window < 0 {
		return nil, fmt.Errorf("new model: Window is %d", o.Window)
	}
	switch o.Format {
	case "", "auto", "always", "never":
	default:
		return nil, fmt.Errorf("new model: Format is %q; use auto, always or never", o.Format)
	}
	client, err := chat.New(cfg, &chat.Options{
		Host: o.Host, API: o.API, Extra: o.Extra, Retries: o.Retries, Retrying: convertingErrors(o.Retrying),
		Timeout: o.Timeout, IdleTimeout: o.IdleTimeout,
	})
	if err != nil {
		return nil, fmt.Errorf("new model: %w", err)
	}
	return &Model{chat: client, host: cfg, model: name, options: o}, nil
}

// convertingErrors returns retrying with failures converted to [*Error].
func convertingErrors(retrying func(error, time.Duration)) func(error, time.Duration) {
	if retrying == nil {
		return nil
	}
	return func(err error, wait time.Duration) { retrying(failure(err), wait) }
}

// GenerateContent asks the model. The response has one choice, with the text
// and all tool calls. Their ids are never empty.
//
// Options without a counterpart in the API are ignored: TopK, MinLength,
// MaxLength, RepetitionPenalty, and Metadata. More than one candidate is an
// error. A streaming function gets only the text, as it arrives; its error ends
// the call and is returned.
//
// A failure of the host is an [*Error]. It wraps an [*llms.Error], so that
// functions like [llms.IsRateLimitError] work. If the host is known to refuse
// media of the request, the request is not sent, and the error is an [*Error], too.
func (m *Model) GenerateContent(ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption) (*llms.ContentResponse, error) {
	var o llms.CallOptions
	for _, option := range options {
		option(&o)
	}
	r, err := m.request(messages, &o)
	if err != nil {
		return nil, fmt.Errorf("generate content: %w", err)
	}
	reply, err := m.ask(ctx, r, &o)
	if err != nil {
		return nil, failure(err)
	}
	return m.response(reply), nil
}

// Call asks the model one question and returns the text of its answer.
//
// Deprecated: use [Model.GenerateContent].
func (m *Model) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, m, prompt, options...)
}

func (m *Model) ask(ctx context.Context, r *chat.Request, o *llms.CallOptions) (*chat.Reply, error) {
	if o.StreamingFunc == nil && o.StreamingReasoningFunc == nil {
		return m.chat.Complete(ctx, r)
	}
	return m.chat.Stream(ctx, r, chat.Deltas{
		Text: func(piece string) error {
			var err error
			if o.StreamingReasoningFunc != nil {
				err = o.StreamingReasoningFunc(ctx, nil, []byte(piece))
			}
			if err == nil && o.StreamingFunc != nil {
				err = o.StreamingFunc(ctx, []byte(piece))
			}
			return err
		},
		Reasoning: func(piece string) error {
			if o.StreamingReasoningFunc == nil {
				return nil
			}
			return o.StreamingReasoningFunc(ctx, []byte(piece), nil)
		},
	})
}

// response translates the reply to langchaingo's types.
func (m *Model) response(r *chat.Reply) *llms.ContentResponse {
	choice := &llms.ContentChoice{
		Content: r.Text, StopReason: r.Finish, ReasoningContent: r.Reasoning,
		GenerationInfo: map[string]any{"Model": r.Model},
	}
	if r.Note != "" {
		choice.GenerationInfo["Warning"] = r.Note
	}
	if r.ID != "" {
		choice.GenerationInfo["ID"] = r.ID
	}
	if r.Refusal != "" {
		choice.GenerationInfo["Refusal"] = r.Refusal
		if choice.Content == "" {
			choice.Content = r.Refusal
		}
	}
	if u := r.Usage; u != nil {
		choice.GenerationInfo["PromptTokens"] = u.Prompt
		choice.GenerationInfo["CompletionTokens"] = u.Completion
		choice.GenerationInfo["TotalTokens"] = u.Total
		choice.GenerationInfo["ReasoningTokens"] = u.Reasoning
		choice.GenerationInfo["PromptCachedTokens"] = u.Cached
		choice.GenerationInfo["CacheCreationInputTokens"] = u.CacheWrite
	}
	for _, call := range r.ToolCalls {
		choice.ToolCalls = append(choice.ToolCalls, llms.ToolCall{
			ID: call.ID, Type: "function",
			FunctionCall: &llms.FunctionCall{Name: call.Name, Arguments: call.Arguments},
		})
	}
	if len(choice.ToolCalls) > 0 {
		choice.FuncCall = choice.ToolCalls[0].FunctionCall
	}
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{choice}}
}
