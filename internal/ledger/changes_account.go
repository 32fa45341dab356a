package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/agent/run"
)

// Reserved sets aside the most that a completion for a server may use. [Charged] settles it.
type Reserved struct {
	Key    string `json:"key"` // of the reservation
	Amount Amount `json:"amount"`

	Unknown jsontext.Value `json:",embed"`
}

func (*Reserved) kind() string { return "reserved" }

func (c *Reserved) apply(s *State, _ time.Time) error {
	if _, taken := s.Sampling[c.Key]; taken || !utf8.ValidString(c.Key) || c.Amount.negative() {
		return errors.New("it reserves less than nothing, or with a key that is taken or is not text")
	}
	s.Sampling = with(s.Sampling, c.Key, c.Amount)
	return nil
}

// Charged adds to the usage of the run: working time, and completions for servers.
type Charged struct {
	Spent run.Spent `json:"spent"`

	// Settles is the key of the reservation that this charge ends. If the reservation ended
	// earlier, nothing is added: it was counted as lost.
	Settles *string `json:"settles,omitempty"`

	Unknown jsontext.Value `json:",embed"`
}

func (*Charged) kind() string { return "charged" }

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

// Sampled is a completion that a person allowed, for a question of a round. The server gets it
// when the round continues.
type Sampled struct {
	Call  string          `json:"call"`
	Key   string          `json:"key"`
	Value json.RawMessage `json:"value"` // in the form that the server gets

	Unknown jsontext.Value `json:",embed"`
}

func (*Sampled) kind() string { return "sampled" }

func (c *Sampled) apply(s *State, _ time.Time) error {
	call, err := s.call(c.Call, CallInRound)
	if err != nil {
		return err
	}
	if review, ok := call.Reviews[c.Key]; !ok || review.Reply.Action != run.ActionAllow {
		return fmt.Errorf("call %q has no sampling request %.100q that is allowed", c.Call, c.Key)
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

// NewReview returns what a reply to a question about sampling allows.
func NewReview(q *run.Question, a run.Reply) Review {
	r := Review{Reply: a, Sampling: q.Sampling, Model: q.Model}
	if edited, err := a.Sampled(); err == nil && edited != nil {
		r.Sampling = edited
	}
	return r
}

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
