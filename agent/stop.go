package agent

import (
	"encoding/json"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// StopReason says why a run ended. For a failed run it is the limit that was reached,
// [record.StopParked] or empty.
type StopReason string

const (
	// StopOutput means that the model gave an answer: it replied without asking for tools, called the
	// tool of a structured output, or an agent that has taken over did so.
	StopOutput StopReason = "answer"

	// StopHook means that a hook ended the run with [StopRun].
	StopHook StopReason = "hook"

	// The other reasons are limits. The model was asked for a final answer without tools.
	StopMaxTurns     StopReason = "max_turns"
	StopMaxToolCalls StopReason = "max_tool_calls"
	StopMaxFailures  StopReason = "max_failures"
	StopMaxTokens    StopReason = "max_tokens"
	StopMaxCost      StopReason = "max_cost"
	StopMaxActive    StopReason = "max_active"
)

// endUnsent ends the calls that no server has received when a hook ended the run, and closes the
// questions about them.
func (t *turn) endUnsent() error {
	if t.rec.stopAnswer() == nil {
		return nil
	}
	unsent := func(c *ledger.Call) bool {
		switch c.At {
		case ledger.CallReady, ledger.CallAsked:
			return true
		case ledger.CallAtSignIn: // the server has not accepted the call
			return c.Task == nil && len(c.Round) == 0
		}
		return false
	}
	for _, c := range t.rec.pending(unsent) {
		if err := t.sender.recordStop(t.tools.job(c), nil); err != nil {
			return err
		}
	}
	return nil
}

// recordStop records that a hook has ended the run instead of making a call.
func (s *sender) recordStop(j *job, answer *string) error {
	result := j.errorResult(notMade, nil)
	part := s.tools.part(j, result)
	end := &ToolEnd{Call: s.tools.recordedCall(j), Part: part, Result: result}
	return s.rec.record([]Event{end}, &ledger.Outcome{Call: j.eventCall.ID, Result: part, Stop: answer})
}

// notMade is the result of a call that was not sent because a hook ended the run.
const notMade = "The call was not made: the run was stopped."

// finishFor ends the run with an answer that did not come from its model. If it is not the structured
// output that the run needs, the run fails.
func (e *engine) finishFor(answer string, why StopReason) error {
	var structured json.RawMessage
	if e.agent.output != nil {
		var err error
		if structured, err = e.parseOutput(answer); err != nil {
			e.handlers.end()
			return e.fail(e.noOutputError(answer))
		}
	}
	if answer == "" {
		return e.finish(answer, structured, why)
	}
	message := run.Text(run.RoleAssistant, answer)
	message.At = e.rec.state.Updated
	if err := e.rec.record(nil, &ledger.Called{}, &ledger.Responded{Message: message}); err != nil {
		return err
	}
	return e.finish(answer, structured, why, &TurnEnd{Messages: []run.Message{message}})
}

// setStop replaces a reply by the answer of a hook.
func (r *reply) setStop(answer string) {
	r.message.Parts, r.calls = nil, nil
	if answer != "" {
		r.message.Parts = []run.Part{{Type: run.PartText, Text: answer}}
	}
	r.stop, r.text = &answer, answer
}

// isReached reports whether n has reached a limit. A negative number is no limit.
func isReached(n, limit int) bool { return limit >= 0 && n >= limit }

// limitNames maps the reasons that are limits to their options.
var limitNames = map[StopReason]string{
	StopMaxTurns:     "Limits.Turns",
	StopMaxToolCalls: "Limits.Calls",
	StopMaxFailures:  "Limits.Failures",
	StopMaxTokens:    "Limits.Tokens",
	StopMaxCost:      "Limits.Cost",
	StopMaxActive:    "Limits.Active",
}

// limit returns the limit that the run has reached, or [StopOutput]. Of the runs above it, only
// Limits.Calls counts: their turns and failures do not include a sub-agent's. Tokens and costs depend
// on the size of the next call, see spendingLimit.
func (a account) limit() StopReason {
	s := a.rec.state
	spent := s.SinceInput()
	switch l := s.Limits; {
	case hasTooManyCalls(s):
		return StopMaxToolCalls
	case isReached(s.Failures, l.Failures):
		return StopMaxFailures
	case isReached(s.Turn-1, l.Turns):
		return StopMaxTurns
	case l.Active > 0 && spent.Active >= l.Active:
		return StopMaxActive
	}
	for above := a.engine.parent; above != nil; above = above.parent {
		isOver := false
		above.rec.read(func(s *ledger.State) { isOver = hasTooManyCalls(s) })
		if isOver {
			return StopMaxToolCalls
		}
	}
	return StopOutput
}

// hasTooManyCalls reports whether the model has asked for more calls than Limits.Calls, so that some did
// not run.
func hasTooManyCalls(s *ledger.State) bool {
	return s.Limits.Calls >= 0 && s.SinceInput().Calls > s.Limits.Calls
}
