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
	call.reply(c.Key, c.Value)
	return nil
}

// reply adds a reply to the round. It copies the map, which callers may hold.
func (c *Call) reply(key string, value json.RawMessage) {
	replies := maps.Clone(c.Replies)
	if replies == nil {
		replies = map[string]json.RawMessage{}
	}
	replies[key] = value
	c.Replies = replies
}

// review adds a person's decision about a sampling request. It copies the map, which callers
// may hold.
func (c *Call) review(q *run.Question, reply run.Reply) {
	reviews := maps.Clone(c.Reviews)
	if reviews == nil {
		reviews = map[string]Review{}
	}
	reviews[q.Key] = NewReview(q, reply)
	c.Reviews = reviews
}

// NewReview returns what a reply to a question about sampling allows.
func NewReview(q *run.Question, a run.Reply) Review {
	r := Review{Reply: a, Sampling: q.Sampling, Model: q.Model}
	if edited, err := a.Sampled(); err == nil && edited != nil {
		r.Sampling = edited
	}
	return r
}
