// Package mcpchain connects to the servers of an mcp.json and makes agents that use their tools.
//
//	host, err := mcpchain.Open(ctx, "mcp.json", nil)
//	defer host.Close()
//	a, err := host.Agent(model, &agent.Options{System: "Be brief."})
//	result, err := a.Run(ctx, agent.Text("Book a table for 4"))
//
// [Ask] is a complete program in one call: it puts a question to the model, and asks the person at the terminal for
// decisions. [ModelFromEnv] returns the model that the environment names, and [Host.Ask] asks it without an agent of
// your own. The packages below can be used without this one:
//
//   - [github.com/mcpchain/mcpchain/mcpclient], a Model Context Protocol client: every
//     published revision, every transport, authorization, tasks, and all requests that a
//     server may make
//   - [github.com/mcpchain/mcpchain/adapter], the tools of many servers, and Go functions, for
//     agents, langchaingo or your own loop, with schemas for each provider
//   - [github.com/mcpchain/mcpchain/sampling], which answers the sampling requests of
//     servers with any OpenAI-compatible model, within a budget
//   - [github.com/mcpchain/mcpchain/agent], a model that uses tools until it has an answer;
//     its runs wait for people and survive their process
//
// Start from a program under examples: examples/quickstart is the smallest, examples/agent holds a
// conversation. The program cmd/mcpchain is a terminal chat, a web page for several people, a
// service, and an inspector of servers. README.md of the repository links the guides, such as
// docs/agent.md, docs/adapter.md, docs/sampling.md and docs/mcp-json.md.
package mcpchain
