// Package model has the models that trials use: scripted, recorded, and live.
package model

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/evals/agent/tape"
	"github.com/mcpchain/mcpchain/internal/models"
)

// Spec specifies which model trials use.
type Spec struct {
	Mode results.Mode `json:"mode"`

	// Endpoint is the model of the modes live and demo; in the mode recorded it is only for the
	// results. Its key is not in the hash.
	Endpoint models.Model `json:"endpoint"`

	// Cassette is the directory to which models are recorded, and from which recorded ones are
	// played. Servers that trials reach by Command or Dial are recorded, too.
	Cassette string `json:"cassette,omitempty"`
	Record   bool   `json:"record,omitempty"`
	Servers  bool   `json:"servers,omitempty"` // also play the servers, in the mode recorded

	Tape string    `json:"tape,omitempty"` // hash of the cassette's content, see [Spec.Open]
	Info tape.Info `json:"info,omitzero"`  // info of a recorded model
}

// String returns the name of the model in results.
func (s Spec) String() string { return cmp.Or(s.Endpoint.Name, string(s.Mode)) }

// Hash identifies the model, its settings, and the content of its cassette.
func (s Spec) Hash() string {
	s.Endpoint.Key, s.Cassette, s.Record, s.Info = "", "", false, tape.Info{}
	if s.Mode == results.Demo { // regardless of its port
		s.Endpoint.BaseURL = ""
	}
	return suite.Hash(s)
}

// Check returns an error for an invalid spec.
func (s Spec) Check() error {
	asks := s.Mode == results.Live || s.Mode == results.Demo
	switch {
	case !asks && s.Mode != results.Scripted && s.Mode != results.Recorded:
		return fmt.Errorf("there is no mode %q", s.Mode)
	case asks && s.Endpoint.Name == "":
		return errors.New("a live model has a name")
	case s.Record && !asks:
		return errors.New("only a model that is asked can be recorded")
	case s.Servers && s.Mode != results.Recorded:
		return errors.New("recorded servers go with a recorded model")
	case (s.Mode == results.Recorded || s.Record) && s.Cassette == "":
		return errors.New("a recorded model has a directory of cassettes")
	}
	return nil
}

// Open completes the spec with the description of the model in its cassette. For a recording it
// creates the cassette, or continues one.
func (s Spec) Open(suites []*suite.Suite) (Spec, error) {
	if s.Record {
		m, err := s.Endpoint.Open(nil)
		if err != nil {
			return s, err
		}
		l := &tape.Label{
			Model:   s.Endpoint.Name,
			BaseURL: s.Endpoint.BaseURL,
			Info:    tape.InfoOf(m.Info()),
			Date:    time.Now().UTC(),
			Suites:  map[string]string{},
		}
		for _, current := range suites {
			l.Suites[current.Name] = current.Hash()
		}
		return s, tape.Begin(s.Cassette, l)
	}
	if s.Mode != results.Recorded {
		return s, nil
	}
	l, hash, err := tape.Read(s.Cassette)
	if err != nil {
		return s, err
	}
	for _, current := range suites {
		if _, ok := l.Suites[current.Name]; !ok {
			return s, fmt.Errorf("%w: nothing of the suite %q is in %s", tape.ErrMiss, current.Name, s.Cassette)
		}
	}
	s.Endpoint.Name, s.Endpoint.BaseURL, s.Info, s.Tape = l.Model, l.BaseURL, l.Info, hash
	return s, nil
}

// ErrInfra matches errors of a model's endpoint, which say nothing about the agent.
var ErrInfra = errors.New("the endpoint of the model failed")
