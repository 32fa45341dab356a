// Package adapter makes the tools of MCP servers usable by langchaingo.
//
// [Open] connects to any number of servers and gives one [Toolset]:
//
//	ts, err := adapter.Open(ctx, []adapter.Server{
//		{Name: "files", Transport: &mcpclient.Command{Path: "files-server"}},
//		{Name: "web", Transport: &mcpclient.HTTP{URL: "https://example.com/mcp"}},
//	}, nil)
//	defer ts.Close()
//
// A model that calls tools natively is offered a [Catalog], which answers its
// calls, in parallel and in its order:
//
//	catalog := ts.Catalog(profile.Plain)
//	resp, err := model.GenerateContent(ctx, messages, llms.WithTools(catalog.Definitions()))
//	answers, err := catalog.Dispatch(ctx, resp.Choices[0].ToolCalls)
//
// Profiles other than [profile.Plain] rewrite the schemas for providers that do not take them as they
// are. Package langchain has the tools for langchaingo's own agents.
//
// The guide is docs/adapter.md of the repository, and examples/quickstart a whole program.
//
// # Life
//
// A toolset follows its servers: [Toolset.Add], [Toolset.Remove],
// [Toolset.Refresh], and the announcements of servers change what is offered, and
// [Options.OnChange] reports each change. The toolset subscribes once to each server
// that declares change notifications. A [Catalog] and a [Tool] never change: if the
// server changes the tool, its call is not sent, see [ErrStale].
//
// Functions of the program are tools as well ([Func]); [Merge] makes one source of several.
//
// # Calls that outlive their process
//
// [Catalog.Find], [Tool.Prepare] and [Tool.Restore] take what was kept of a call, [Prepared.Continue] and
// [Prepared.Resume] continue one that waits for input or has become a task. [Result.Unsent] and [Result.Interrupted]
// say what is known about a call that failed, and [Prepared.WithKey] makes a repeated call recognizable.
//
// # What reaches the server
//
// Models write arguments carelessly, and some of langchaingo's agents wrap them
// in a parameter of their own, so what arrives is read generously, repaired
// where the tool's schema leaves no doubt, and then checked against the schema
// as the server wrote it. Only what passes is sent; see [Catalog.Prepare].
//
// Between that and the server stand the host's interceptors ([Options.Intercept]) and then its approval
// ([Options.Approve]), which sees exactly what will be sent. Tools that changed since they were pinned are not
// offered at all ([Server.Pins]).
//
// # What reaches the model
//
// A tool that fails, arguments that do not fit and a name that does not exist are text for the model, so that it can
// do better; see [Result]. Only what the model cannot repair is a Go error: a lost connection, the end of the
// context.
//
// # Bounds
//
//	tools of one server          1,000
//	text of one result           64 KiB  Policy.MaxResult
//	media of one result          8 MiB
//	results kept for paging      none    Options.Spill
//	calls of one Dispatch at once  8     Options.Parallelism
//	lists because of announcements, and events of each kind, for each server  one a second  Options.RefreshInterval
//	wait for a server's agreement to announce changes  1 s
//	arguments of one call        4 MiB
//	decisions that are remembered  10,000
//	subschemas of one definition 10,000
//	what its patterns compile to 250,000 instructions, each of them 10,000
//
// # Concurrency
//
// A Toolset and its Tools may be used by any number of goroutines. Slices that
// are returned belong to the caller; what their elements point to is shared and
// must not be changed.
package adapter
