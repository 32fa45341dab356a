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
// A model that calls tools natively gets their schemas and has its calls
// answered, in parallel and in its order:
//
//	resp, err := model.GenerateContent(ctx, messages, llms.WithTools(ts.Definitions()))
//	answers, err := ts.Dispatch(ctx, resp.Choices[0].ToolCalls)
//
// langchaingo's own agents take ts.Tools().
//
// # What reaches the server
//
// Models write arguments carelessly, and some of langchaingo's agents wrap them
// in a parameter of their own, so what arrives is read generously, repaired
// where the tool's schema leaves no doubt, and then checked against the schema
// as the server wrote it. Only what passes is sent; see [Tool.Arguments].
//
// # What reaches the model
//
// A tool that fails, arguments that do not fit and a name that does not exist
// are text for the model, so that it can do better; see [Result]. Only what the
// model cannot mend is a Go error: a lost connection, the end of the context.
//
// # Concurrency
//
// A Toolset and its Tools may be used by any number of goroutines. Slices that
// are returned belong to the caller; what their elements point to is shared and
// must not be changed.
package adapter
