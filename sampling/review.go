package sampling

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// Request is a sampling request that has passed the checks, for review.
//
// Its texts are a stranger's. Show them as plain text, without following links
// or obeying control characters, and show which server asks.
type Request struct {
	// Server is the host's own name for the server; empty when it has none.
	Server string

	// Origin is the server, and the call in which it asks. What a server says of
	// itself proves nothing.
	Origin mcpclient.Origin

	// Model is what will be asked. The reviewer may choose another, of the
	// catalogue if there is one.
	Model string

	// Reason says why the model was chosen.
	Reason string

	// Params is a copy, within the limits, which the reviewer may change; it is
	// checked and held to the limits again.
	Params *mcpclient.CreateMessageParams

	// Remember, set by the reviewer, makes its decision hold for the server's
	// further requests, or replies, during calls or outside them as this one; the
	// reviewer is not asked again until [Sampler.Forget]. A remembered refusal
	// also overrules consents that are on their way. Only refusals are remembered
	// of a server without a name of the host's: another could call itself the
	// same.
	Remember bool

	who *who
}

// Reviewer lets requests and replies pass, edits or refuses them. Its methods
// are called concurrently, each with the context of the server's request. What it
// has made of a request is checked and held to the limits again, and what it has
// made of a reply is checked: text, images, sounds and uses of the request's tools
// of the role assistant, as the protocol has them.
//
// An error refuses. The server learns that the request was refused; the error
// itself stays on this side, where errors.Is and errors.As find it.
type Reviewer interface {
	ReviewRequest(ctx context.Context, r *Request) error
	ReviewReply(ctx context.Context, r *Request, reply *mcpclient.CreateMessageResult) error
}

// ReviewFuncs are functions as a [Reviewer]. A nil one lets everything pass.
type ReviewFuncs struct {
	Request func(ctx context.Context, r *Request) error
	Reply   func(ctx context.Context, r *Request, reply *mcpclient.CreateMessageResult) error
}

// ReviewRequest calls f.Request.
func (f ReviewFuncs) ReviewRequest(ctx context.Context, r *Request) error {
	if f.Request == nil {
		return nil
	}
	return f.Request(ctx, r)
}

// ReviewReply calls f.Reply.
func (f ReviewFuncs) ReviewReply(ctx context.Context, r *Request, reply *mcpclient.CreateMessageResult) error {
	if f.Reply == nil {
		return nil
	}
	return f.Reply(ctx, r, reply)
}

// reviewRequest has the policy or the reviewer decide, and holds what the
// reviewer has made of the request to the same rules.
func (s *Sampler) reviewRequest(ctx context.Context, r *run) error {
	ask := r.watched(func() any { return r.request.Params }, &r.record.Edited, func() error {
		return s.options.Review.ReviewRequest(ctx, r.request)
	})
	by, err := s.decide(ctx, r.request, false, r.who.mode(), ask)
	r.record.Decision = by
	if err != nil || by != ByReviewer {
		return err
	}
	if err := s.check(r.request.Params); err != nil {
		return err
	}
	return s.settle(r)
}

func (s *Sampler) reviewReply(ctx context.Context, r *run, reply *mcpclient.CreateMessageResult) error {
	ask := r.watched(func() any { return reply }, &r.record.ReplyEdited, func() error {
		return s.options.Review.ReviewReply(ctx, r.request, reply)
	})
	by, err := s.decide(ctx, r.request, true, r.who.policy.Reply, ask)
	r.record.ReplyDecision = by
	if err != nil || by != ByReviewer {
		return err
	}
	if err := checkReply(reply, r.request.Params); err != nil {
		return s.badReply(err)
	}
	return nil
}

// watched notes for the record how long the reviewer takes, and whether it
// changes what it sees.
func (r *run) watched(seen func() any, edited *bool, ask func() error) func() error {
	return func() error {
		before, model, start := hash(encoded(seen())), r.request.Model, time.Now()
		defer func() {
			r.record.Reviewing += time.Since(start)
			*edited = hash(encoded(seen())) != before || r.request.Model != model
		}()
		return ask()
	}
}

// decide returns who decided, and an error for a refusal.
func (s *Sampler) decide(ctx context.Context, req *Request, reply bool, mode Mode, ask func() error) (Decider, error) {
	what := "request"
	if reply {
		what = "reply"
	}
	subject := req.who.subject(reply)
	switch {
	case mode == Deny:
		return ByPolicy, refused(KindPolicy, fmt.Sprintf("the host's policy does not let the %s pass", what))
	case mode == Allow:
		return ByPolicy, nil
	case s.options.Review == nil:
		return ByLimits, nil
	}
	switch s.memory.recall(subject) {
	case Deny:
		return ByMemory, refused(KindReview, fmt.Sprintf("the %s was not approved", what))
	case Allow:
		return ByMemory, nil
	}
	req.Remember = false
	err := ask()
	if ctxErr := ctx.Err(); ctxErr != nil && err != nil {
		return ByReviewer, ctxErr
	}
	if req.Remember {
		switch {
		case err != nil:
			s.memory.remember(subject, Deny)
		case req.Server != "":
			s.memory.remember(subject, Allow)
		}
	}
	if err == nil && s.memory.recall(subject) == Deny {
		return ByMemory, refused(KindReview, fmt.Sprintf("the %s was not approved", what))
	}
	if err != nil {
		return ByReviewer, &RefusedError{Kind: KindReview, Reason: fmt.Sprintf("the %s was not approved", what), cause: err}
	}
	return ByReviewer, nil
}

// copyParams copies what a reviewer is likely to write to: the lists, but not
// the blocks and tools in them, which belong to the request alone.
func copyParams(p *mcpclient.CreateMessageParams) *mcpclient.CreateMessageParams {
	out := *p
	out.Messages = slices.Clone(p.Messages)
	for i := range out.Messages {
		out.Messages[i].Content = slices.Clone(out.Messages[i].Content)
	}
	out.StopSequences = slices.Clone(p.StopSequences)
	out.Tools = slices.Clone(p.Tools)
	return &out
}
