package sampling

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/sashabaranov/go-openai"
)

// Options configure a sampler. Nil and the zero value are valid: without a
// reviewer, the limits alone stand between a server and the model.
type Options struct {
	// Review sees every request before the model does, and every reply before
	// the server does. Default: nobody does.
	Review Reviewer

	// Limits bound what servers can spend. Their zero values are limits too.
	Limits Limits

	// System comes before a server's system prompt in every request.
	System string

	// ModelName is told to servers as the model that answered. Default: the
	// host's own name for it, which may be a deployment or a file.
	ModelName string

	// ReasoningEffort for reasoning models: "none", "minimal", "low", …. Their
	// reasoning counts as output, so a server's small maxTokens may leave nothing
	// for the answer. Default: the model's.
	ReasoningEffort string

	// OnText, when set, gets the pieces of a completion's text as they come, to
	// show a person that something happens; the server gets the whole only. Pieces
	// of one completion come one at a time, those of several at once. The
	// completion is then streamed, and bounded by IdleTimeout too.
	OnText func(ctx context.Context, r *Request, piece string)

	// Host names the kind of API behind the base URL: openai, azure, ollama,
	// vllm, llamacpp, lmstudio, openrouter, groq, together, gemini, mistral,
	// deepseek, moonshot, or compatible for any other. Default: by the base URL.
	Host string

	// Extra are fields to add to every request to the host.
	Extra map[string]json.RawMessage

	// Retries bounds the repetitions after failures of the host that may pass.
	// Default 2, negative for none.
	Retries int

	// Timeout bounds one attempt at an answer. Default 10 min.
	Timeout time.Duration

	// IdleTimeout bounds the silence within a stream. Default 2 min.
	IdleTimeout time.Duration

	// MaxReply bounds an answer of the host, in bytes. Default 32 MiB, at most
	// 1 GiB.
	MaxReply int64

	// Logger gets at Warn what servers are not told: how the host failed.
	// Default: discarded.
	Logger *slog.Logger
}

// Sampler answers sampling requests. It implements
// [mcpclient.SamplingHandler] and may serve several clients at once, which then
// share its limits.
type Sampler struct {
	chat     *chat.Client
	model    string
	options  Options
	governor *governor
	log      *slog.Logger
}

// New makes a sampler that uses a model. It does not reach for the host.
func New(cfg openai.ClientConfig, model string, opts *Options) (*Sampler, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if model == "" {
		return nil, errors.New("new sampler: no model named")
	}
	client, err := chat.New(cfg, &chat.Options{
		Host: o.Host, Extra: o.Extra, Retries: o.Retries,
		Timeout: o.Timeout, IdleTimeout: o.IdleTimeout, MaxReply: o.MaxReply,
	})
	if err != nil {
		return nil, fmt.Errorf("new sampler: %w", err)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Limits = o.Limits.withDefaults()
	return &Sampler{chat: client, model: model, options: o, governor: newGovernor(o.Limits), log: o.Logger}, nil
}

// SamplingCapability declares that requests may have tools.
func (s *Sampler) SamplingCapability() mcpclient.SamplingCapability {
	return mcpclient.SamplingCapability{Tools: true}
}

// CreateMessage implements [mcpclient.SamplingHandler]. It returns a
// [*RefusedError] when a limit or the reviewer objects, and else an
// [*mcpclient.RPCError]: code -32602 for a request that breaks the rules, -32603
// when the model failed.
func (s *Sampler) CreateMessage(ctx context.Context, params *mcpclient.CreateMessageParams) (*mcpclient.CreateMessageResult, error) {
	if err := s.check(params); err != nil {
		return nil, err
	}
	done, err := s.governor.admit(ctx)
	if err != nil {
		return nil, err
	}
	defer done()

	req := &Request{Model: s.model, Params: copyParams(params)}
	req.Origin, _ = mcpclient.OriginFrom(ctx)
	s.clamp(req)
	if err := s.reviewRequest(ctx, req); err != nil {
		return nil, err
	}
	result, err := s.complete(ctx, req)
	if err != nil {
		return nil, err
	}
	if err := s.reviewReply(ctx, req, result); err != nil {
		return nil, err
	}
	return result, nil
}

// check says whether the request may be put to the governor and the reviewer.
func (s *Sampler) check(params *mcpclient.CreateMessageParams) error {
	if err := checkParams(params); err != nil {
		return invalid(err)
	}
	if size := inputSize(params); size > s.options.Limits.InputBytes {
		return refused(fmt.Sprintf("the request has %d bytes, the limit is %d", size, s.options.Limits.InputBytes))
	}
	return nil
}

// clamp holds a request to the limit of its reply.
func (s *Sampler) clamp(req *Request) {
	req.Params.MaxTokens = min(req.Params.MaxTokens, int64(s.options.Limits.MaxTokens))
}

// complete asks the model. A call that cannot be put into the protocol gets a
// second chance, as models err at random.
func (s *Sampler) complete(ctx context.Context, req *Request) (*mcpclient.CreateMessageResult, error) {
	question := chatRequest(req, &s.options)
	for again := true; ; again = false {
		reply, err := s.ask(ctx, req, question)
		if err != nil {
			return nil, s.modelFailed(ctx, err)
		}
		result, err := samplingResult(reply, req.Params)
		if err == nil {
			if s.options.ModelName != "" {
				result.Model = s.options.ModelName
			}
			return result, nil
		}
		if !again {
			return nil, s.modelFailed(ctx, err)
		}
	}
}

func (s *Sampler) ask(ctx context.Context, req *Request, question *chat.Request) (*chat.Reply, error) {
	if s.options.OnText == nil {
		return s.chat.Complete(ctx, question)
	}
	return s.chat.Stream(ctx, question, chat.Deltas{Text: func(piece string) error {
		s.options.OnText(ctx, req, piece)
		return nil
	}})
}
