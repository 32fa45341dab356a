package ledger

import (
	"errors"
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
