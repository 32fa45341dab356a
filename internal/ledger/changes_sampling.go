package ledger

import (
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/agent/run"
)

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
