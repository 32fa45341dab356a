// Package mcpchain is the front page of a module for Go agents that use MCP servers. It
// has no code of its own; the packages are:
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
// An agent with one server, without the handling of errors:
//
//	tools, err := adapter.Open(ctx, []adapter.Server{{Name: "demo", Transport: server}}, nil)
//	model, err := openaimodel.New(host, "gpt-5", nil)
//	assistant, err := agent.New(model, &agent.Options{Tools: []adapter.Source{tools}})
//	result, err := assistant.Run(ctx, agent.Text("What is 17 plus 25?"))
//
// The programs under examples are to start from: examples/quickstart is this one,
// examples/chatbot a terminal program over an mcp.json, examples/web a page for several people,
// examples/inspect a look at servers without a model. README.md of the repository leads to the
// guides: docs/agent.md, docs/adapter.md, docs/sampling.md, docs/mcp-json.md and others.
package mcpchain
