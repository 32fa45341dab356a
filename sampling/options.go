package sampling

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/internal/cost"
	"github.com/mcpchain/mcpchain/price"
)

// Options configure a sampler. Nil and the zero value are valid: without a
// reviewer, only the limits protect the model from servers.
type Options struct {
	// Review sees every request before the model does, and every reply before the
	// server does. Default: no review.
	Review *Review

	// Limits bound the spending of servers. Zero values mean defaults.
	Limits Limits

	// System stands before the server's system prompt in every request. Default: none.
	System string

	// Prices are what the models cost, by their ids, for the limits of cost, the audit
	// and servers that want a cheap model. Share the table with package agent. Default:
	// unknown.
	Prices *price.Table

	// Models is the catalogue. The contents of a request and the server's
	// preferences choose from it. Default: the model of New, for everything.
	Models []Model

	// Policy holds for all servers. Servers has policies for single servers
	// instead, by the host's own names for them: see [Sampler.For] and Source. If
	// Servers is set, a server without a name is refused.
	Policy  Policy
	Servers map[string]Policy

	// Source returns the host's names for the server and the tool call of a request,
	// from the handler's context, "" for what it does not know. The call goes into the record, and identifies the call if the
	// connection does not: that is preferred, because models repeat the ids of calls in other conversations.
	// Default: no server, and the call of [mcp.OriginFrom]. With package adapter:
	//
	//	func(ctx context.Context) (server, call string) {
	//		s, _ := adapter.SourceFrom(ctx)
	//		return s.Server, s.Call.ID
	//	}
	Source func(ctx context.Context) (server, call string)

	// Audit gets a record of every finished request. It is called concurrently. Records have hashes of requests and replies;
	// Review sees the contents.
	Audit func(ctx context.Context, r *Record)

	// Metadata lists the keys of a request's metadata to pass on to the host, as
	// text of up to 512 bytes, 16 keys at most. New fails for hosts that refuse
	// metadata. OpenAI and Azure accept it only for stored completions: set
	// "store": true in Extra. Default: none.
	Metadata []string

	// ReasoningEffort for reasoning models: "none", "minimal", "low", …. Their
	// reasoning counts as output, so a server's small maxTokens may leave nothing
	// for the answer. Default: the model's.
	ReasoningEffort string

	// OnText gets the pieces of a completion's text as they arrive, to show
	// progress; the server gets only the whole. The pieces of one completion come
	// one at a time, the pieces of different completions concurrently. If set,
	// completions are streamed, and IdleTimeout bounds them, too. Default: no
	// streaming.
	OnText func(ctx context.Context, r *Request, piece string)

	// Host names the kind of API behind the base URL: openai, azure, ollama,
	// vllm, llamacpp, lmstudio, openrouter, groq, together, gemini, mistral,
	// deepseek, moonshot, or compatible for any other. Default: by the base URL.
	Host string

	// API forces an endpoint of the host: "chat", Chat Completions, or "responses". Default: by the host and
	// the model; OpenAI's models since gpt-5.4 are asked at Responses, where they reason with tools.
	API string

	// Extra are fields to add to every request to the host. New refuses one that the request sets itself.
	// Default: none.
	Extra map[string]json.RawMessage

	// Retries bounds the retries after temporary failures of the host. Default 2,
	// negative for none.
	Retries int

	// Timeout bounds one attempt. Default 10 min.
	Timeout time.Duration

	// IdleTimeout bounds the silence within a stream. Default 2 min.
	IdleTimeout time.Duration

	// Logger gets failures of the host at Warn; servers do not see them. Default:
	// discarded.
	Logger *slog.Logger

	maxReply int64 // bounds an answer of the host in bytes; default 32 MiB
}

func (o *Options) check(model string) error {
	if model == "" {
		return errors.New("the name of the model is empty")
	}
	if err := o.Limits.check(); err != nil {
		return err
	}
	if err := checkModels(o.Models, model); err != nil {
		return err
	}
	if err := o.checkPrices(model); err != nil {
		return err
	}
	return checkPolicies(o)
}

// checkPrices returns an error if a limit of cost would not hold for a model.
func (o *Options) checkPrices(model string) error {
	if o.Prices != nil {
		if err := cost.Check(o.Prices); err != nil {
			return fmt.Errorf("Options.Prices: %w", err)
		}
	}
	limits := []map[string]int64{o.Limits.All.Cost, o.Limits.Server.Cost, o.Limits.Call.Cost}
	for _, p := range append(slices.Collect(maps.Values(o.Servers)), o.Policy) {
		if p.Budget != nil {
			limits = append(limits, p.Budget.Cost)
		}
	}
	ids := []string{model}
	for _, m := range o.Models {
		ids = append(ids, m.ID)
	}
	for _, limit := range limits {
		for _, id := range ids {
			if err := cost.Limited(o.Prices, id, limit); err != nil {
				if o.Prices == nil {
					err = fmt.Errorf("%w: Options.Prices is nil", err)
				}
				return err
			}
		}
	}
	return nil
}
