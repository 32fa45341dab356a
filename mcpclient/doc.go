// Package mcpclient is a client of the Model Context Protocol: it connects to a server, uses its
// tools, resources and prompts, and answers what the server asks in return.
//
//	client, err := mcpclient.Connect(ctx, &mcpclient.Command{Path: "weather-server"}, nil)
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	for tool, err := range client.Tools(ctx) {
//		…
//	}
//	result, err := client.CallTool(ctx, "forecast", map[string]any{"city": "Bern"})
//
// A [Client] is one connection to one server:
//
//	                 ┌──────── Client ────────┐
//	CallTool ──────▶ │ Transport              │ ──────▶ server
//	result   ◀────── │                        │ ◀──────
//	                 │ Options.Sampling       │ ◀────── "which is nicer?"
//	                 │ Options.Elicitation    │
//	                 │ Options.Roots          │
//	                 │ Options.OnNotification │ ◀────── "something changed"
//	                 └────────────────────────┘
//
// Package [mcp] has the types of the protocol. The program in examples/client lists the tools of a
// server and calls one.
//
// # Transports
//
//   - [Command] starts a process and uses its standard input and output.
//   - [HTTP] is Streamable HTTP, or HTTP+SSE if the server has only that.
//   - [IO] uses a reader and a writer, [Pipe] stays within the process.
//
// A [Transport] describes how to connect, and is dialed for each connection. The host, which is the
// program that uses this package, may implement its own; package transport lists the optional
// methods.
//
// # Eras
//
// The revisions 2024-11-05 to 2025-11-25 are the legacy era: a handshake (initialize), then
// requests in both directions. The revision 2026-07-28 is the modern era: no handshake and no
// session, independent requests, and a server that needs input returns input_required. The methods
// of Client are the same in both. [Connect] finds out what a server speaks, unless
// [Protocol.Revision] forces a revision; [Protocol.EraCache] remembers it for the next client.
//
// # Requests of the server
//
// [Options.Sampling], [Options.Elicitation] and [Options.Roots] are offered to the server
// if they are set, and are called in the same way in both eras; in a handler, [mcp.OriginFrom]
// names the server that asks, and the call. The caller of a modern server may answer instead, even
// days later in another process: see [WithManualInput] and [Continue].
//
// # Changes
//
// [Client.Subscribe] reports changed lists and resources. [Options.OnNotification] gets
// every notification. A result with a lifetime (ttlMs) comes from the cache until that
// has passed or the server announces a change: see [Limits.Cache] and [WithoutCache].
//
// # Tasks
//
// [WithTask] lets a tool call become a task, and waits for its result.
// [Client.StartTask] begins a task that continues at the server, [Task.Wait] gets its
// result, and [Client.Task] finds the task again in another process.
//
// # Lost sessions and connections
//
// A legacy server may forget its session. The client then begins a new one, once for all
// current calls, and resends the call that noticed if that is safe; a tool call, which may
// have run, fails with [ErrSessionLost]. A connection that ends by itself ends its client:
// [Client.AfterEnd] and [Client.Err] report it at once. With [Limits].Restarts the client
// dials again instead, and only calls that may have acted fail, with [ErrConnectionLost].
//
// A server may change its era when it is updated or rolled back. If a call over HTTP fails
// as it would in another era, the client probes the server again, once for all calls and
// at most every 5 s, unless [Protocol.Revision] is set. The failed call is sent again if
// the server refused it before it ran, or if it is safe to repeat. Subscriptions end with
// [ErrSubscriptionEnded], and [Options.OnNotification] is told that all lists have changed.
//
// # Errors
//
// There are three kinds of failure. If the server answered with an error, it is an
// [*mcp.RPCError]. If a tool ran and failed, the call has no error, and
// [mcp.CallToolResult.Err] returns an [*mcp.ToolError]. If the client could not ask, or could not
// use what came back, it is another error, such as [ErrClosed], [ErrUndeclared],
// [*transport.HTTPError], [*transport.ProcessError], [mcp.ErrInvalidResult] or
// [ErrTooManyRounds]. A call whose context ended satisfies errors.Is(err, ctx.Err()).
//
// A message that is broken or too large fails only the call to which it belongs. The client never
// repeats a tool call that may have run. It sends one again only if the server did not act on it:
// because it refused the headers, the token, the revision or the Accept header, because it needs a
// person to visit a URL, input or time, or because the connection was ending before the call was
// sent.
//
// # Concurrency
//
// The methods of a Client may be called concurrently, including by handlers and callbacks.
//
//   - A call returns at once when its context ends, unless code of the host ignores the context:
//     an http.RoundTripper, or what runs on the goroutine of the call, such as middleware. The
//     server is notified asynchronously.
//   - Progress callbacks run on the goroutine that made the call, in order, before the
//     call returns.
//   - [Options.OnNotification] runs on one goroutine, in the order of arrival.
//   - Handlers run concurrently, each on its own goroutine. The context of a handler ends
//     with the client, when the server cancels, and with the call that it works for.
//   - A panic in a handler or in OnNotification is logged. The server gets an error if a
//     handler panics or ends its goroutine, as t.FailNow does.
//   - A handler, a callback and a hook may call [Client.Close], which does not wait
//     for handlers and callbacks. [Client.Done] does: after it no goroutine of the client
//     is left, except one that a reader or writer of [IO] blocks.
//
// # Middleware
//
// [Options.Middleware] wraps each call, [Options.ServerMiddleware] each request of the
// server: see [Request]. Package [github.com/mcpchain/mcpchain/mcpclient/otelmcp] has both, for
// traces and metrics of OpenTelemetry.
//
// # Bounds
//
// Every size, count, depth and wait that a server controls has a bound. [Limits] and
// [Timeouts] set the most important ones; docs/bounds.md lists all.
package mcpclient
