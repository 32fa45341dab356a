package sampling

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestReviewEdits(t *testing.T) {
	h := newHost(t, answering(plainAnswer))
	s := h.sampler(t, &Options{Review: &Review{
		Request: func(_ context.Context, r *Request) error {
			r.Model, r.Params.SystemPrompt = "gpt-4.1-mini", "Be kind."
			r.Params.Messages[0].Content[0] = &mcp.TextContent{Text: "Good day"}
			return nil
		},
		Reply: func(_ context.Context, r *Request, reply *mcp.CreateMessageResult) error {
			reply.Content = []mcp.Content{&mcp.TextContent{Text: reply.Content[0].(*mcp.TextContent).Text + "!"}}
			return nil
		},
	}})
	p := question(t, hi)
	check.Equal(t, "reply", check.Value(s.CreateMessage(t.Context(), p))(t).Content[0].(*mcp.TextContent).Text, "Hello!")
	equalJSON(t, h.Last(), `{"model":"gpt-4.1-mini","max_completion_tokens":100,"stream":false,
		"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"Good day"}]}`)
	check.Equal(t, "the server's own request was changed to", p.Messages[0].Content[0].(*mcp.TextContent).Text, "Hi")
}

// TestHashOfAnEditedRequest has the record name the server's request, though the reviewer edits a block in place.
func TestHashOfAnEditedRequest(t *testing.T) {
	hashes := map[string]bool{}
	for _, text := range []string{"Hi", "Good day"} {
		s := newHost(t, answering(plainAnswer)).sampler(t, &Options{
			Audit: auditTo(t, func(r record) { hashes[r.RequestHash] = true }),
			Review: &Review{Request: func(_ context.Context, r *Request) error {
				r.Params.Messages[0].Content[0].(*mcp.TextContent).Text = text
				return nil
			}},
		})
		check.NoError(t, ask(t, s, hi))
	}
	check.Equal(t, "requests by their hashes", len(hashes), 1)
}

func TestReviewRefuses(t *testing.T) {
	secret := errors.New("the boss says no to " + testKey)
	for _, tt := range []struct {
		name   string
		review *Review
		asked  int
	}{
		{"request", &Review{Request: func(context.Context, *Request) error { return secret }}, 0},
		{"reply", &Review{Reply: func(context.Context, *Request, *mcp.CreateMessageResult) error { return secret }}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, answering(plainAnswer))
			err := ask(t, h.sampler(t, &Options{Review: tt.review}), hi)
			check.Is(t, err, mcp.ErrRejected)
			check.Is(t, err, secret)
			check.That(t, !strings.Contains(err.Error(), testKey), "the server would see %q", err)
			h.wantAsked(t, tt.asked)
		})
	}
}

func TestReviewEditsAreChecked(t *testing.T) {
	h := newHost(t, answering(plainAnswer))
	edit := func(f func(*mcp.CreateMessageParams)) error {
		return ask(t, h.sampler(t, &Options{Limits: Limits{InputBytes: 100}, Review: &Review{
			Request: func(_ context.Context, r *Request) error { f(r.Params); return nil },
		}}), hi)
	}
	check.Is(t, edit(func(p *mcp.CreateMessageParams) { p.SystemPrompt = strings.Repeat("x", 100) }), mcp.ErrRejected, "too long")
	check.Text(t, edit(func(p *mcp.CreateMessageParams) { p.MaxTokens = -1 }), "", "no valid bound: got no error")
	h.wantAsked(t, 0)
}

func TestReviewerIsCancelled(t *testing.T) {
	h := newHost(t, answering(plainAnswer))
	ctx, cancel := context.WithCancel(t.Context())
	s := h.sampler(t, &Options{Review: &Review{Request: func(ctx context.Context, _ *Request) error { cancel(); return ctx.Err() }}})
	_, err := s.CreateMessage(ctx, question(t, hi))
	check.That(t, errors.Is(err, context.Canceled) && !errors.Is(err, mcp.ErrRejected), "got %v, want %v alone", err, context.Canceled)
}

// A request that a person reviews later asks no model, and is answered once it is approved:
// as it was shown, by the model that was shown. A reply cannot wait.
func TestReviewLater(t *testing.T) {
	h := newHost(t, answering(plainAnswer))
	var outcomes []string
	s := h.sampler(t, &Options{Review: AskLater(), Limits: Limits{MaxTokens: 5},
		Audit: auditTo(t, func(r record) { outcomes = append(outcomes, r.Outcome) })})
	p := question(t, hi)
	_, err := s.CreateMessage(t.Context(), p)
	later, ok := errors.AsType[*inquiry.ReviewLaterError](err)
	check.Require(t, ok && errors.Is(err, mcp.ErrAnswerLater) && later.Model != "" && later.Params.MaxTokens == 5 && h.Asked() == 0,
		"got %v (%+v), want a request that waits", err, later)
	check.Is(t, check.Err(s.CreateMessage(inquiry.WithApproved(t.Context(), p, later.Model), later.Params)), mcp.ErrAnswerLater,
		"another request than the approved one")
	check.Must(t, check.Err(s.CreateMessage(inquiry.WithApproved(t.Context(), later.Params, "gpt-4.1-mini"), later.Params)))
	equalJSON(t, h.Last(), `{"model":"gpt-4.1-mini","max_completion_tokens":5,"stream":false,"messages":[{"role":"user","content":"Hi"}]}`)
	check.Same(t, "outcomes", outcomes, []string{"waiting", "waiting", "answered"})
	reply := h.sampler(t, &Options{Review: &Review{Reply: func(context.Context, *Request, *mcp.CreateMessageResult) error { return mcp.ErrAnswerLater }}})
	_, err = reply.CreateMessage(t.Context(), p)
	check.That(t, errors.Is(err, mcp.ErrRejected) && !errors.Is(err, mcp.ErrAnswerLater), "got %v for a reply that waits, want a refusal", err)
}

// An approval does not overrule the host's policy and limits.
func TestApprovalWithinTheLimits(t *testing.T) {
	for name, opts := range map[string]*Options{
		"policy": {Policy: Policy{DuringCalls: ModeDeny, OutsideCalls: ModeDeny}, Review: AskLater()},
		"limit":  {Limits: Limits{InputBytes: 1}, Review: AskLater()},
	} {
		h, p := newHost(t, answering(plainAnswer)), question(t, hi)
		_, err := h.sampler(t, opts).CreateMessage(inquiry.WithApproved(t.Context(), p, ""), p)
		check.That(t, errors.Is(err, mcp.ErrRejected) && h.Asked() == 0, "%s: got %v, want a refusal", name, err)
	}
}
