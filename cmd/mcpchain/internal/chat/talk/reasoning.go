package talk

import (
	"context"
	"errors"
	"strings"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

// maxReasoning bounds the shown reasoning of a part of a message, in characters.
const maxReasoning = 20_000

// reasoning is the command /reasoning: it shows the reasoning of the last turn, as far as the provider gives it.
func (s *Session) reasoning(context.Context, string) error {
	first := len(s.history)
	for first > 0 && s.history[first-1].Role != run.RoleUser {
		first--
	}
	shown := false
	for _, m := range s.history[first:] {
		for _, p := range m.Parts {
			if p.Type == run.PartReasoning && strings.TrimSpace(p.Text) != "" {
				s.Screen.List(screen.Faint, "%s", hosttext.Block(p.Text, maxReasoning))
				shown = true
			}
		}
	}
	if !shown {
		return errors.New("the last answer came without reasoning")
	}
	return nil
}
