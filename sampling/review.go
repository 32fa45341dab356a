package sampling

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Request is a valid sampling request, for review.
//
// Its texts are a stranger's. Show them as plain text, without following links
// or obeying control characters, and show the server's name.
type Request struct {
	// Server is the host's own name for the server; empty if it has none.
	Server string

	// Model is the model to ask. The reviewer may choose another model, from the
	// catalogue if there is one.
	Model string

	// Params is a copy, within the limits. The reviewer may change it; it is
	// checked again, also by the limits.
	Params *mcp.CreateMessageParams

	// The reviewer sets Remember to apply its decision to the server's later
	// requests, or replies, of the same kind: during calls, or outside them. The
	// reviewer is not asked again until [Sampler.Forget]. A remembered refusal
	// also overrules concurrent consents. If the host has no name for the server,
	// only refusals are remembered: another server could use the same name.
	Remember bool

	reason string // for the choice of the model
	who    *who
}

// Review allows, edits or refuses requests and replies. Its functions are
// called concurrently, each with the context of the server's request. One that is nil allows everything.
//
// An edited request is checked again, also by the limits. An edited reply is checked by
// the protocol: the role is assistant, the content is text, images, sounds and
// uses of the request's tools.
//
// An error refuses. The server learns of the refusal, but never sees the error;
// on this side errors.Is and errors.As find it, beside [mcp.ErrRejected].
//
// Request may return [mcp.ErrAnswerLater], possibly wrapped: then a person decides
// later, see [AskLater]. A reply cannot wait: there the error refuses.
type Review struct {
	Request func(ctx context.Context, r *Request) error
	Reply   func(ctx context.Context, r *Request, reply *mcp.CreateMessageResult) error
}

func (v *Review) request(ctx context.Context, r *Request) error {
	if v.Request == nil {
		return nil
	}
	return v.Request(ctx, r)
}

func (v *Review) reply(ctx context.Context, r *Request, reply *mcp.CreateMessageResult) error {
	if v.Reply == nil {
		return nil
	}
	return v.Reply(ctx, r, reply)
}

// AskLater is a [Review] that leaves each request to a person: a run of package agent that
// calls the tool opens a question, which may be answered later and in another process, and
// edited. Elsewhere the call of a modern server ends with an [mcp.InputRequired]; a
// legacy server is refused. Replies pass.
func AskLater() *Review {
	return &Review{Request: func(context.Context, *Request) error { return mcp.ErrAnswerLater }}
}

// reviewRequest asks the policy or the reviewer, and checks an edited request
// by the same rules.
func (s *Sampler) reviewRequest(ctx context.Context, r *run) error {
	ask := r.watched(func() any { return r.request.Params }, &r.record.Edited, func() error {
		if !r.approved {
			return s.options.Review.request(ctx, r.request)
		}
		r.request.Model = cmp.Or(r.approvedFor, r.request.Model)
		return nil
	})
	by, err := s.decide(ctx, r.request, false, r.who.mode(), ask)
	r.record.Decision = by
	if err != nil || by != byReviewer {
		return err
	}
	if err := s.check(r.request.Params); err != nil {
		return err
	}
	return s.settle(r)
}

func (s *Sampler) reviewReply(ctx context.Context, r *run, reply *mcp.CreateMessageResult) error {
	ask := r.watched(func() any { return reply }, &r.record.ReplyEdited, func() error {
		return s.options.Review.reply(ctx, r.request, reply)
	})
	by, err := s.decide(ctx, r.request, true, modeAsk, ask)
	r.record.ReplyDecision = by
	if err != nil || by != byReviewer {
		return err
	}
	if err := checkReply(reply, r.request.Params); err != nil {
		return s.badReply(err)
	}
	return nil
}

// watched records the reviewer's time, and whether the reviewer edits anything.
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

var errReplyWaits = errors.New("the review of a reply cannot wait")

// decide returns the decider, and an error for a refusal.
func (s *Sampler) decide(ctx context.Context, req *Request, reply bool, mode Mode, ask func() error) (string, error) {
	what := "request"
	if reply {
		what = "reply"
	}
	subject := req.who.subject(reply)
	switch {
	case mode == ModeDeny:
		return byPolicy, refused(kindPolicy, fmt.Sprintf("the host's policy does not let the %s pass", what))
	case mode == ModeAllow:
		return byPolicy, nil
	case s.options.Review == nil:
		return byLimits, nil
	}
	switch s.memory.recall(subject) {
	case ModeDeny:
		return byMemory, refused(kindReview, fmt.Sprintf("the %s was not approved", what))
	case ModeAllow:
		return byMemory, nil
	}
	req.Remember = false
	err := ask()
	if ctxErr := ctx.Err(); ctxErr != nil && err != nil {
		return byReviewer, ctxErr
	}
	if errors.Is(err, mcp.ErrAnswerLater) {
		if !reply {
			return byReviewer, &inquiry.ReviewLaterError{Model: req.Model, Params: req.Params}
		}
		err = errReplyWaits
	}
	if req.Remember {
		switch {
		case err != nil:
			s.memory.remember(subject, ModeDeny)
		case req.Server != "":
			s.memory.remember(subject, ModeAllow)
		}
	}
	if err == nil && s.memory.recall(subject) == ModeDeny {
		return byMemory, refused(kindReview, fmt.Sprintf("the %s was not approved", what))
	}
	if err != nil {
		return byReviewer, &refusedError{kind: kindReview, reason: fmt.Sprintf("the %s was not approved", what), cause: err}
	}
	return byReviewer, nil
}

// copyParams copies the lists, since a reviewer may write to them. The blocks
// and tools belong only to this request and are not copied.
func copyParams(p *mcp.CreateMessageParams) *mcp.CreateMessageParams {
	out := *p
	out.Messages = slices.Clone(p.Messages)
	for i := range out.Messages {
		out.Messages[i].Content = slices.Clone(out.Messages[i].Content)
	}
	out.StopSequences = slices.Clone(p.StopSequences)
	out.Tools = slices.Clone(p.Tools)
	return &out
}
