package run

import (
	"maps"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Limits bound a run from one input to its output, including sub-agents and completions for
// servers. 0 means the default. A negative number means no limit, except in Parallel, Depth and
// Cost, where package agent refuses it.
type Limits struct {
	Turns     int `json:"turns,omitzero"`    // model calls with tools; default 20
	Calls     int `json:"calls,omitzero"`    // tool calls that the model asks for, failed ones included; default 100
	Failures  int `json:"failures,omitzero"` // consecutive turns in which every call failed or was denied; default 5
	Parallel  int `json:"parallel,omitzero"` // concurrent tool calls; default 8
	Questions int `json:"asks,omitzero"`     // open questions; default 100; beyond it the run fails

	// Depth bounds the nesting of sub-agents, and of runs started by tool calls. Default 4, at most
	// 32.
	Depth int `json:"depth,omitzero"`

	// Tokens bounds the input and output of all model calls, reservations included. Default: no
	// limit.
	Tokens int64 `json:"tokens,omitzero"`

	// Cost has limits in micro-units by currency, such as {"USD": 500000}. An entry of 0 is a limit,
	// too. Default: no limit.
	Cost map[string]int64 `json:"cost,omitempty"`

	// Active bounds the time in model and tool calls, without the time in which the run waits for a
	// person. Default: no limit.
	Active time.Duration `json:"active_ns,omitzero"`

	Unknown jsontext.Value `json:",embed"` // members of a later version
}

// Usage is the usage of a run.
type Usage struct {
	Turns int `json:"turns,omitzero"` // model calls
	Calls int `json:"calls,omitzero"` // tool calls that the model asked for

	Input      int64 `json:"input,omitzero"` // tokens
	Output     int64 `json:"output,omitzero"`
	Total      int64 `json:"total,omitzero"`
	Cached     int64 `json:"cached,omitzero"`      // part of Input: read from a cache
	CacheWrite int64 `json:"cache_write,omitzero"` // part of Input: written to a cache
	Reasoning  int64 `json:"reasoning,omitzero"`   // part of Output

	Cost map[string]int64 `json:"cost,omitempty"` // micro-units by currency

	// Sampling is the part of the tokens and costs that completions for servers have used.
	Sampling struct {
		Requests int   `json:"requests,omitzero"`
		Tokens   int64 `json:"tokens,omitzero"`

		Unknown jsontext.Value `json:",embed"` // members of a later version
	} `json:"sampling,omitzero"`

	Active time.Duration `json:"active_ns,omitzero"` // counted if Limits.Active is set; includes the calls of sub-agents

	RoundBytes int64 `json:"rounds,omitzero"` // bytes of questions and state that servers made the run store

	// Lost counts model calls and completions whose outcome is unknown, because their process
	// died or because they failed after tokens were reserved. LostTokens and LostCost are what
	// was reserved for them and may have been used. Limits include them; the other counts do
	// not.
	Lost       int              `json:"lost,omitzero"`
	LostTokens int64            `json:"lost_tokens,omitzero"`
	LostCost   map[string]int64 `json:"lost_cost,omitempty"` // micro-units by currency

	Unknown jsontext.Value `json:",embed"` // members of a later version
}

// Add adds the usage of another run, or of another part of this one. A sum that would overflow
// is the larger of the two values.
func (s *Usage) Add(o Usage) {
	s.Turns = sum(s.Turns, o.Turns)
	s.Calls = sum(s.Calls, o.Calls)
	s.Input = sum(s.Input, o.Input)
	s.Output = sum(s.Output, o.Output)
	s.Total = sum(s.Total, o.Total)
	s.Cached = sum(s.Cached, o.Cached)
	s.CacheWrite = sum(s.CacheWrite, o.CacheWrite)
	s.Reasoning = sum(s.Reasoning, o.Reasoning)
	s.Sampling.Requests = sum(s.Sampling.Requests, o.Sampling.Requests)
	s.Sampling.Tokens = sum(s.Sampling.Tokens, o.Sampling.Tokens)
	s.Active = sum(s.Active, o.Active)
	s.RoundBytes = sum(s.RoundBytes, o.RoundBytes)
	s.Lost = sum(s.Lost, o.Lost)
	s.LostTokens = sum(s.LostTokens, o.LostTokens)
	s.Cost = plus(s.Cost, o.Cost)
	s.LostCost = plus(s.LostCost, o.LostCost)
}

// plus returns the sum of costs. It does not modify its arguments, which may be shared.
func plus(costs, more map[string]int64) map[string]int64 {
	if len(more) == 0 {
		return costs
	}
	total := make(map[string]int64, len(costs)+len(more))
	maps.Copy(total, costs)
	for currency, micro := range more {
		total[currency] = sum(total[currency], micro)
	}
	return total
}

// sum returns a + b, or the larger of the two on overflow.
func sum[T int | int64 | time.Duration](a, b T) T {
	if b > 0 && a+b < a {
		return max(a, b)
	}
	return a + b
}
