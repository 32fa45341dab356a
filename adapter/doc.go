// Package adapter makes the tools of MCP servers usable by langchaingo.
//
// [Open] connects to any number of servers and returns one [Toolset]:
//
//	ts, err := adapter.Open(ctx, []adapter.Server{
//		{Name: "files", Transport: &mcpclient.Command{Path: "files-server"}},
//		{Name: "web", Transport: &mcpclient.HTTP{URL: "https://example.com/mcp"}},
//	}, nil)
//	defer ts.Close()
//
// A model that calls tools natively gets the definitions of a [Catalog], which runs the calls of
// its reply concurrently and returns the answers in the order of the calls:
//
//	catalog := ts.Catalog(profile.Plain)
//	resp, err := model.GenerateContent(ctx, messages, llms.WithTools(catalog.Definitions()))
//	answers, err := catalog.Dispatch(ctx, resp.Choices[0].ToolCalls)
//
// Profiles other than [profile.Plain] rewrite the schemas for providers that accept only a part of
// JSON Schema. Package langchain has the tools for langchaingo's own agents. Functions of the
// program are tools, too ([Func]), and [Merge] combines several sources.
//
// The guide is docs/adapter.md of the repository, and examples/quickstart is a program.
//
// # Changes
//
// A toolset follows its servers: its tools change when a server announces a change, and by
// [Toolset.Add], [Toolset.Remove] and [Toolset.Refresh]. [Options.OnChange] reports each change. A
// [Catalog] and a [Tool] are immutable: if the server changes a tool after the model was offered
// it, the call is not sent, see [ErrStale].
//
// # Calls that outlive their process
//
// [Catalog.Find] returns the tool of a call that was stored, and [Tool.Prepare] or [Tool.Restore]
// the call. [Prepared.Continue] and [Prepared.Resume] continue one that waits for input or has
// become a task. [Result.Unsent] and [Result.Interrupted] tell whether a failed call ran, and
// [Prepared.WithKey] lets the server recognize a repeated call.
//
// # What reaches the server
//
// Models write arguments carelessly, and some agents of langchaingo wrap them in a parameter of
// their own. Input is therefore parsed leniently, repaired where the tool's schema allows only one
// meaning, and then checked against the schema as the server wrote it. Only valid arguments are
// sent; see [Catalog.Prepare].
//
// Before a call is sent it passes the host's interceptors ([Options.Intercept]), and then the
// approval ([Options.Approve]), which sees exactly what will be sent. Tools that have changed since
// they were pinned are not offered ([Server.Pins]).
//
// # What reaches the model
//
// A failed tool, invalid arguments and an unknown name become text for the model, so that it can
// correct itself; see [Result]. What the model cannot correct is a Go error: a lost connection, the
// end of the context.
//
// # Bounds
//
//	tools of one server                     1,000
//	text of one result                      64 KiB   Policy.MaxResult
//	media of one result                     8 MiB
//	results kept for paging                 none     Options.Spill
//	concurrent calls of one Dispatch        8        Options.Parallelism
//	tool lists and events per server        1/s      Options.RefreshInterval
//	wait for a server's change subscription 1 s
//	arguments of one call                   4 MiB
//	remembered decisions                    10,000
//	subschemas of one definition            10,000
//	patterns of one definition              250,000 instructions, 10,000 for one pattern
//
// # Concurrency
//
// A Toolset and its Tools may be used concurrently. Returned slices belong to the caller; what
// their elements point to is shared and must not be modified.
package adapter
