package adapter

import (
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/schema/rewrite"
)

// definitions are the definitions of tools for one profile.
type definitions struct {
	tools   []llms.Tool
	wrapped []bool // by tool: its arguments are wrapped in one property
	changes []profile.Change
}

// define returns the definitions of tools.
func define(all []*Tool, p profile.Profile) *definitions {
	d := &definitions{tools: make([]llms.Tool, len(all)), wrapped: make([]bool, len(all))}
	rooms := map[*policy]*rewrite.Room{} // by server
	for i, tool := range all {
		if rooms[tool.policy] == nil {
			rooms[tool.policy] = &rewrite.Room{}
		}
		written := tool.input.For(p, rooms[tool.policy])
		function := &llms.FunctionDefinition{
			Name: tool.name, Description: tool.summary(), Parameters: written.Parameters, Strict: written.Strict,
		}
		if p == profile.Gemini || p == profile.GoogleAI {
			function.Parameters = written.Root
		}
		d.tools[i] = llms.Tool{Type: "function", Function: function}
		d.wrapped[i] = written.Wrapped
		for _, c := range written.Changes {
			c.Tool = tool.name
			d.changes = append(d.changes, c)
		}
	}
	return d
}
