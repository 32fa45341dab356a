package talk

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/cost"
)

// showUsage is the command /usage.
func (c *conversation) showUsage(ctx context.Context, _ string) error {
	var turn, sum run.Usage
	if state, err := c.archive.load(ctx, run.Key{ID: c.name}); err == nil {
		turn, sum = state.SinceInput(), state.Spent
	} else if !errors.Is(err, record.ErrNotFound) { // there was no question yet
		return err
	}
	c.screen.List(screen.Plain, "the last turn:    %s", formatSpent(turn, c.turnUnfinished))
	c.screen.List(screen.Plain, "the conversation: %s", formatSpent(sum, c.totalUnfinished))
	if _, known := cost.PriceOf(c.prices, c.model.Name()); !known && c.model.url() != "" {
		c.screen.List(screen.Faint, "the price of %s is not known; -prices names a file with prices", c.model.Name())
	}
	return nil
}

// forgetUsage resets the counts for another conversation.
func (c *conversation) forgetUsage() { c.turnUnfinished, c.totalUnfinished, c.window = 0, 0, nil }

// count counts an event of a turn.
func (c *conversation) count(e agent.Event) {
	switch e := e.(type) {
	case *agent.ModelStart:
		c.turnUnfinished++
		c.totalUnfinished++
	case *agent.ModelEnd:
		c.turnUnfinished--
		c.totalUnfinished--
		if len(e.Path) == 0 {
			c.window = e.Window
		}
	}
}

// formatSpent describes usage. unfinished counts calls of the model that did not end, whose tokens
// are not known.
func formatSpent(u run.Usage, unfinished int) string {
	text := fmt.Sprintf("%s, %d tokens in, %d out", cli.Plural(u.Turns, "model call"), u.Input, u.Output)
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
		completions := cli.Plural(u.Sampling.Requests, "completion")
		text += fmt.Sprintf("; for servers: %s, %d tokens", completions, u.Sampling.Tokens)
	}
	if cost := screen.Cost(u.Cost); cost != "" {
		text += "; " + cost
	}
	if unfinished > 0 {
		text += fmt.Sprintf("; what %s took is not known", cli.Plural(unfinished, "interrupted call"))
	}
	return text
}

// showWindow is the command /context.
func (c *conversation) showWindow(context.Context, string) error {
	for _, line := range windowLines(c.window) {
		c.screen.List(screen.Plain, "%s", line)
	}
	return nil
}

// windowLines describes what filled the window in the last call of the model.
func windowLines(u *agent.WindowUse) []string {
	if u == nil {
		return []string{"the model was not asked yet"}
	}
	about := "the last call of the model: "
	if u.Estimated {
		about += "about "
	}
	about += fmt.Sprintf("%d tokens", u.Input)
	if u.Size > 0 {
		about += fmt.Sprintf(", %d%% of a window of %d", u.Input*100/u.Size, u.Size)
	}
	if u.Cached > 0 {
		about += fmt.Sprintf("; %d from a cache", u.Cached)
	}
	lines := []string{about, fmt.Sprintf("%8d  instructions", u.Instructions)}
	for _, server := range u.Servers {
		tools := cli.Plural(server.Tools, "tool")
		lines = append(lines, fmt.Sprintf("%8d  %s of %s", server.Tokens, tools, server.Server))
	}
	return append(lines, fmt.Sprintf("%8d  messages", u.History), fmt.Sprintf("%8d  results of tools", u.Results))
}

// maxReasoning bounds the shown reasoning of a part of a message, in characters.
const maxReasoning = 20_000

// showReasoning is the command /reasoning: it shows the reasoning of the last turn, as far as the
// provider gives it.
func (c *conversation) showReasoning(context.Context, string) error {
	first := len(c.history)
	for first > 0 && c.history[first-1].Role != run.RoleUser {
		first--
	}
	shown := false
	for _, m := range c.history[first:] {
		for _, p := range m.Parts {
			if p.Type == run.PartReasoning && strings.TrimSpace(p.Text) != "" {
				c.screen.List(screen.Faint, "%s", hosttext.Block(p.Text, maxReasoning))
				shown = true
			}
		}
	}
	if !shown {
		return errors.New("the last answer came without reasoning")
	}
	return nil
}
