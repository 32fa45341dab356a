package adapter

import (
	"github.com/tmc/langchaingo/llms"
)

// Profile says for which provider schemas are written.
type Profile int

const (
	// Plain is the schema as the server wrote it. A root that has no type or no
	// properties gets them, because several providers refuse it otherwise.
	Plain Profile = iota

	profileCount
)

// definitions are the tools of a catalog for one profile.
type definitions struct {
	tools []llms.Tool
}

// define writes the definitions of tools.
func define(all []*Tool, p Profile) *definitions {
	d := &definitions{tools: make([]llms.Tool, len(all))}
	for i, tool := range all {
		d.tools[i] = llms.Tool{Type: "function", Function: &llms.FunctionDefinition{
			Name:        tool.name,
			Description: tool.summary(),
			Parameters:  tool.parameters,
		}}
	}
	return d
}
