package agent

import (
	"cmp"
	"errors"
	"fmt"
	"maps"

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

// The default limits of a run.
const (
	defaultTurns     = 20
	defaultCalls     = 100
	defaultFailures  = 5
	defaultParallel  = 8
	defaultQuestions = 100
	defaultDepth     = 4
)

// withDefaults returns a copy in which the limits that are 0 have their defaults. A negative number
// means no limit, except where a run needs one: that is an error, and so are a negative cost and a
// depth that no run can have.
func withDefaults(l run.Limits) (run.Limits, error) {
	l.Turns = cmp.Or(l.Turns, defaultTurns)
	l.Calls = cmp.Or(l.Calls, defaultCalls)
	l.Failures = cmp.Or(l.Failures, defaultFailures)
	l.Parallel = cmp.Or(l.Parallel, defaultParallel)
	l.Questions = cmp.Or(l.Questions, defaultQuestions)
	l.Depth = cmp.Or(l.Depth, defaultDepth)
	if l.Parallel < 0 || l.Depth < 0 {
		return l, errors.New("Limits.Parallel and Limits.Depth must be positive, or 0 for their defaults")
	}
	if l.Depth > ledger.MaxDepth {
		return l, fmt.Errorf("Limits.Depth is %d, and may be %d at most", l.Depth, ledger.MaxDepth)
	}
	l.Active, l.Tokens = max(l.Active, 0), max(l.Tokens, 0)
	l.Cost = maps.Clone(l.Cost)
	for currency, micro := range l.Cost {
		if micro < 0 {
			return l, fmt.Errorf("Limits.Cost of %q is %d; give a positive value, or 0 for no cost at all", currency, micro)
		}
	}
	return l, nil
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
	spent := s.Spent.Since(s.Before)
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
	return s.Limits.Calls >= 0 && s.Spent.Since(s.Before).Calls > s.Limits.Calls
}
