package agent

import (
	"slices"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/doubttext"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// How often a call is sent with the same key: by one process whose connection breaks, and in
// total by processes that die while it is in progress.
const (
	maxResends = 5
	maxTries   = 32
)

// unknownOutcome tells a model about a call in doubt.
const unknownOutcome = "It is " + doubttext.Unknown + ": the work on it ended before its result came. " +
	"Check before you repeat it."

// resolveDoubt resolves a call that was sent and has no outcome, because its process or its
// connection has ended. It is sent again only if that is safe.
func resolveDoubt(t *turn, c *ledger.Call) (func() error, error) {
	j := t.tools.job(c)
	if j.err == nil && c.Tries < maxTries && j.isRepeatable() {
		return t.sendAgain(c)
	}
	if t.agent.opts.Durable.AskInDoubt {
		return nil, t.questions.add(&run.Question{
			Kind: run.QuestionDoubt, Call: c.ID, Server: c.Server, Tool: c.Name,
			Arguments: c.Args, Tries: c.Tries, Sent: c.Sent, Survives: true,
		})
	}
	return nil, t.sender.recordOutcome(j, j.errorResult(unknownOutcome, nil), 0)
}

// isRepeatable reports whether the call can be sent again without doing anything twice.
func (j *job) isRepeatable() bool {
	t := j.call.Tool()
	return t.Repeatable() || t.HonoursKeys()
}

// applyDoubtReply applies a person's reply about a call in doubt: it is sent again, has the result that
// the person knows, or remains without one. A reply that no person gave leaves the outcome unknown.
func applyDoubtReply(t *turn, c *ledger.Call) (func() error, error) {
	if c.Reply == nil {
		return nil, nil
	}
	j := t.tools.job(c)
	switch c.Reply.Action {
	case run.ActionNotRun:
		return t.sendAgain(c)
	case run.ActionKnown:
		return nil, t.sender.recordOutcome(j, &adapter.Result{Call: j.asked, Text: c.Reply.Reason}, 0)
	}
	text := "The user says that the call ran. Its result is lost."
	if c.Reply.By == "" && c.Reply.Reason == noReplyInTime {
		text = unknownOutcome
	}
	return nil, t.sender.recordOutcome(j, j.errorResult(text, nil), 0)
}

// unpark makes a call again if its questions are answered. No call is parked any more, but a store may have
// one: its server was told that the person cancelled, and gets the replies when it asks again.
func unpark(t *turn, c *ledger.Call) (func() error, error) {
	hasOpen := false
	t.rec.read(func(s *ledger.State) {
		hasOpen = slices.ContainsFunc(s.Questions, func(q *run.Question) bool { return q.Call == c.ID })
	})
	if hasOpen {
		return nil, nil
	}
	return t.sendAgain(c)
}
