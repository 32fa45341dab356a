package ledger

import (
	"github.com/go-json-experiment/json/jsontext"
	"github.com/mcpchain/mcpchain/agent/run"
)

// Amount is an upper bound on what a model call, or a completion for a server, may use.
type Amount struct {
	Tokens int64            `json:"tokens,omitzero"`
	Cost   map[string]int64 `json:"cost,omitempty"` // micro-units by currency

	Unknown jsontext.Value `json:",embed"`
}

func (a Amount) plus(b Amount) Amount {
	s := run.Spent{Total: a.Tokens, Cost: a.Cost}
	s.Add(run.Spent{Total: b.Tokens, Cost: b.Cost})
	return Amount{Tokens: s.Total, Cost: s.Cost}
}

func (a Amount) negative() bool { return a.Tokens < 0 || below(a.Cost) }

// reserved returns what is set aside for the current model call and for completions, including
// those of sub-agents, and how many reservations that is. A call without limits reserves
// nothing.
func (s *State) reserved() (total Amount, n int) {
	if m := s.Model; m != nil && (m.Reserved.Tokens > 0 || len(m.Reserved.Cost) > 0) {
		total, n = m.Reserved, 1
	}
	for _, a := range s.Sampling {
		total = total.plus(a)
		n++
	}
	for _, c := range s.Calls {
		if c.Child != nil {
			below, more := c.Child.reserved()
			total, n = total.plus(below), n+more
		}
	}
	return total, n
}

// Taken returns what counts towards Limits.Tokens and Limits.Cost since the last input: what
// was used, what lost calls may have used, and what is reserved.
func (s *State) Taken() Amount {
	spent := s.Spent.Since(s.Before)
	reserved, _ := s.reserved()
	return Amount{Tokens: spent.Total, Cost: spent.Cost}.plus(Amount{Tokens: spent.LostTokens, Cost: spent.LostCost}).plus(reserved)
}

// lost charges everything that is reserved, because nobody can tell what a lost call has used.
func (s *State) lost() run.Spent {
	reserved, n := s.reserved()
	return run.Spent{Lost: n, LostTokens: reserved.Tokens, LostCost: reserved.Cost}
}

// spendsLess reports whether any count is negative.
func spendsLess(s run.Spent) bool {
	if below(s.Cost) || below(s.LostCost) {
		return true
	}
	least := min(int64(min(s.Turns, s.Calls, s.Sampling.Requests, s.Lost)),
		s.Input, s.Output, s.Total, s.Cached, s.CacheWrite, s.Reasoning, s.Sampling.Tokens, s.LostTokens, s.Rounds, int64(s.Active))
	return least < 0
}

// below reports whether any cost is negative.
func below(costs map[string]int64) bool {
	for _, micro := range costs {
		if micro < 0 {
			return true
		}
	}
	return false
}
