// Package openaimodel asks models through the Responses and Chat Completions APIs, of OpenAI or of
// a compatible provider. Its [Model] works with agents and with langchaingo.
//
//	cfg := openai.DefaultConfig(os.Getenv("OPENAI_API_KEY")) // of github.com/sashabaranov/go-openai
//	cfg.BaseURL = "http://localhost:11434/v1"                // another provider than OpenAI
//	_, window := openaimodel.Probe(ctx, cfg, "qwen3")
//	model, err := openaimodel.New(cfg, "qwen3", &openaimodel.Options{Window: window})
//
// Unlike langchaingo's own OpenAI provider, it keeps parallel tool calls when streaming, passes
// only text to the streaming function, reports an interrupted stream as an error, sends a
// temperature only if it is set, keeps the provider's model name, token counts and failures, and
// retries after temporary failures.
//
// The guide is docs/agent.md of the repository.
package openaimodel

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"slices"
	"time"

	"github.com/sashabaranov/go-openai"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/internal/convert"
	"github.com/mcpchain/mcpchain/agent/internal/hostfail"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/sampling"
)

// Options configure a model. Nil and the zero value are valid.
type Options struct {
	// MaxTokens bounds a reply if the request sets no bound. Default 0: the provider's own limit.
	MaxTokens int

	// Effort is how hard a reasoning model thinks, such as "none", "minimal", "low", "medium" or
	// "high". Default: the model's own.
	Effort string

	// Host is the kind of provider behind the base URL: openai, azure, ollama,
	// vllm, llamacpp, lmstudio, openrouter, groq, together, gemini, mistral,
	// deepseek, moonshot, or compatible for any other. Default: by the base URL.
	Host string

	// Window is the context window in tokens, the reply included; agents keep their histories within it.
	// Default 0: unknown until the provider refuses a request that is too long. See [Probe].
	Window int64

	// API selects an API of the provider: "chat" for Chat Completions, or "responses". Default: by the
	// provider and the model; OpenAI's models since gpt-5.4, and those named codex or pro, use
	// Responses, where they reason with tools.
	API string

	// Format specifies when a structured answer is text for which the provider enforces a schema
	// (response_format): "auto", "always", or "never", for a model whose provider refuses that.
	// Otherwise the model answers by calling a tool. Default "auto": for gpt-4o and later models at
	// OpenAI and Azure, and for agents without tools at Ollama, vLLM, llama.cpp, LM Studio,
	// OpenRouter, Groq, Together, Gemini and Mistral.
	Format string

	// Extra are fields to add to every request, for features of a single provider. They replace
	// fields of this package. New refuses the fields of the conversation, its tools and the bound
	// of the reply. Default: none.
	Extra map[string]json.RawMessage

	// Retries bounds the retries after temporary failures: an unreachable provider and the statuses
	// 408, 429 and 5xx, without 501 and 505. A stream is never retried after it has begun. While a
	// provider says that it is loading the model, it is asked again for up to 2 minutes. Default 2;
	// negative: none.
	Retries int

	// Retrying is called before the wait for another attempt, with the failure as a [*model.Error]. It
	// may be called concurrently, and must return soon. Default nil.
	Retrying func(err error, wait time.Duration)

	// Timeout bounds one attempt, its whole answer included. Default, also if negative: 10 min.
	Timeout time.Duration

	// IdleTimeout bounds the silence within a stream. Default, also if negative: 2 min.
	IdleTimeout time.Duration
}

// Model is a [model.Model] for agents, and an [llms.Model] for langchaingo. It may be used
// concurrently, and serve many users.
//
// Some providers send data with a message and want it back: Gemini the thought signature of a call;
// DeepSeek, Mistral, OpenRouter and local servers the model's thoughts. Agents store it with the run.
// langchaingo has no field for it, so [Model.GenerateContent] remembers the data of the latest 512
// calls and texts, up to 64 KiB each and 4 MiB in all, by the conversation before them. If a caller
// cuts or rewrites earlier messages, the data is not found.
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

// New returns a model. It returns an error if the name is empty, or the base URL or an option is
// invalid. It does no I/O, so it does not ask for the window: set Options.Window for local servers,
// for example by [Probe], because some silently cut long histories.
func New(cfg openai.ClientConfig, name string, opts *Options) (*Model, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if name == "" {
		return nil, errors.New("new model: name of the model is empty")
	}
	if o.Window < 0 {
		return nil, fmt.Errorf("new model: Window is %d", o.Window)
	}
	if !slices.Contains([]string{"", "auto", "always", "never"}, o.Format) {
		return nil, fmt.Errorf("new model: Format is %q; use auto, always or never", o.Format)
	}
	client, err := chat.New(cfg, &chat.Options{
		Host:        o.Host,
		API:         o.API,
		Extra:       o.Extra,
		Retries:     o.Retries,
		Retrying:    hostfail.Retrying(o.Retrying, failure),
		Timeout:     o.Timeout,
		IdleTimeout: o.IdleTimeout,
	})
	if err != nil {
		return nil, fmt.Errorf("new model: %w", err)
	}
	return &Model{chat: client, host: cfg, model: name, options: o}, nil
}

// FromEnv returns the model OPENAI_MODEL with the key OPENAI_API_KEY, at OPENAI_BASE_URL if that is
// set, otherwise at OpenAI. It returns an error if OPENAI_MODEL is not set, or if neither
// OPENAI_API_KEY nor OPENAI_BASE_URL is. The window is unknown: use [New] for local servers.
func FromEnv() (*Model, error) {
	name, key, base := os.Getenv("OPENAI_MODEL"), os.Getenv("OPENAI_API_KEY"), os.Getenv("OPENAI_BASE_URL")
	switch {
	case name == "":
		return nil, errors.New("OPENAI_MODEL is not set: it names the model")
	case key == "" && base == "":
		return nil, errors.New("neither OPENAI_API_KEY nor OPENAI_BASE_URL is set: the model needs a key, or another provider")
	}
	config := openai.DefaultConfig(key)
	config.BaseURL = cmp.Or(base, config.BaseURL)
	return New(config, name, nil)
}

// Probe asks an endpoint for its kind of provider, for [Options.Host], and for the context window
// of a model in tokens, for [Options.Window]. It waits for at most 5 s. What it does not learn is
// "" or 0. For Ollama and LM Studio it returns the window with which the model is loaded, because
// they silently drop what exceeds it.
func Probe(ctx context.Context, cfg openai.ClientConfig, model string) (host string, window int64) {
	return chat.Discover(ctx, cfg, model)
}

// Sampler returns a sampler that answers the sampling requests of MCP servers with this model at
// the same provider. These options of the model apply where opts leave them zero: API, Host,
// Effort, Extra, Retries, Timeout and IdleTimeout. opts may be nil.
func (m *Model) Sampler(opts *sampling.Options) (*sampling.Sampler, error) {
	var o sampling.Options
	if opts != nil {
		o = *opts
	}
	own := &m.options
	o.API, o.Host = cmp.Or(o.API, own.API), cmp.Or(o.Host, own.Host)
	o.Effort = cmp.Or(o.Effort, own.Effort)
	o.Retries = cmp.Or(o.Retries, own.Retries)
	o.Timeout, o.IdleTimeout = cmp.Or(o.Timeout, own.Timeout), cmp.Or(o.IdleTimeout, own.IdleTimeout)
	if o.Extra == nil {
		o.Extra = own.Extra
	}
	return sampling.New(m.host, m.model, &o)
}

// GenerateContent asks the model. The response has one choice, with the text
// and all tool calls. Their ids are never empty.
//
// Options without a counterpart in the API are ignored: TopK, MinLength, MaxLength,
// RepetitionPenalty, and Metadata. More than one candidate is an error. A streaming function gets
// only the text, as it arrives; its error ends the call and is returned.
//
// A failure of the provider matches [*model.Error] and [*llms.Error] by errors.As, so
// functions such as [llms.IsRateLimitError] work. So does the error of a request that is not sent,
// because the provider is known to refuse its media.
func (m *Model) GenerateContent(
	ctx context.Context, messages []llms.MessageContent, options ...llms.CallOption,
) (*llms.ContentResponse, error) {
	response, err := convert.Generate(ctx, messages, options, func(r *model.Request, o *llms.CallOptions) iter.Seq2[model.Delta, error] {
		asked := *m
		asked.model = cmp.Or(o.Model, m.model)
		return asked.replies(ctx, r, o)
	})
	return response, hostfail.ForLangchaingo("openai", err)
}

// Call asks the model one question and returns the text of its answer.
//
// Deprecated: use [Model.GenerateContent].
func (m *Model) Call(ctx context.Context, prompt string, options ...llms.CallOption) (string, error) {
	return llms.GenerateFromSinglePrompt(ctx, m, prompt, options...)
}

// setOptions sets the options of a request for which [model.Request] has no fields. Messages of
// langchaingo have no field for what the provider wants back, so the client remembers it.
func setOptions(q *chat.Request, o *llms.CallOptions) {
	q.Recorded = false
	q.TopP = unlessZero(o.TopP)
	q.PresencePenalty = unlessZero(o.PresencePenalty)
	q.FrequencyPenalty = unlessZero(o.FrequencyPenalty)
	q.Seed = unlessZero(o.Seed)
	q.JSON = o.JSONMode || o.ResponseMIMEType == "application/json"
}

// unlessZero returns a pointer to v, nil for zero, which langchaingo uses for an option that is not set.
func unlessZero[T comparable](v T) *T {
	if v == *new(T) {
		return nil
	}
	return &v
}

// failure converts a failure of the provider, by the codes of OpenAI and of package chat.
var failure = hostfail.Failure(map[string]model.ErrorKind{
	chat.CodeContentFilter: model.ErrorRefused, chat.CodeRequest: model.ErrorInvalid,
	"server_error": model.ErrorUnavailable, "rate_limit_exceeded": model.ErrorRateLimit,
	chat.CodeToolUse: model.ErrorUnavailable, // the model may write another call
})
