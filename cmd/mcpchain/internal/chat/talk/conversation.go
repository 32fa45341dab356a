package talk

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/price"
)

// conversation is the current conversation. It is stored as one run with many inputs.
type conversation struct {
	screen  screen.Screen
	archive *archive
	model   *Model
	prices  *price.Table
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

// cancel cancels the run of a turn that has no answer, so that it accepts another question.
// note precedes that question. If there is no run yet, or it cannot be cancelled, the conversation
// continues under a new name.
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
	for i := len(c.history) - 1; i >= 0; i-- {
		if c.history[i].Role == run.RoleUser {
			c.screen.Note(screen.Faint, "forgotten: %s", hosttext.Line(questionText(c.history[i]), 200))
			c.branch(c.history[:i:i])
			return nil
		}
	}
	return errors.New("there is no question to forget")
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
