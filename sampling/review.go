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

	// The reviewer sets Remember to apply its decision to later requests of the server, or in Review.Reply to later replies
	// for it. A decision during a call holds during calls, another one outside calls. The reviewer is not asked again until
	// [Sampler.Forget]. A remembered refusal also overrules concurrent approvals. If the program has no name for the
	// server, only refusals are remembered, because another server could use the same name.
	Remember bool

	reason    string // why the model was chosen
	requester *requester
}

// Review allows, edits or refuses requests and replies. Its functions are called concurrently, each
// with the context of the server's request. A nil function allows everything.
//
// An edited request is checked again and counted against the limits again. An edited reply must keep to the protocol: the
// role is assistant, the content is text, images, audio, and calls of the request's tools.
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
	ask := r.timedReview(func() any { return r.request.Params }, &r.record.Edited, func() error {
		switch review := s.options.Review.Request; {
		case r.approved:
			r.request.Model = cmp.Or(r.approvedFor, r.request.Model)
		case review != nil:
			return review(ctx, r.request)
		}
		return nil
	})
	by, err := s.decide(ctx, r.request, r.requester.requestScope(), r.requester.mode(), ask)
	r.record.Decision = by
	if err != nil || by != byReviewer {
		return err
	}
	if err := s.check(r.request.Params); err != nil {
		return err
	}
	return s.applyEdits(r)
}

// reviewReply asks the reviewer about a reply, and checks the reply afterwards.
func (s *Sampler) reviewReply(ctx context.Context, r *run, reply *mcp.CreateMessageResult) error {
	ask := r.timedReview(func() any { return reply }, &r.record.ReplyEdited, func() error {
		if review := s.options.Review.Reply; review != nil {
			return review(ctx, r.request, reply)
		}
		return nil
	})
	by, err := s.decide(ctx, r.request, r.requester.replyScope(), ModeReview, ask)
	r.record.ReplyDecision = by
	if err != nil || by != byReviewer {
		return err
	}
	if err := checkReply(reply, r.request.Params); err != nil {
		return s.unansweredError("bad_reply", "the host has no reply that can be sent", err)
	}
	return nil
}

// timedReview returns ask with a record of the reviewer's time. It sets edited to whether the reviewer changed what seen
// returns, or the model.
func (r *run) timedReview(seen func() any, edited *bool, ask func() error) func() error {
	return func() error {
		before, model, start := hash(encodeJSON(seen())), r.request.Model, time.Now()
		defer func() {
			r.record.Reviewing += time.Since(start)
			*edited = hash(encodeJSON(seen())) != before || r.request.Model != model
		}()
		return ask()
	}
}

var errReplyWaits = errors.New("review of a reply cannot wait")

// decide returns who decided, and an error for a refusal. ask asks the reviewer.
func (s *Sampler) decide(ctx context.Context, req *Request, scope decisionScope, mode Mode, ask func() error) (string, error) {
	switch {
	case mode == ModeDeny:
		return byPolicy, newRefusal(kindPolicy, fmt.Sprintf("the host's policy does not allow the %s", scope.noun()))
	case mode == ModeAllow:
		return byPolicy, nil
	case s.options.Review == nil:
		return byLimits, nil
	}
	switch s.decisions.recall(scope) {
	case ModeDeny:
		return byMemory, notApprovedError(scope, nil)
	case ModeAllow:
		return byMemory, nil
	}
	req.Remember = false
	err := ask()
	switch {
	case err != nil && ctx.Err() != nil:
		return byReviewer, ctx.Err()
	case errors.Is(err, mcp.ErrAnswerLater) && !scope.reply:
		return byReviewer, &inquiry.ReviewLaterError{Model: req.Model, Params: req.Params}
	case errors.Is(err, mcp.ErrAnswerLater):
		err = errReplyWaits
	}
	if err != nil {
		if req.Remember {
			s.decisions.remember(scope, ModeDeny)
		}
		return byReviewer, notApprovedError(scope, err)
	}
	if req.Remember && req.Server != "" {
		s.decisions.remember(scope, ModeAllow)
	}
	if s.decisions.recall(scope) == ModeDeny { // meanwhile, for another request
		return byMemory, notApprovedError(scope, nil)
	}
	return byReviewer, nil
}

// notApprovedError returns the error for a request or a reply that the reviewer refuses.
func notApprovedError(s decisionScope, cause error) error {
	return &refusedError{kind: kindReview, reason: fmt.Sprintf("the %s was not approved", s.noun()), cause: cause}
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
