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

// MaxOffered bounds the tools that a run adds to those its model is offered. Providers take 128
// at most.
const MaxOffered = 100

// Discovery is how the model of a run finds the tools of its agent.
type Discovery string

// The zero value means that the model is offered all tools from the start.
const (
	DiscoveryNone     Discovery = ""
	DiscoveryNative   Discovery = "native" // the model searches, and gets what it finds as tools of their own
	DiscoveryCall     Discovery = "call"   // the model searches, and calls what it finds through one tool
	DiscoveryProvider Discovery = "host"   // as native, or by the provider: the results of the search include the tools
)

// Offered adds tools, in order, after those that were added before. The first may set how the
// model finds the others.
type Offered struct {
	Discovery Discovery     `json:"discovery,omitzero"` // empty: unchanged
	Directory string        `json:"directory,omitzero"` // with Discovery: the overview of tools that the model gets
	Tools     []OfferedTool `json:"tools,omitempty"`    // tools that were not added before

	Unknown jsontext.Value `json:",embed"`
}

// OfferedTool identifies a tool across processes.
type OfferedTool struct {
	Server string `json:"server,omitzero"` // the host's label
	Tool   string `json:"tool"`            // the server's name for it
	Def    string `json:"def,omitzero"`    // fingerprint of the definition that was added
	Name   string `json:"name"`            // the model's name for it, unique in the run
	Listed bool   `json:"listed,omitzero"` // offered as a tool of its own even if the others are called through one tool

	Unknown jsontext.Value `json:",embed"`
}

func (c *Offered) apply(s *State, _ time.Time) error {
	if c.Discovery != DiscoveryNone {
		if s.Discovery != DiscoveryNone {
			return fmt.Errorf("model has the tools by %q already", s.Discovery)
		}
		s.Discovery, s.Directory = c.Discovery, c.Directory
	}
	for i := range c.Tools {
		t := &c.Tools[i]
		isSame := func(o OfferedTool) bool { return o.Server == t.Server && o.Tool == t.Tool }
		if slices.ContainsFunc(s.Offered, isSame) {
			continue
		}
		if t.Tool == "" || t.Name == "" || !utf8.ValidString(t.Name) {
			return errors.New("tool has no name, or a name that is not text")
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

// CalledAs returns the name in the model's call with that id, or name if there is no such call.
// The two differ if tools are called through one tool.
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
