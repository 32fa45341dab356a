// Package concierge is a lesson about tests of agents: the agent is in this file, and its
// tests need no model, no key and no server program.
//
//	go test -v ./examples/testing
package concierge

import (
	"context"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
)

// Guest is true if the guest wants a call.
type Guest func(tool, arguments string) bool

// New is an agent that books tables with the tools of a server. The guest is asked before
// a tool books.
func New(model agent.Model, tools adapter.Source, guest Guest) (*agent.Agent, error) {
	return agent.New(model, &agent.Options{
		System: "Book what the guest wants. Be brief.",
		Tools:  []adapter.Source{tools},
		Person: agent.Person{Approve: func(_ context.Context, a *approval.Request) (approval.Decision, error) {
			if a.Definition.Name != "book" || guest(a.Name, string(a.Arguments)) {
				return approval.Allow(), nil
			}
			return approval.Deny("the guest does not want it"), nil
		}},
	})
}
