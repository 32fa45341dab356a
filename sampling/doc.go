// Package sampling lets MCP servers borrow a model: it answers their
// sampling/createMessage requests by chat completions of OpenAI, or of a host
// that imitates its API.
//
//	cfg := openai.DefaultConfig(os.Getenv("OPENAI_API_KEY"))
//	sampler, err := sampling.New(cfg, "gpt-5-mini", &sampling.Options{Review: askMe})
//	…
//	client, err := mcpclient.Connect(ctx, transport, &mcpclient.Options{Sampling: sampler})
//
// A request passes these steps; the first objection ends it:
//
//	check      what the specification demands of it; a person is not bothered with the rest
//	policy     what the host lets this server do at all
//	choice     of a model that can take the request, by the server's preferences
//	governor   the limits, which hold without a reviewer and with one: a place is reserved
//	review     of the request: a person or a program may edit or refuse it
//	model      the completion
//	review     of the reply, which the server is about to see
//	audit      a record of all this, whatever came of it
//
// Without options there is one model, no reviewer, and the limits of the zero
// [Limits].
//
// A server's request is a stranger's prompt at the host's expense. It gets
// nothing from the host: no history, no tools, and no instructions except
// [Options.System]. Its includeContext is ignored.
//
// Revision 2026-07-28 of the protocol deprecates sampling, but servers still
// use it.
//
// The guide is docs/sampling.md of the repository, and examples/sampling a whole program.
package sampling
