// Package compact keeps the history of a run within the window of its model.
//
// A [Compactor] is a pure function of the history: it returns the messages that replace the oldest
// ones. Package agent calls it before each model call and records the result, so that a run
// continues in the same way after a crash.
//
// [Trim] needs no model. It removes images and audio from the results of older tool calls, and shortens
// their texts to beginning and end; the handle with which the model can read the rest stays. If that is
// not enough, it leaves out the oldest turns. [Summarize] replaces those turns by a summary.
//
//	a, err := agent.New(model, &agent.Options{
//		Compact: compact.Trim(&compact.Options{KeepTurns: 8}),
//	})
//
// The guide docs/agent.md of the repository has a chapter on long histories.
//
// The compactors of this package guarantee:
//
//   - A call and its result stay together, and a call without a result is never left out.
//   - System messages, and messages of the user and the model, are never rewritten, only left out
//     as whole turns, including reasoning and its signatures. The first message of the user, which
//     has the task, is kept unless it alone is too long; so are the last one and the last turn.
//   - The order of messages stays the same.
//   - The history is left alone until it reaches 0.7 of the window. It is then shortened to 0.4 of
//     the window, so that its beginning, which providers cache, stays the same for many turns. What was
//     trimmed once does not change again.
package compact

import (
	"cmp"
	"context"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/price"
)

// A Compactor returns a replacement for the oldest messages of a history, or nil if the history is short
// enough. It is called at the beginning of a turn, possibly concurrently, and does not modify the
// history. If it returns an error the history stays as it is, and only Usage of the result counts.
type Compactor func(ctx context.Context, messages []run.Message, b Budget) (*Result, error)

// Result replaces the oldest messages of a history.
type Result struct {
	Replaced int           // number of the oldest messages that Messages replace
	Messages []run.Message // may share memory with the history
	Usage    run.Usage     // what the model that summarized them used
}

// Budget describes the size of a history. The zero value is valid.
type Budget struct {
	// Window is the model's window in tokens, for input and output together. Default: [Options.Window].
	Window int64

	// Tokens is the size of the history with what every call sends: the system prompt and the tools. It
	// comes from the provider's count of the last call, and an estimate of what has followed. A
	// compaction invalidates the count. Default: the result of [Estimate].
	Tokens int64
}

// Options configure a compactor. Nil and the zero value are valid. A value that is out of range
// means the default, because a compactor has no way to refuse one.
type Options struct {
	// Window is the model's window in tokens, in case [Budget.Window] is unknown; it does not lower a
	// known one. Default 128,000.
	Window int64

	// KeepTurns is how many turns at the end are kept as they are; a turn is a message of the model
	// with the results of its calls. If they alone exceed 0.7 of the window, fewer are kept. Default 4.
	KeepTurns int

	// Prompt is the system prompt of [Summarize]. The default asks for wishes, decisions, facts, names, what was done
	// and what is open.
	Prompt string

	// Prices determine the cost of the calls of [Summarize]. Default: unknown.
	Prices *price.Table
}

const (
	defaultWindow = 128_000
	startShare    = 0.7 // fraction of the window at which the history is shortened
	targetShare   = 0.4 // fraction of the window that a shortened history fills
	defaultKeep   = 4
	maxResult     = 1024 // bytes of the text of an older result
)

func (o *Options) withDefaults() Options {
	c := *cmp.Or(o, new(Options))
	if c.Window <= 0 {
		c.Window = defaultWindow
	}
	if c.KeepTurns <= 0 {
		c.KeepTurns = defaultKeep
	}
	c.Prompt = cmp.Or(c.Prompt, summaryPrompt)
	return c
}

// Trim returns a compactor that removes the media of older results and shortens their texts,
// and if that is not enough leaves out the oldest turns. It never returns an error.
func Trim(opts *Options) Compactor {
	o := opts.withDefaults()
	return func(_ context.Context, messages []run.Message, b Budget) (*Result, error) {
		p := newPlan(messages, b, o)
		if p == nil {
			return nil, nil
		}
		note := summaryMessage("[Older messages were left out here to save room.]")
		p.decide(tokensOf(&note))
		return p.carryOut(note), nil
	}
}

// summaryMessage returns a message in place of what is left out.
func summaryMessage(text string) run.Message {
	return run.Message{Role: run.RoleUser, Parts: []run.Part{{Type: run.PartSummary, Text: text}}}
}
