// Package mcpchain is the front door of a module for Go agents that use MCP servers: an mcp.json becomes servers, their
// tools an agent, in two calls.
//
//	host, err := mcpchain.Open(ctx, "mcp.json", nil)
//	defer host.Close()
//	a, err := host.Agent(model, &agent.Options{System: "Be brief."})
//	result, err := a.Run(ctx, agent.Text("Book a table for 4"))
//
// [Ask] is a whole program in one call, for a question at a terminal. With the model of the environment, [Host.Ask] needs no agent,
// [Host.Model] serves langchaingo's own chains, and [Sampler] lends it to a server. The packages below it can be used without it:
//
//   - [github.com/mcpchain/mcpchain/mcpclient], a Model Context Protocol client: every
//     published revision, every transport, authorization, tasks, everything that a
//     server may ask of a client
//   - [github.com/mcpchain/mcpchain/adapter], the tools of many servers as tools of
//     langchaingo, with schemas for each provider
//   - [github.com/mcpchain/mcpchain/sampling], a server's sampling requests fulfilled by
//     any OpenAI-compatible model, under a budget
//   - [github.com/mcpchain/mcpchain/agent], a model that uses tools until it has an answer;
//     its runs wait for people and survive their process
//
// The programs under examples are to start from: examples/quickstart is the smallest, examples/agent a conversation. The
// program cmd/mcpchain is a terminal program, a page for several people, a service, and a look at servers without a model. README.md of the repository leads to the guides: docs/agent.md, docs/adapter.md, docs/sampling.md, docs/mcp-json.md
// and others.
package mcpchain
