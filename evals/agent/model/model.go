package model

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/evals/agent/tape"
)

// Spec says which model trials use. It is data, so that another process can make the same one.
type Spec struct {
	Kind string `json:"kind"` // one of Kinds

	// Of a live model, and of a recorded one for the results.
	Name    string `json:"name,omitempty"`
	BaseURL string `json:"base_url,omitempty"`
	KeyEnv  string `json:"key_env,omitempty"` // the environment variable that has the key

	// How a live model is asked, as openaimodel.Options say.
	API       string                     `json:"api,omitempty"`
	Host      string                     `json:"host,omitempty"`
	Effort    string                     `json:"effort,omitempty"`
	MaxTokens int                        `json:"max_tokens,omitempty"`
	Extra     map[string]json.RawMessage `json:"extra,omitempty"`

	// Cassette is the directory that live models are recorded to, and recorded ones read. Servers
	// that trials reach by Command, NPM or Dial are recorded, too.
	Cassette string `json:"cassette,omitempty"`
	Record   bool   `json:"record,omitempty"`
	Servers  bool   `json:"servers,omitempty"` // of a recorded model: the servers are the recorded ones

	Tape string `json:"tape,omitempty"` // the hash of what the cassette has, see [Spec.Open]
	Seed uint64 `json:"seed,omitempty"` // of random
}

// Kinds are the kinds of models.
var Kinds = []string{"scripted", "recorded", "live", "oracle", "keyword", "random"}

// Mode is the mode of trials with the model.
func (s Spec) Mode() results.Mode {
	switch s.Kind {
	case "scripted":
		return results.Scripted
	case "recorded":
		return results.Recorded
	case "live":
		return results.Live
	}
	return results.Baseline
}

// String is the name of the model in results.
func (s Spec) String() string {
	if s.Name != "" {
		return s.Name
	}
	return s.Kind
}

// Hash identifies the model and its settings.
func (s Spec) Hash() string {
	s.KeyEnv, s.Cassette, s.Record = "", "", false
	data, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings and a number
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// Check returns what is wrong with the spec.
func (s Spec) Check() error {
	if !slices.Contains(Kinds, s.Kind) {
		return fmt.Errorf("there is no model %q; use one of %q", s.Kind, Kinds)
	}
	if s.Kind == "live" && (s.Name == "" || s.BaseURL == "") {
		return errors.New("a live model has a name and a base URL")
	}
	switch {
	case s.Record && s.Kind != "live":
		return errors.New("what is recorded is a live model")
	case s.Servers && s.Kind != "recorded":
		return errors.New("recorded servers go with a recorded model")
	case (s.Kind == "recorded" || s.Record) && s.Cassette == "":
		return errors.New("a recorded model has a directory of cassettes")
	}
	return nil
}

// Open returns the spec with what its cassette says of the model: its name and its endpoint. For a
// recording it begins the cassette, or goes on with it.
func (s Spec) Open(suites []*suite.Suite) (Spec, error) {
	if s.Record {
		l := &tape.Label{Model: s.Name, BaseURL: s.BaseURL, Date: time.Now().UTC(), Suites: map[string]string{}}
		for _, of := range suites {
			l.Suites[of.Name] = of.Hash()
		}
		return s, tape.Begin(s.Cassette, l)
	}
	if s.Kind != "recorded" {
		return s, nil
	}
	l, hash, err := tape.Read(s.Cassette)
	if err != nil {
		return s, err
	}
	for _, of := range suites {
		if _, ok := l.Suites[of.Name]; !ok {
			return s, fmt.Errorf("%w: nothing of the suite %q is in %s", tape.ErrMiss, of.Name, s.Cassette)
		}
	}
	s.Name, s.BaseURL, s.Tape = l.Model, l.BaseURL, hash
	return s, nil
}

// ErrInfra matches errors of a model's endpoint: they say nothing of the agent.
var ErrInfra = errors.New("the endpoint of the model failed")
