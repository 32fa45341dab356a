package sampling

import (
	"context"
	"slices"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// Request is a sampling request that has passed the checks, for review.
//
// Its texts are a stranger's. Show them as plain text, without following links
// or obeying control characters, and show which server asks.
type Request struct {
	// Origin is the server, and the call in which it asks. What a server says of
	// itself proves nothing.
	Origin mcpclient.Origin

	// Model is what will be asked. The reviewer may choose another.
	Model string

	// Params is a copy, within the limits, which the reviewer may change; it is
	// checked and held to the limits again.
	Params *mcpclient.CreateMessageParams
}

// Reviewer lets requests and replies pass, edits or refuses them. Its methods
// are called concurrently, each with the context of the server's request.
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

// reviewRequest asks the reviewer and holds what it has made of the request to
// the same rules.
func (s *Sampler) reviewRequest(ctx context.Context, req *Request) error {
	if s.options.Review == nil {
		return nil
	}
	if err := s.options.Review.ReviewRequest(ctx, req); err != nil {
		return objection(ctx, "the request was not approved", err)
	}
	if err := s.check(req.Params); err != nil {
		return err
	}
	s.clamp(req)
	return nil
}

func (s *Sampler) reviewReply(ctx context.Context, req *Request, reply *mcpclient.CreateMessageResult) error {
	if s.options.Review == nil {
		return nil
	}
	if err := s.options.Review.ReviewReply(ctx, req, reply); err != nil {
		return objection(ctx, "the reply was not approved", err)
	}
	return nil
}

// objection is a reviewer's error, or the end of the request that it waited
// for.
func objection(ctx context.Context, reason string, err error) error {
	if ctxErr := ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	return &RefusedError{Reason: reason, cause: err}
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
