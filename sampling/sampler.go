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

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/mcpclient"
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
	// from the context of the handler. With package adapter:
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
	// host, as text of up to 512 bytes, 16 keys at most. Default: none.
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

// Sampler answers sampling requests. It implements
// [mcpclient.SamplingHandler] and may serve several clients at once, which then
// share its limits.
type Sampler struct {
	chat     *chat.Client
	model    string
	models   []Model
	options  Options
	governor *governor
	memory   memory
	log      *slog.Logger
}

// New makes a sampler that uses a model. It does not reach for the host.
func New(cfg openai.ClientConfig, model string, opts *Options) (*Sampler, error) {
	var o Options
	if opts != nil {
		o = *opts
	}
	if err := o.check(model); err != nil {
		return nil, fmt.Errorf("new sampler: %w", err)
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
	o.Models, o.Servers, o.Metadata = slices.Clone(o.Models), maps.Clone(o.Servers), slices.Clone(o.Metadata)
	s := &Sampler{chat: client, model: model, models: o.Models, options: o, governor: newGovernor(o.Limits), log: o.Logger}
	if len(s.models) == 0 {
		s.models = []Model{{ID: model, Tools: true, Images: true, Audio: true}}
	}
	return s, nil
}

func (o *Options) check(model string) error {
	if model == "" {
		return errors.New("no model named")
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

// SamplingCapability declares that requests may have tools.
func (s *Sampler) SamplingCapability() mcpclient.SamplingCapability {
	return mcpclient.SamplingCapability{Tools: true}
}

// CreateMessage implements [mcpclient.SamplingHandler]. It returns a
// [*RefusedError] when a limit, the policy or the reviewer objects, and else an
// [*mcpclient.RPCError]: code -32602 for a request that breaks the rules, -32603
// when the model failed.
func (s *Sampler) CreateMessage(ctx context.Context, params *mcpclient.CreateMessageParams) (*mcpclient.CreateMessageResult, error) {
	return s.handle(ctx, params, "")
}

func (s *Sampler) handle(ctx context.Context, params *mcpclient.CreateMessageParams, server string) (result *mcpclient.CreateMessageResult, err error) {
	w, unknown := s.identify(ctx, server)
	r := newRun(w, params)
	defer func() { s.audit(ctx, r, params, result, err) }()
	if err := s.check(params); err != nil {
		return nil, err
	}
	if unknown != nil {
		return nil, unknown
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.request = &Request{Server: w.label, Origin: w.origin, Params: copyParams(params), who: w}
	if err := s.admit(r); err != nil {
		return nil, err
	}
	defer r.ticket.close()
	start := time.Now()
	err = r.ticket.wait(ctx)
	r.record.Waiting = time.Since(start)
	if err != nil {
		return nil, err
	}
	return s.answer(context.WithValue(ctx, parentKey{}, w), r)
}

// answer has a request that was admitted reviewed and answered.
func (s *Sampler) answer(ctx context.Context, r *run) (*mcpclient.CreateMessageResult, error) {
	if err := s.reviewRequest(ctx, r); err != nil {
		return nil, err
	}
	start := time.Now()
	result, err := s.complete(ctx, r)
	r.record.Asking = time.Since(start)
	if err != nil {
		return nil, err
	}
	if err := s.reviewReply(ctx, r, result); err != nil {
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
		return refused(KindSize, fmt.Sprintf("the request has %d bytes, the limit is %d", size, s.options.Limits.InputBytes))
	}
	return nil
}

// admit chooses a model and has the governor admit the request. When the model
// costs more than is left, it tries others.
func (s *Sampler) admit(r *run) error {
	if err := s.denied(r.who); err != nil {
		return err
	}
	models := r.who.models(s.models)
	var tooDear error
	for {
		wanted := *r.request.Params
		wanted.MaxTokens = min(wanted.MaxTokens, int64(s.options.Limits.MaxTokens))
		c, err := choose(models, s.model, &wanted)
		if err != nil && tooDear != nil {
			return tooDear
		}
		if err != nil {
			return s.noModel(err)
		}
		r.model, r.request.Model, r.request.Reason = c.model, c.model.ID, c.reason
		trial := *r.request
		trial.Params = &wanted
		s.clamp(&trial, &r.model)
		r.ticket, err = s.governor.admit(r.who, reservation(&r.model, &trial, s.options.System))
		if refusal, ok := errors.AsType[*RefusedError](err); ok && refusal.Kind == KindCost {
			tooDear = err
			models = slices.DeleteFunc(slices.Clone(models), func(m Model) bool { return m.ID == c.model.ID })
			continue
		}
		if err == nil {
			r.request.Params.MaxTokens = wanted.MaxTokens
		}
		return err
	}
}

// clamp holds a request to the limits of its reply.
func (s *Sampler) clamp(req *Request, m *Model) {
	req.Params.MaxTokens = min(req.Params.MaxTokens, int64(s.options.Limits.MaxTokens))
	if m.MaxTokens > 0 {
		req.Params.MaxTokens = min(req.Params.MaxTokens, int64(m.MaxTokens))
	}
}

// settle takes over what the reviewer has made of a request.
func (s *Sampler) settle(r *run) error {
	if id := r.request.Model; id != r.model.ID {
		i := slices.IndexFunc(s.models, func(m Model) bool { return m.ID == id })
		switch {
		case i >= 0:
			r.model = s.models[i]
		case len(s.options.Models) > 0:
			return s.noModel(fmt.Errorf("the reviewer chose %q, which is not in the catalogue", id))
		default:
			r.model = Model{ID: id}
		}
		r.request.Reason = "the reviewer"
	}
	s.clamp(r.request, &r.model)
	return r.ticket.reserve(reservation(&r.model, r.request, s.options.System))
}

// complete asks the model. A required call that it does not make, and one that
// cannot be put into the protocol, get a second chance, as models err at random
// and if the limits allow.
func (s *Sampler) complete(ctx context.Context, r *run) (*mcpclient.CreateMessageResult, error) {
	question := chatRequest(r.request, &s.options)
	for again := true; ; again = false {
		r.record.Completions++
		reply, err := s.ask(ctx, r.request, question)
		s.charge(r, reply, err)
		var result *mcpclient.CreateMessageResult
		if err == nil {
			if result, err = samplingResult(reply, r.request.Params); err == nil {
				r.record.AnsweredBy = cut(reply.Model)
				if s.options.ModelName != "" {
					result.Model = s.options.ModelName
				}
				return result, nil
			}
		} else if failure, ok := errors.AsType[*chat.Error](err); !ok || failure.Code != chat.CodeNoToolCall {
			return nil, s.modelFailed(ctx, r, err)
		}
		if !again || r.ticket.reserve(reservation(&r.model, r.request, s.options.System)) != nil {
			return nil, s.modelFailed(ctx, r, err)
		}
	}
}

// charge puts what a completion came to into the accounts.
func (s *Sampler) charge(r *run, reply *chat.Reply, err error) {
	if err == nil {
		r.ticket.spend(spent(&r.model, r.request, s.options.System, reply))
		return
	}
	switch failure, ok := errors.AsType[*chat.Error](err); {
	case ok && failure.Usage != nil:
		r.ticket.spend(r.model.counted(failure.Usage))
	case ok && (failure.Status >= 400 || failure.Code == chat.CodeRequest):
		r.ticket.spend(Usage{}) // the host did not accept it
	default:
		r.ticket.lose()
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
