package sampling

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient"
)

func TestReviewEdits(t *testing.T) {
	h := newHost(t, answering(plainAnswer))
	s := h.sampler(t, &Options{Review: ReviewFuncs{
		Request: func(_ context.Context, r *Request) error {
			r.Model = "gpt-4.1-mini"
			r.Params.SystemPrompt = "Be kind."
			r.Params.Messages[0].Content[0] = &mcpclient.TextContent{Text: "Good day"}
			return nil
		},
		Reply: func(_ context.Context, r *Request, reply *mcpclient.CreateMessageResult) error {
			reply.Content = []mcpclient.Content{&mcpclient.TextContent{Text: reply.Content[0].(*mcpclient.TextContent).Text + "!"}}
			return nil
		},
	}})
	p := question(t, hi)
	got, err := s.CreateMessage(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if text := got.Content[0].(*mcpclient.TextContent).Text; text != "Hello!" {
		t.Errorf("reply: got %q, want %q", text, "Hello!")
	}
	equalJSON(t, h.last(), `{"model":"gpt-4.1-mini","max_completion_tokens":100,"stream":false,
		"messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"Good day"}]}`)
	if text := p.Messages[0].Content[0].(*mcpclient.TextContent).Text; text != "Hi" {
		t.Errorf("the server's own request was changed to %q", text)
	}
}

func TestReviewRefuses(t *testing.T) {
	secret := errors.New("the boss says no to " + testKey)
	refuse := func() error { return secret }
	tests := []struct {
		name   string
		review ReviewFuncs
		asked  int
	}{
		{"request", ReviewFuncs{Request: func(context.Context, *Request) error { return refuse() }}, 0},
		{"reply", ReviewFuncs{Reply: func(context.Context, *Request, *mcpclient.CreateMessageResult) error { return refuse() }}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, answering(plainAnswer))
			_, err := h.sampler(t, &Options{Review: tt.review}).CreateMessage(t.Context(), question(t, hi))
			if !errors.Is(err, mcpclient.ErrRejected) || !errors.Is(err, secret) {
				t.Errorf("got %v, want %v because of the reviewer's error", err, mcpclient.ErrRejected)
			}
			if strings.Contains(err.Error(), testKey) {
				t.Errorf("the server would see %q", err)
			}
			if h.asked() != tt.asked {
				t.Errorf("asked the model %d times, want %d", h.asked(), tt.asked)
			}
		})
	}
}

func TestReviewEditsAreChecked(t *testing.T) {
	h := newHost(t, answering(plainAnswer))
	edit := func(f func(*mcpclient.CreateMessageParams)) error {
		_, err := h.sampler(t, &Options{Limits: Limits{InputBytes: 100}, Review: ReviewFuncs{
			Request: func(_ context.Context, r *Request) error { f(r.Params); return nil },
		}}).CreateMessage(t.Context(), question(t, hi))
		return err
	}
	if err := edit(func(p *mcpclient.CreateMessageParams) { p.SystemPrompt = strings.Repeat("x", 100) }); !errors.Is(err, mcpclient.ErrRejected) {
		t.Errorf("too long: got %v, want %v", err, mcpclient.ErrRejected)
	}
	if err := edit(func(p *mcpclient.CreateMessageParams) { p.Messages = nil }); err == nil {
		t.Error("no messages: got no error")
	}
	if h.asked() != 0 {
		t.Errorf("asked the model %d times, want 0", h.asked())
	}
}

func TestReviewerIsCancelled(t *testing.T) {
	h := newHost(t, answering(plainAnswer))
	ctx, cancel := context.WithCancel(t.Context())
	s := h.sampler(t, &Options{Review: ReviewFuncs{Request: func(ctx context.Context, _ *Request) error {
		cancel()
		return ctx.Err()
	}}})
	if _, err := s.CreateMessage(ctx, question(t, hi)); !errors.Is(err, context.Canceled) || errors.Is(err, mcpclient.ErrRejected) {
		t.Errorf("got %v, want %v alone", err, context.Canceled)
	}
}
