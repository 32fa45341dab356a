package ledger

import (
	"errors"
	"maps"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/agent/run"
)

// Reserved sets aside what a completion may take that a server has asked for. [Charged]
// settles it.
type Reserved struct {
	Key    string `json:"key"` // of the reservation
	Amount Amount `json:"amount"`

	Unknown jsontext.Value `json:",embed"`
}

func (*Reserved) kind() string { return "reserved" }

func (c *Reserved) apply(s *State, _ time.Time) error {
	if _, taken := s.Sampling[c.Key]; taken || !utf8.ValidString(c.Key) || c.Amount.negative() {
		return errors.New("it reserves less than nothing, or with a key that is taken or no text")
	}
	open := maps.Clone(s.Sampling)
	if open == nil {
		open = make(map[string]Amount, 1)
	}
	open[c.Key] = c.Amount
	s.Sampling = open
	return nil
}

// Charged adds to what the run has used: time at work, completions for servers.
type Charged struct {
	Spent run.Spent `json:"spent"`

	// Settles is the key of the reservation that ends with it. If the reservation has ended
	// before, nothing is added: what was reserved counts as lost.
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
