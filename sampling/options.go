package sampling

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"
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

	// Models is the catalogue to choose from by what a request contains and by
	// what its server prefers. Default: the one model of New, for everything.
	Models []Model

	// Policy is what servers may do, and Servers that of single ones instead, by
	// the host's own names for them: see [Sampler.For] and Source. With Servers,
	// those without a name are refused.
	Policy  Policy
	Servers map[string]Policy

	// Source tells the host's names for the server and the call of a request,
	// from the context of the handler. Default: no name, and the call that
	// [mcpclient.OriginFrom] tells. With package adapter:
	//
	//	func(ctx context.Context) sampling.Source {
	//		s, _ := adapter.SourceFrom(ctx)
	//		return sampling.Source{Server: s.Server, Call: s.Call.ID}
	//	}
	Source func(ctx context.Context) Source

	// Audit gets a record of every request when it is over, concurrently. The
	// contents of requests and replies are in it only with AuditContents.
	Audit         func(ctx context.Context, r *Record)
	AuditContents bool

	// Metadata lists the keys of a request's metadata that are passed on to the
	// host, as text of up to 512 bytes, 16 keys at most. New fails for hosts that
	// take no metadata. OpenAI and Azure take it only of completions that they
	// store, which the field "store": true of Extra asks for. Default: none.
	Metadata []string

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

func (o *Options) check(model string) error {
	if model == "" {
		return errors.New("no model named")
	}
	if err := o.Limits.check(); err != nil {
		return err
	}
	priced := o.Limits.Cost > 0 || o.Limits.Server.Cost > 0 || o.Limits.Call.Cost > 0 || budgetsCost(o.Policy)
	for _, p := range o.Servers {
		priced = priced || budgetsCost(p)
	}
	if err := checkModels(o.Models, model, priced); err != nil {
		return err
	}
	return checkPolicies(o)
}

func budgetsCost(p Policy) bool { return p.Budget != nil && p.Budget.Cost > 0 }
