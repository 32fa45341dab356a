package talk

import (
	"context"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/examples/chatbot/internal/screen"
)

// usage is /usage. The store knows what servers have sampled, too.
func (s *Session) usage(ctx context.Context, _ string) error {
	turn, sum := s.turn, s.sum
	if s.Store != nil {
		if state, err := s.load(ctx, run.Key{ID: s.name}); err == nil {
			turn = state.Spent.Since(state.Before)
			sum.Sampling = state.Spent.Sampling
		}
	}
	s.Screen.List(screen.Plain, "the last turn:    %s", s.spent(turn))
	s.Screen.List(screen.Plain, "the conversation: %s", s.spent(sum))
	if _, known := s.Prices.Of(s.Model.Name()); !known && s.Model.url() != "" {
		s.Screen.List(screen.Faint, "the price of %s is not known; -prices names a file with prices", s.Model.Name())
	}
	return nil
}

// spent says what was used.
func (s *Session) spent(u run.Spent) string {
	text := fmt.Sprintf("%s, %d tokens in, %d out", screen.Plural(u.Turns, "model call"), u.Input, u.Output)
	var parts []string
	if u.Cached > 0 {
		parts = append(parts, fmt.Sprintf("%d in from a cache", u.Cached))
	}
	if u.Reasoning > 0 {
		parts = append(parts, fmt.Sprintf("%d out for reasoning", u.Reasoning))
	}
	if len(parts) > 0 {
		text += " (" + strings.Join(parts, ", ") + ")"
	}
	if u.Sampling.Requests > 0 {
		text += fmt.Sprintf("; for servers: %s, %d tokens", screen.Plural(u.Sampling.Requests, "completion"), u.Sampling.Tokens)
	}
	if cost := screen.Cost(u.Cost); cost != "" {
		text += "; " + cost
	}
	return text
}
