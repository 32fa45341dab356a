package talk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/cost"
)

// conversation is the current conversation. It is stored as one run with many inputs.
type conversation struct {
	screen  screen.Screen
	archive *archive
	model   *chosenModel
	agent   *agent.Agent

	name    string        // in the store
	pending []run.Message // sent to the agent before the next question
	history []run.Message

	turnUnfinished  int              // calls of models in the last turn that did not end
	totalUnfinished int              // such calls in the conversation, since this program has it
	window          *agent.WindowUse // of the last call of the agent's own model
}

// events runs the agent with a question.
func (c *conversation) events(ctx context.Context, message run.Message) iter.Seq2[agent.Event, error] {
	input := append(slices.Clip(c.pending), message)
	c.pending = nil
	folder, _ := json.Marshal(c.archive.folder) // cannot fail: it is a string
	return c.agent.Events(ctx, input, agent.WithRun(c.name), agent.WithVar(folderVar, folder))
}

// branch starts a new conversation with a history, which the agent gets with the first question.
func (c *conversation) branch(history []run.Message) {
	c.name = newName()
	c.history, c.pending = history, history
	if len(history) == 0 {
		c.forgetUsage()
	}
}

// replace continues a stored conversation instead.
func (c *conversation) replace(name string, history []run.Message) {
	c.name, c.history, c.pending = name, history, nil
	c.forgetUsage()
}

// cancel cancels the run of a turn that has no answer, so that it accepts another question. note precedes that
// question. If there is no run yet, or it cannot be cancelled, the conversation continues under a new name.
func (c *conversation) cancel(note run.Message) {
	ctx, cancel := context.WithTimeout(context.Background(), cancelWait)
	defer cancel()
	if _, err := c.agent.Cancel(ctx, run.Key{ID: c.name}); err != nil {
		c.branch(c.history)
		return
	}
	c.pending = []run.Message{note}
}

// clear is the command /clear. The conversation so far stays in the store.
func (c *conversation) clear(context.Context, string) error {
	c.branch(nil)
	c.screen.Note(screen.Faint, "another conversation begins")
	return nil
}

// undo is the command /undo: it removes the last question and all that followed. The rest is a new
// conversation; the old one stays in the store.
func (c *conversation) undo(context.Context, string) error {
	i := lastQuestion(c.history)
	if i < 0 {
		return errors.New("there is no question to forget")
	}
	c.screen.Note(screen.Faint, "forgotten: %s", hosttext.Line(questionText(c.history[i]), 200))
	c.branch(c.history[:i:i])
	return nil
}

// lastQuestion returns the index of the last question in a history, -1 if there is none.
func lastQuestion(history []run.Message) int {
	i := len(history) - 1
	for i >= 0 && history[i].Role != run.RoleUser {
		i--
	}
	return i
}

// resumeEvents continues a turn, and yields its events. It waits at most 2*leaseTTL for the lease of
// a program that was killed: a program that is alive renews its lease.
func (c *conversation) resumeEvents(ctx context.Context, key run.Key) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		for start := time.Now(); ; {
			held := false
			for e, err := range c.agent.ResumeEvents(ctx, key) {
				if errors.Is(err, record.ErrHeld) && time.Since(start) < 2*leaseTTL {
					held = true
					break
				}
				if !yield(e, err) || err != nil {
					return
				}
			}
			if !held {
				return
			}
			c.screen.Progress("waiting for the program that had the conversation …")
			select {
			case <-time.After(leaseTTL / 10):
			case <-ctx.Done():
				yield(nil, record.ErrHeld) // the turn is not this program's, and not to be cancelled
				return
			}
		}
	}
}

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
	if _, known := cost.PriceOf(c.model.flags.Prices, c.model.name()); !known && c.model.url() != "" {
		c.screen.List(screen.Faint, "the price of %s is not known; -prices names a file with prices", c.model.name())
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

// formatSpent describes usage. unfinished counts calls of the model that did not end, whose tokens are not known.
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

// showReasoning is the command /reasoning: it shows the reasoning of the last turn, as far as the provider gives it.
func (c *conversation) showReasoning(context.Context, string) error {
	shown := false
	for _, m := range c.history[lastQuestion(c.history)+1:] {
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
