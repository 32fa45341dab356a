package ledger

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/agent/run"
)

// Reserved sets aside the most that a completion for a server may use. [Charged] settles it.
type Reserved struct {
	Key    string `json:"key"` // key of the reservation
	Amount Amount `json:"amount"`

	Unknown jsontext.Value `json:",embed"`
}

func (c *Reserved) apply(s *State, _ time.Time) error {
	if !utf8.ValidString(c.Key) {
		return fmt.Errorf("key %.100q of a reservation is not UTF-8", c.Key)
	}
	if _, isTaken := s.Sampling[c.Key]; isTaken {
		return fmt.Errorf("key %.100q of a reservation is taken", c.Key)
	}
	if c.Amount.isNegative() {
		return fmt.Errorf("reservation %.100q is negative", c.Key)
	}
	s.Sampling = with(s.Sampling, c.Key, c.Amount)
	return nil
}

// Charged adds usage that no other record has: working time, completions for servers, refused replies, failed compactions.
type Charged struct {
	Spent run.Usage `json:"spent"`

	// Settles is the key of the reservation that this charge ends. If the reservation ended
	// earlier, nothing is added: it was counted as lost.
	Settles *string `json:"settles,omitempty"`

	Unknown jsontext.Value `json:",embed"`
}

func (c *Charged) apply(s *State, _ time.Time) error {
	if c.Settles == nil {
		return nil
	}
	s.Sampling = maps.Clone(s.Sampling)
	delete(s.Sampling, *c.Settles)
	if len(s.Sampling) == 0 {
		s.Sampling = nil
	}
	return nil
}

// Sampled is the completion for a sampling request of a round that a person allowed. The server
// gets it when the round continues.
type Sampled struct {
	Call  string          `json:"call"`
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"` // the completion in the form that the server gets

	Unknown jsontext.Value `json:",embed"`
}

func (c *Sampled) apply(s *State, _ time.Time) error {
	call, err := s.call(c.Call, CallInRound)
	if err != nil {
		return err
	}
	if review, ok := call.Reviews[c.Key]; !ok || review.Reply.Action != run.ActionAllow {
		return fmt.Errorf("sampling request %.100q of call %q is not allowed", c.Key, c.Call)
	}
	call.Replies = with(call.Replies, c.Key, c.Value)
	return nil
}

// with adds to a copy of a map, because callers may hold the map.
func with[V any](m map[string]V, key string, value V) map[string]V {
	m = maps.Clone(m)
	if m == nil {
		m = map[string]V{}
	}
	m[key] = value
	return m
}

// Amount is an upper bound on the usage of a model call, or of a completion for a server.
type Amount struct {
	Tokens int64            `json:"tokens,omitzero"`
	Cost   map[string]int64 `json:"cost,omitempty"` // micro-units by currency

	Unknown jsontext.Value `json:",embed"`
}

func (a Amount) plus(b Amount) Amount {
	s := run.Usage{Total: a.Tokens, Cost: a.Cost}
	s.Add(run.Usage{Total: b.Tokens, Cost: b.Cost})
	return Amount{Tokens: s.Total, Cost: s.Cost}
}

func (a Amount) isNegative() bool { return a.Tokens < 0 || hasNegativeCost(a.Cost) }

// reservations returns the sum and the number of the reservations for the current model call and
// for completions, including those of sub-agents. A call without limits reserves nothing.
func (s *State) reservations() (total Amount, n int) {
	if m := s.Model; m != nil && (m.Reserved.Tokens > 0 || len(m.Reserved.Cost) > 0) {
		total, n = m.Reserved, 1
	}
	for _, a := range s.Sampling {
		total = total.plus(a)
		n++
	}
	for _, c := range s.Calls {
		if c.Child != nil {
			amount, count := c.Child.reservations()
			total = total.plus(amount)
			n += count
		}
	}
	return total, n
}

// Taken returns the amount that counts towards Limits.Tokens and Limits.Cost since the last input:
// the usage, the possible usage of lost calls, and the reservations.
func (s *State) Taken() Amount {
	spent := s.SinceInput()
	used := Amount{Tokens: spent.Total, Cost: spent.Cost}
	lost := Amount{Tokens: spent.LostTokens, Cost: spent.LostCost}
	reserved, _ := s.reservations()
	return used.plus(lost).plus(reserved)
}

// SinceInput returns the usage since the last input.
func (s *State) SinceInput() run.Usage {
	used, earlier := s.Spent, s.Before
	used.Turns -= earlier.Turns
	used.Calls -= earlier.Calls
	used.Input -= earlier.Input
	used.Output -= earlier.Output
	used.Total -= earlier.Total
	used.Cached -= earlier.Cached
	used.CacheWrite -= earlier.CacheWrite
	used.Reasoning -= earlier.Reasoning
	used.Sampling.Requests -= earlier.Sampling.Requests
	used.Sampling.Tokens -= earlier.Sampling.Tokens
	used.Active -= earlier.Active
	used.RoundBytes -= earlier.RoundBytes
	used.Lost -= earlier.Lost
	used.LostTokens -= earlier.LostTokens
	used.Cost = minus(used.Cost, earlier.Cost)
	used.LostCost = minus(used.LostCost, earlier.LostCost)
	return used
}

// minus returns the difference of costs. It does not modify its arguments, which may be shared.
func minus(costs, part map[string]int64) map[string]int64 {
	if len(part) == 0 {
		return costs
	}
	rest := make(map[string]int64, len(costs)+len(part))
	maps.Copy(rest, costs)
	for currency, micro := range part {
		rest[currency] -= micro
	}
	return rest
}

// reservationsAsLost returns all reservations as lost, because the usage of a lost call is unknown.
func (s *State) reservationsAsLost() run.Usage {
	reserved, n := s.reservations()
	return run.Usage{Lost: n, LostTokens: reserved.Tokens, LostCost: reserved.Cost}
}

func hasNegative(s run.Usage) bool {
	if hasNegativeCost(s.Cost) || hasNegativeCost(s.LostCost) {
		return true
	}
	return min(s.Turns, s.Calls, s.Sampling.Requests, s.Lost) < 0 || s.Active < 0 ||
		min(s.Input, s.Output, s.Total, s.Cached, s.CacheWrite, s.Reasoning) < 0 ||
		min(s.Sampling.Tokens, s.LostTokens, s.RoundBytes) < 0
}

func hasNegativeCost(costs map[string]int64) bool {
	for _, micro := range costs {
		if micro < 0 {
			return true
		}
	}
	return false
}
