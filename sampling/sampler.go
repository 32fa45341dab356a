package sampling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/cost"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Sampler answers sampling requests. It implements [mcp.SamplingHandler].
// Several clients may use one Sampler at the same time; they share its limits.
type Sampler struct {
	chat     *chat.Client
	model    string
	models   []Model
	options  Options
	governor *governor
	schemas  schema.Cache
	memories hostMemories
}

// New returns a sampler for a model, which must be in Options.Models if that is set. It does no
// I/O. It returns an error for a model without a name or an invalid option.
func New(cfg openai.ClientConfig, model string, opts *Options) (*Sampler, error) {
	o := *cmp.Or(opts, new(Options))
	if err := o.check(model); err != nil {
		return nil, fmt.Errorf("new sampler: %w", err)
	}
	client, err := chat.New(cfg, &chat.Options{
		Host: o.Host, API: o.API, Extra: o.Extra, Retries: o.Retries,
		Timeout: o.Timeout, IdleTimeout: o.IdleTimeout,
	})
	if err != nil {
		return nil, fmt.Errorf("new sampler: %w", err)
	}
	if len(o.Metadata) > 0 {
		if err := client.CheckMetadata(); err != nil {
			return nil, fmt.Errorf("new sampler: Options.Metadata: %w", err)
		}
	}
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	o.Limits = o.Limits.withDefaults()
	o.Models, o.Servers, o.Metadata = slices.Clone(o.Models), maps.Clone(o.Servers), slices.Clone(o.Metadata)
	return &Sampler{
		chat:     client,
		model:    model,
		models:   o.modelsAt(client, model),
		options:  o,
		governor: newGovernor(o.Limits),
	}, nil
}

// modelsAt returns Options.Models, or else the given model alone, with their prices, and without the media that the client
// cannot send.
func (o *Options) modelsAt(client *chat.Client, given string) []Model {
	models := slices.Clone(o.Models)
	if len(models) == 0 {
		models = []Model{{ID: given, Tools: true, Images: true, Audio: true}}
	}
	for i := range models {
		m := &models[i]
		m.Images, m.Audio = m.Images && client.TakesImages(), m.Audio && client.TakesAudio()
		m.price = o.price(m.ID)
	}
	return models
}

// SamplingCapability declares that requests may have tools.
func (s *Sampler) SamplingCapability() mcp.SamplingCapability {
	return mcp.SamplingCapability{Tools: true}
}

// run is the state of one request.
type run struct {
	requester  *requester
	request    *Request // nil before the checks
	model      Model
	ticket     *ticket // nil until the request is admitted
	addedBytes int     // bytes that rewriting adds to the schemas of the tools

	approved    bool   // a person approved it before the request arrived
	approvedFor string // the approved model, "" for any

	record record // for Options.Audit
}

// CreateMessage implements [mcp.SamplingHandler]. Its error matches [mcp.ErrRejected] if a limit, the policy or the
// reviewer objects, and [mcp.ErrAnswerLater] if a person decides later. Other errors are an [*mcp.RPCError]: code -32602
// for an invalid request, -32603 for a failure of the model.
func (s *Sampler) CreateMessage(ctx context.Context, params *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	return s.createMessage(ctx, params, "")
}

// createMessage answers a request. server is the host's name for the server, "" if ForServer was not used.
func (s *Sampler) createMessage(
	ctx context.Context, params *mcp.CreateMessageParams, server string,
) (result *mcp.CreateMessageResult, err error) {
	q, identityErr := s.identify(ctx, server)
	r := &run{requester: q}
	if s.options.Audit != nil {
		r.record = newRecord(q, params)
	}
	r.approvedFor, r.approved = inquiry.Approved(ctx, params)
	defer func() { s.audit(ctx, r, result, err) }()
	if err := s.check(params); err != nil {
		return nil, err
	}
	if identityErr != nil {
		return nil, identityErr
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r.request = &Request{Server: q.label, Params: copyParams(params), requester: q}
	s.clamp(r)
	if err := s.admit(ctx, r); err != nil {
		return nil, err
	}
	defer r.ticket.close()
	start := time.Now()
	err = r.ticket.wait(ctx)
	r.record.Waiting = time.Since(start)
	if err != nil {
		return nil, err
	}
	return s.answer(context.WithValue(ctx, parentKey{}, q), r)
}

// answer reviews and answers an admitted request.
func (s *Sampler) answer(ctx context.Context, r *run) (*mcp.CreateMessageResult, error) {
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

// check returns an error for a request that breaks the specification or is larger than Limits.InputBytes.
func (s *Sampler) check(params *mcp.CreateMessageParams) error {
	if err := checkParams(params); err != nil {
		return invalidError(err)
	}
	if size := newNeeds(params).size(); size > s.options.Limits.InputBytes {
		return newRefusal(kindSize, fmt.Sprintf("the request has %d bytes, the limit is %d", size, s.options.Limits.InputBytes))
	}
	return nil
}

// admit chooses a model and asks the account of the context and the governor to admit the request.
// If the model costs more than the rest of the budget, admit tries other models.
func (s *Sampler) admit(ctx context.Context, r *run) error {
	if r.requester.mode() == ModeDeny { // it does not count in the limits
		return newRefusal(kindPolicy, "the host's policy does not allow the request")
	}
	models, wanted := s.models, r.request.Params.MaxTokens
	var costErr error
	for {
		r.request.Params.MaxTokens = wanted // the model before may have less room
		model, reason, err := choose(models, s.model, r.request.Params)
		switch {
		case err != nil && costErr != nil:
			return costErr
		case err != nil:
			return s.noModelError(err)
		}
		r.model, r.request.Model, r.request.reason = model, model.ID, reason
		r.model.shorten(r.request.Params)
		if r.ticket, err = s.ticket(ctx, r); err == nil {
			return nil
		}
		if refusal, ok := errors.AsType[*refusedError](err); !ok || refusal.kind != kindCost {
			return err
		}
		costErr = err
		models = slices.DeleteFunc(slices.Clone(models), func(m Model) bool { return m.ID == model.ID })
	}
}

// ticket reserves an upper bound of the cost, first in the account of the context: a
// request that the account refuses does not count in the limits.
func (s *Sampler) ticket(ctx context.Context, r *run) (*ticket, error) {
	most := r.reservation()
	bill := bill{account: cost.AccountFrom(ctx)}
	if err := bill.reserve(r.model.ID, most); err != nil {
		return nil, err
	}
	t, err := s.governor.admit(r.requester, most)
	if err != nil {
		bill.settle(r.model.ID, usage{})
		return nil, err
	}
	t.bill = bill
	return t, nil
}

// clamp lowers a request's maxTokens to the limit. 0 means the limit.
func (s *Sampler) clamp(r *run) {
	p, most := r.request.Params, int64(s.options.Limits.MaxTokens)
	p.MaxTokens = min(cmp.Or(p.MaxTokens, most), most)
}

// applyEdits chooses the reviewer's model and reserves the cost of the edited request.
func (s *Sampler) applyEdits(r *run) error {
	if id := r.request.Model; id != r.model.ID {
		i := slices.IndexFunc(s.models, func(m Model) bool { return m.ID == id })
		switch {
		case i >= 0:
			r.model = s.models[i]
		case len(s.options.Models) > 0:
			return s.noModelError(fmt.Errorf("reviewer chose %q, which is not in Options.Models", id))
		default:
			r.model = Model{ID: id, price: s.options.price(id)}
		}
		r.request.reason = "the reviewer"
	}
	s.clamp(r)
	return r.ticket.reserve(r.model.ID, r.reservation())
}
