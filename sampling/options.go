package sampling

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mcpchain/mcpchain/internal/cost"
	"github.com/mcpchain/mcpchain/price"
)

// Options configure a sampler. Nil and the zero value are valid: then there is no
// reviewer, and only the limits restrict servers.
type Options struct {
	// Review sees every request before the model does, and every reply before the server does. Default: no review.
	Review *Review

	// Limits bound the requests and the cost of servers. Zero fields have defaults.
	Limits Limits

	// Prices has the prices of the models, by their ids. They are used for limits of cost, the audit, and servers that
	// prefer a cheap model. An agent may share the table. Default nil: unknown.
	Prices *price.Table

	// Models are the models from which one is chosen by the contents of a request and
	// the server's preferences. Default: the model of New, for all contents.
	Models []Model

	// Policy applies to servers that Servers does not name. Servers has policies by the program's names for servers:
	// see [Sampler.ForServer] and Origin. If Servers is set, a server without a name is refused.
	Policy  Policy
	Servers map[string]Policy

	// Origin returns the program's names for the server and the tool call of a request, from the handler's context; ""
	// if it does not know one. It may be called concurrently. The audit has the name of the call. It also identifies
	// the call for Limits.PerCall if the connection does not; the connection is preferred, because models repeat the
	// ids of calls in other conversations. Default: no server, and the call of [mcp.OriginFrom]. With package adapter
	// set adapter.OriginFrom.
	Origin func(ctx context.Context) (server, call string)

	// Audit gets a record of every request that has ended or waits for a person. It may be called
	// concurrently. A record has no contents of messages; Review sees them.
	Audit func(ctx context.Context, r *Record)

	// Metadata lists the keys of a request's metadata that are sent to the provider: at most 16
	// keys, with text of up to 512 bytes each. New fails for providers that refuse metadata. OpenAI
	// and Azure accept it only for stored completions: set "store": true in Extra. Default: none.
	Metadata []string

	// Effort is how hard a reasoning model thinks, such as "none", "minimal", "low", "medium" or
	// "high". Reasoning counts as output, so a server's small maxTokens may leave nothing for the
	// text of the reply. Default: the model's own.
	Effort string

	// OnText gets the pieces of a completion's text as they arrive, to show progress; the server gets only the whole
	// text. It is called for the pieces of one completion in order, and for different completions concurrently. If it
	// is set, completions are streamed, and IdleTimeout applies. Default nil: no streaming.
	OnText func(ctx context.Context, r *Request, piece string)

	// Host is the kind of provider behind the base URL: openai, azure, ollama, vllm, llamacpp, lmstudio, openrouter,
	// groq, together, gemini, mistral, deepseek, moonshot, or compatible for any other. Default: by the base URL.
	Host string

	// API selects an API of the provider: "chat" for Chat Completions, or "responses". Default: by the provider and the
	// model; OpenAI's models since gpt-5.4 use Responses, where they reason with tools.
	API string

	// Extra are fields to add to every request to the provider. They replace fields of this package. New refuses the
	// fields of the conversation, its tools and the bound of the reply. Default: none.
	Extra map[string]json.RawMessage

	// Retries bounds the retries after temporary failures of the provider. Default 2; negative: none.
	Retries int

	// Timeout bounds one attempt. Default, also if negative: 10 min.
	Timeout time.Duration

	// IdleTimeout bounds the silence within a stream. Default, also if negative: 2 min.
	IdleTimeout time.Duration

	// Logger logs failures of the provider at Warn; servers do not see them. Default: discarded.
	Logger *slog.Logger
}

func (o *Options) check(model string) error {
	if model == "" {
		return errors.New("name of the model is empty")
	}
	return cmp.Or(o.Limits.check(), checkModels(o.Models, model), o.checkPrices(model), checkPolicies(o))
}

// checkPrices returns an error if a limit of cost cannot be enforced for a model.
func (o *Options) checkPrices(model string) error {
	if o.Prices != nil {
		if err := cost.Check(o.Prices); err != nil {
			return fmt.Errorf("Options.Prices: %w", err)
		}
	}
	limits := []map[string]int64{o.Limits.Total.Cost, o.Limits.PerServer.Cost, o.Limits.PerCall.Cost}
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

// price returns the price of a model, nil if it has none.
func (o *Options) price(model string) *price.Price {
	p, ok := cost.PriceOf(o.Prices, model)
	if !ok {
		return nil
	}
	return &p
}
