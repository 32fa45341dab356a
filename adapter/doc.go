// Package adapter makes the tools of MCP servers, and Go functions, usable by models: for package
// agent, for langchaingo, or for your own loop.
//
// [Open] connects to any number of servers and returns one [Toolset]:
//
//	ts, err := adapter.Open(ctx, []adapter.Server{
//		{Name: "files", Transport: &mcpclient.Command{Path: "files-server"}},
//		{Name: "web", Transport: &mcpclient.HTTP{URL: "https://example.com/mcp"}},
//	}, nil)
//	if err != nil {
//		return err
//	}
//	defer ts.Close()
//
// A model that calls tools natively gets a [Catalog], which runs its calls and returns the answers in the order of the calls
// ([Catalog.Definitions], [Catalog.Dispatch]).
//
// Profiles other than [profile.Plain] rewrite the schemas for providers that refuse the server's.
// Package langchain has the tools for langchaingo's own agents. Functions of the program are tools
// as well ([Func]), and [Merge] makes one source of several.
//
// The host is the program that uses this package. The guide is docs/adapter.md of the repository, and examples/quickstart
// is a complete program.
//
// # Changes
//
// A toolset follows its servers: [Toolset.Add], [Toolset.Remove], [Toolset.Refresh] and the announcements of servers
// change what is offered, and [Options.OnChange] reports what servers changed. A [Catalog] and a [Tool] never change.
// If a server changes a tool, calls of the old one are not sent ([ErrStale]).
//
// A toolset connects again to servers that could not be reached, or whose connection has ended and
// is not restarted by its client, after 0.5 s and ever longer waits up to 1 min. It cannot do that
// for connections of [mcpclient.IO], and it asks no person to sign in: [Toolset.Refresh] does.
//
// # Calls that outlive their process
//
// A program can store a call and continue with it later. [Catalog.LookupStored] finds the tool again, and
// [Tool.Prepare] and [Tool.Restore] make the call again. [Prepared.Continue] continues a call that waits for input or
// has become a task. [Result.Unsent] and [Result.Interrupted] tell whether a failed call may have run. A server
// recognizes a repeated call by its key ([Prepared.WithIdempotencyKey]).
//
// # What reaches the server and the model
//
// What a model writes is parsed leniently, repaired where the schema leaves no doubt, and then checked against the schema
// of the server ([Catalog.Prepare]). It goes through the program's interceptors ([Options.Intercept]) and then its approval
// ([Options.Approve]), which sees exactly what will be sent. A failure becomes text for the model, so that it can correct
// itself; only what it cannot repair is a Go error ([Result.Fatal]).
//
// # Bounds
//
//	tools of one server                         1,000
//	subschemas of one definition                10,000
//	patterns of one definition                  250,000 instructions; one pattern 10,000
//	arguments of one call                       4 MiB
//	calls of one Dispatch at the same time      8
//	text of one result                          64 KiB   Policy.MaxResult
//	media of one result                         8 MiB
//	results kept for paging                     none     Options.KeepResults
//	remembered decisions                        10,000
//	listings of a server that it asks for       1 per second
//	wait until a server agrees to announce      1 s
//
// A server with more tools cannot be used. A definition beyond a bound leaves its tool out
// ([ServerStatus].Skipped), and arguments beyond it do not fit ([ErrArguments]). Texts are
// shortened, further media are omitted, and further decisions are not remembered.
//
// # Concurrency
//
// A Toolset and its Tools may be used by any number of goroutines. Returned slices belong to the
// caller. Their elements are shared and must not be changed.
package adapter
