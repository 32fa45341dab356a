package sampling

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Request is a valid sampling request, for review.
//
// Its texts are untrusted. Show them as plain text with escaped control characters
// and without active links, and show the server's name.
type Request struct {
	// Server is the program's name for the server; empty if it has none.
	Server string

	// Model is the model to ask. The reviewer may choose another model, from [Options.Models] if that is set.
	Model string

	// Params is a copy, within the limits. The reviewer may change it; it is checked again and
	// counted against the limits again.
	Params *mcp.CreateMessageParams

	reason    string // why the model was chosen
	requester *requester
}

// Review allows, edits or refuses requests and replies. Its functions are called concurrently, each
// with the context of the server's request. A nil function allows everything.
//
// An edited request is checked again and counted against the limits again. An edited reply is sent as it is.
//
// An error refuses the request or the reply. The server learns only that it was refused. The error
// that [Sampler.CreateMessage] returns matches both the reviewer's error and [mcp.ErrRejected].
//
// Request may return [mcp.ErrAnswerLater], possibly wrapped: then a person decides
// later, see [AskLater]. From Reply, that error refuses, because a reply cannot wait.
type Review struct {
	Request func(ctx context.Context, r *Request) error
	Reply   func(ctx context.Context, r *Request, reply *mcp.CreateMessageResult) error
}

// AskLater returns a [Review] that leaves each request to a person and allows all replies. In a run
// of package agent, the call of the tool opens a question; the person may edit the request, and may
// answer later and in another process. Otherwise the call of a server of revision 2026-07-28 or
// later ends with an [mcp.InputRequired], and the request of an older server is refused.
func AskLater() *Review {
	return &Review{Request: func(context.Context, *Request) error { return mcp.ErrAnswerLater }}
}

// reviewRequest asks the policy or the reviewer, and checks an edited request again.
func (s *Sampler) reviewRequest(ctx context.Context, r *run) error {
	switch {
	case r.requester.mode() == ModeAllow:
		r.record.Decision = byPolicy
		return nil
	case s.options.Review == nil:
		r.record.Decision = byLimits
		return nil
	}
	r.record.Decision = byReviewer
	err := r.askReviewer(func() any { return r.request.Params }, &r.record.Edited, func() error {
		switch review := s.options.Review.Request; {
		case r.approved:
			r.request.Model = cmp.Or(r.approvedFor, r.request.Model)
		case review != nil:
			return review(ctx, r.request)
		}
		return nil
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, mcp.ErrAnswerLater):
		return &inquiry.ReviewLaterError{Model: r.request.Model, Params: r.request.Params}
	case err != nil:
		return &refusedError{kind: kindReview, reason: "the request was not approved", cause: err}
	}
	if err := s.check(r.request.Params); err != nil {
		return err
	}
	return s.applyEdits(r)
}

// reviewReply asks the reviewer about a reply.
func (s *Sampler) reviewReply(ctx context.Context, r *run, reply *mcp.CreateMessageResult) error {
	if s.options.Review == nil {
		r.record.ReplyDecision = byLimits
		return nil
	}
	r.record.ReplyDecision = byReviewer
	err := r.askReviewer(func() any { return reply }, &r.record.ReplyEdited, func() error {
		if review := s.options.Review.Reply; review != nil {
			return review(ctx, r.request, reply)
		}
		return nil
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, mcp.ErrAnswerLater):
		err = errReplyWaits
	}
	if err != nil {
		return &refusedError{kind: kindReview, reason: "the reply was not approved", cause: err}
	}
	return nil
}

var errReplyWaits = errors.New("review of a reply cannot wait")

// askReviewer calls ask, which asks the reviewer, and records the time. It sets edited to whether the reviewer changed
// what seen returns, or the model.
func (r *run) askReviewer(seen func() any, edited *bool, ask func() error) error {
	before, model, start := hash(seen()), r.request.Model, time.Now()
	err := ask()
	r.record.Reviewing += time.Since(start)
	*edited = hash(seen()) != before || r.request.Model != model
	return err
}

// copyParams copies the lists, because a reviewer may change them. The blocks and
// tools belong to this request only, so they are not copied.
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
