package ledger

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/agent/run"
)

// MaxOffered bounds the tools that a run adds to what its model is offered: providers take 128 at most.
const MaxOffered = 100

// Discovery says how the model of a run gets at the tools of its agent.
type Discovery string

// Without discovery a model is offered all tools from the beginning.
const (
	DiscoveryNone   Discovery = ""
	DiscoveryNative Discovery = "native" // it searches, and what it finds is offered as tools of its own
	DiscoveryCall   Discovery = "call"   // it searches, and calls what it finds by one tool
	DiscoveryHost   Discovery = "host"   // as native, and its host gets what it finds in the results of searches, if it takes that
)

// Offered adds tools to those that the model is offered, in their order, after all that were added before. The first
// one may say how the model gets at the others.
type Offered struct {
	Discovery Discovery     `json:"discovery,omitzero"` // empty: as before
	Directory string        `json:"directory,omitzero"` // with Discovery: what the model is told of the tools that there are
	Tools     []OfferedTool `json:"tools,omitempty"`    // those that are offered already are left out

	Unknown jsontext.Value `json:",embed"`
}

// OfferedTool is a tool as the run knows it, in any process.
type OfferedTool struct {
	Server string `json:"server,omitzero"` // the host's label
	Tool   string `json:"tool"`            // the server's name of it
	Def    string `json:"def,omitzero"`    // fingerprint of the definition that was added
	Name   string `json:"name"`            // by which the model knows it, and no other tool of the run
	Listed bool   `json:"listed,omitzero"` // it is a tool of its own also where others are called by one

	Unknown jsontext.Value `json:",embed"`
}

func (*Offered) kind() string { return "offered" }

func (c *Offered) apply(s *State, _ time.Time) error {
	if c.Discovery != DiscoveryNone {
		if s.Discovery != DiscoveryNone {
			return fmt.Errorf("the model has the tools by %q already", s.Discovery)
		}
		s.Discovery, s.Directory = c.Discovery, c.Directory
	}
	for i := range c.Tools {
		t := &c.Tools[i]
		if slices.ContainsFunc(s.Offered, func(o OfferedTool) bool { return o.Server == t.Server && o.Tool == t.Tool }) {
			continue
		}
		if t.Tool == "" || t.Name == "" || !utf8.ValidString(t.Name) {
			return errors.New("a tool has no name, or a name that is not text")
		}
		if slices.ContainsFunc(s.Offered, func(o OfferedTool) bool { return o.Name == t.Name }) {
			return fmt.Errorf("two tools have the name %q", t.Name)
		}
		if len(s.Offered) >= MaxOffered {
			return fmt.Errorf("more than %d tools are added", MaxOffered)
		}
		s.Offered = append(s.Offered, *t)
	}
	return nil
}

// OfferedTool returns the tool that was added under a name, nil if there is none.
func (s *State) OfferedTool(name string) *OfferedTool {
	for i := range s.Offered {
		if s.Offered[i].Name == name {
			return &s.Offered[i]
		}
	}
	return nil
}

// CalledAs is the name in the model's call of the present turn with that id, or else the given one: where all tools are called by one
// it is not that of the tool.
func (s *State) CalledAs(id, name string) string {
	if len(s.History) == 0 {
		return name
	}
	for _, p := range s.History[len(s.History)-1].Parts {
		if p.Type == run.PartCall && p.ID == id {
			return p.Name
		}
	}
	return name
}
