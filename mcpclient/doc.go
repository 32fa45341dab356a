// Package mcpclient is a client of the Model Context Protocol: it connects to a
// server, uses its tools, resources and prompts, and answers what the server
// asks in return.
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
//	                 ┌──────────── Client ────────────┐
//	CallTool ──────▶ │ era ▸ link ▸ Conn of Transport │ ──────▶ server
//	result   ◀────── │                                │ ◀──────
//	                 │ serve ▸ Options.Sampling       │ ◀────── "which is nicer?"
//	                 │         Options.Elicitation    │
//	                 │         Options.Roots          │
//	                 │ notify ▸ Options.OnNotification│ ◀────── "something changed"
//	                 └────────────────────────────────┘
//
// Package mcp has the words of the protocol. A whole program is examples/client.
//
// # Transports
//
//   - [Command] starts a process and speaks over its standard input and output.
//   - [HTTP] speaks Streamable HTTP, or HTTP+SSE if the server knows only that.
//   - [IO] speaks over a reader and a writer, [Pipe] within the process.
//
// A [Transport] is a recipe: it is dialed once for each connection. A host may bring
// its own; package transport lists its optional methods.
//
// # Eras
//
// The revisions 2024-11-05 to 2025-11-25 are the legacy era: a handshake (initialize),
// then requests in both directions. The revision 2026-07-28 is the modern era: no
// handshake and no session, every request stands alone, and a server that needs
// something answers input_required. The methods of Client are the same in both.
// [Connect] finds out what a server speaks, unless [Protocol.Revision] forces a
// revision; [Protocol.EraCache] remembers it for the next client.
//
// # What a server asks
//
// [Options.Sampling], [Options.Elicitation] and [Options.Roots] are offered to the server
// if they are set, and called alike in both eras; [mcp.OriginFrom] tells a handler which
// server asks, and for which call. The caller of a call to a modern server may answer
// instead, even days later in another process: see [WithManualInput] and [Continue].
//
// # Changes
//
// [Client.Subscribe] tells of changed lists and resources. [Options.OnNotification] gets
// every notification. A result with a lifetime (ttlMs) comes from the cache until that
// ends or the server tells of a change: see [Limits.Cache] and [WithoutCache].
//
// # Tasks
//
// [WithTask] lets a tool call become a task, and waits for its result.
// [Client.StartTask] begins a task that continues at the server, [Task.Wait] gets its
// result, and [Client.Task] finds the task again in another process.
//
// # Lost sessions and connections
//
// A legacy server may forget its session. Then the client begins a new one, once for all
// calls under way, and resends the call that noticed if that is safe; a tool call ends
// with [ErrSessionLost]. A connection that ends by itself ends its client:
// [Client.AfterEnd] and [Client.Err] tell at once. With [Options.Restart] the client dials again instead, and
// only calls that may have acted fail, with [ErrConnectionLost].
//
// What era a server speaks is an observation, unless [Protocol.Revision] decides. If a call
// over HTTP fails as if in another era, as after an update or a rollback of the server, the
// client asks the server again, once for all calls and at most every 5 s. The failed call is sent again if the
// server refused it before it ran, or if it does the same twice. Subscriptions end with [ErrSubscriptionEnded], and
// [Options.OnNotification] is told that all lists have changed.
//
// # Errors
//
// Three failures are kept apart. The server answered with an error: an
// [*mcp.RPCError]. A tool ran and failed: no error of the call, but
// [mcp.CallToolResult.Err] makes it a [*mcp.ToolError]. The client could not ask: every
// other error, such as [ErrClosed], [*transport.HTTPError], [*transport.ProcessError] or
// [*CapabilityError]. A call whose context ended satisfies errors.Is(err, ctx.Err()).
//
// A message that is broken or too large fails the call that it was meant for, and no
// other. The client never repeats a tool call that may have run. It resends one only if
// the server did not act on it: the server refused its headers, its token, its revision or its
// Accept header, needs a person to visit a URL, input or time, or the connection was
// ending before the call was sent.
//
// # Concurrency
//
// The methods of a Client may be called by any number of goroutines, also by
// handlers and callbacks.
//
//   - A call returns at once when its context ends; a message that cancels it is sent
//     elsewhere. Only a host's own http.RoundTripper that ignores its context delays that.
//   - Progress callbacks run on the goroutine that made the call, in order, before the
//     call returns.
//   - [Options.OnNotification] runs on one goroutine, in the order of arrival.
//   - Handlers run concurrently, each on its own goroutine. The context of a handler ends
//     with the client, when the server cancels, and with the call that it works for.
//   - A panic in a handler or in OnNotification is logged and answered with an error.
//   - A handler, a callback and a hook may call [Client.Close], which does not wait
//     for handlers and callbacks. [Client.Done] does: after it no goroutine of the client
//     is left.
//
// # Middleware
//
// [Options.Middleware] goes around each call, [Options.ServerMiddleware] around each
// question of the server: see [Request]. Package otelmcp traces and measures with them.
//
// # Bounds
//
// Each size, count, depth and wait that a server controls has a bound. [Limits] and
// [Timeouts] change the most important ones; docs/bounds.md lists all.
package mcpclient
