// Package concierge shows how to test an agent. The tests of the agent in this file need no model,
// no key and no server.
//
//	go test -v ./examples/testing
package concierge

import (
	"context"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
)

// Guest reports whether the guest wants a call.
type Guest func(tool, arguments string) bool

// New returns an agent that books tables with the tools of a server. The guest is asked before a table is booked.
func New(model agent.Model, tools adapter.Source, guest Guest) (*agent.Agent, error) {
	return agent.New(model, &agent.Options{
		System: "Book what the guest wants. Be brief.",
		Tools:  []adapter.Source{tools},
		Person: agent.Person{Approve: func(_ context.Context, a *approval.Request) (approval.Decision, error) {
			if a.Definition.Name != "book" || guest(a.Name, string(a.Arguments)) {
				return approval.Decision{Allow: true}, nil
			}
			return approval.Decision{Reason: "the guest does not want it"}, nil
		}},
	})
}
