// Package sampling answers the sampling/createMessage requests of MCP servers with models of
// OpenAI, or of any provider with a compatible API.
//
//	cfg := openai.DefaultConfig(os.Getenv("OPENAI_API_KEY"))
//	sampler, err := sampling.New(cfg, "gpt-5-mini", &sampling.Options{Review: askMe})
//	…
//	client, err := mcpclient.Connect(ctx, transport, &mcpclient.Options{Sampling: sampler})
//
// A request passes these steps; the first objection ends it:
//
//	check      the rules of the specification; a reviewer sees only valid requests
//	policy     whether the program allows requests of this server at all
//	choice     a model that can answer the request, by the server's preferences
//	limits     the limits, with or without a reviewer; the cost is reserved
//	review     a person or a program may edit or refuse the request
//	model      the completion
//	review     a person or a program may edit or refuse the reply
//	audit      a record of the request, whatever its outcome
//
// Without options there is one model, no reviewer, and the limits of the zero [Limits].
//
// A server's request is an untrusted prompt at your expense. The sampler adds nothing to it: no
// history, no tools, no instructions. Its includeContext is ignored.
//
// Revision 2026-07-28 of the protocol deprecates sampling, but servers still use it.
//
// The guide is docs/sampling.md of the repository; examples/sampling is a complete program.
package sampling
