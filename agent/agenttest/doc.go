// Package agenttest tests agents without a language model or a server program: a [Model] plays a
// script and remembers its turns, and a [Server] is an MCP server of Go functions in the same
// process.
//
//	model := agenttest.Play(
//		agenttest.CallTools(agenttest.ToolCall{Tool: "weather", Arguments: `{"city":"Oslo"}`}),
//		agenttest.Say("It rains in Oslo."),
//	)
//	a, err := agent.New(model, &agent.Options{Tools: []adapter.Source{toolset}})
//	…
//	result, err := a.Run(ctx, agent.Text("How is the weather in Oslo?"))
//
// The guide docs/agent.md of the repository has a chapter on tests, and examples/testing is a
// test of a whole agent.
package agenttest
