// Package compact keeps the history of a run within the window of its model.
//
// A [Compactor] is a function of the history: it says which messages replace the oldest ones, and changes nothing
// itself. Package agent asks it before each call of the model and records the answer, so that a run continues in the
// same way after a crash.
//
// [Trim] needs no model. Of the results of older tool calls it drops images and sounds, and
// cuts long texts to their head and tail; the handle by which the model reads on in a
// result stays. If that is not enough, it leaves out the oldest turns. [Summarize] puts a
// summary instead of the turns that Trim leaves out.
//
//	a, err := agent.New(model, &agent.Options{
//		Compact: compact.Trim(&compact.Options{Window: 32_000}),
//	})
//
// The guide docs/agent.md of the repository has a chapter on long histories.
//
// What a compactor never does, whatever the history:
//
//   - It parts no call from its result, and leaves out no call without a result.
//   - It changes no system message, and no message of the user or the model: it leaves a turn
//     out as a whole, with its reasoning and the signatures in it, or not at all. It keeps
//     the first message of the user, which has the task, unless that alone is too long; the last one; and the last turn.
//   - It keeps the order.
//   - It does nothing before the history has grown to [Options.Start] of the window. Then it
//     makes room down to [Options.Target], so the beginning of the history, which
//     providers cache, stays the same for many turns. What it has trimmed once stays as it is.
package compact

import (
	"context"

	"github.com/mcpchain/mcpchain/agent/run"
)

// Compactor returns what makes a history shorter, nil if it is short enough. The history is
// at the beginning of a turn. The compactor does not change it, and may be called
// concurrently. With an error the history stays as it is: what is returned then has the
// Usage at most.
type Compactor func(ctx context.Context, messages []run.Message, b Budget) (*Result, error)

// Result replaces the oldest messages of a history with others.
type Result struct {
	Replaced int // how many
	Messages []run.Message
	Usage    run.Spent // of the model that has summarised them
}

// Budget says what is known about the size of a history. The zero value is valid.
type Budget struct {
	// Window is the model's window in tokens, for input and output together. Default:
	// [Options.Window].
	Window int64

	// Tokens is what the provider counted in the last call of the model: the input, and
	// the output without the reasoning that does not go back to the host. It is for the first
	// Messages of the history, the reply included. By it the tokens of other messages are estimated, and what comes with
	// every call: the system prompt and the tools. A compaction makes the count void.
	// Default: what the function [Estimate] returns.
	Tokens   int64
	Messages int

	// Estimate is what the function [Estimate] returns for all messages, from a caller who keeps
	// it while the history grows. A compactor then need not read a history that is short enough.
	// Package agent sets it if the provider has not counted. Default: unknown.
	Estimate int64
}

// Options configure a compactor. Nil and the zero value are valid. A value that is out of
// its range means the default.
type Options struct {
	// Window is the model's window in tokens if [Budget.Window] is unknown. Default
	// 128,000.
	Window int64

	// Start is the part of the window at which the history is made shorter. Default 0.7.
	Start float64

	// Target is the part of the window that the history then may take. Default 0.4, at
	// most Start.
	Target float64

	// Keep is how many turns at the end stay as they are, a turn being a message of the
	// model with the results of its calls. If they alone are over Start, fewer do. Default
	// 4.
	Keep int

	// Result bounds the text of a result in older turns, in bytes. Default 1,024, at
	// least 256.
	Result int
}

const (
	defaultWindow = 128_000
	defaultStart  = 0.7
	defaultTarget = 0.4
	defaultKeep   = 4
	defaultResult = 1024
	minResult     = 256
)

func (o *Options) withDefaults() Options {
	var c Options
	if o != nil {
		c = *o
	}
	if c.Window <= 0 {
		c.Window = defaultWindow
	}
	if !(c.Start > 0 && c.Start <= 1) {
		c.Start = defaultStart
	}
	if !(c.Target > 0 && c.Target <= 1) {
		c.Target = defaultTarget
	}
	c.Target = min(c.Target, c.Start)
	if c.Keep <= 0 {
		c.Keep = defaultKeep
	}
	if c.Result <= 0 {
		c.Result = defaultResult
	}
	c.Result = max(c.Result, minResult)
	return c
}

// Trim drops the media of older results and cuts their texts, and leaves out the oldest
// turns if that is not enough. It never returns an error.
func Trim(o *Options) Compactor {
	opts := o.withDefaults()
	return func(_ context.Context, messages []run.Message, b Budget) (*Result, error) {
		p := newPlan(messages, b, opts)
		if p == nil {
			return nil, nil
		}
		p.make(tokensOf(&note))
		return p.compacted(func() (run.Message, bool) { return note, true }), nil
	}
}

// note stands for what Trim leaves out.
var note = run.Message{Role: run.RoleUser, Parts: []run.Part{{
	Type: run.PartSummary, Text: "[Older messages were left out here to save room.]",
}}}
