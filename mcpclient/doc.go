// Package mcpclient is a client of the Model Context Protocol: it connects to a
// server, uses its tools, resources and prompts, and answers what the server
// asks in return.
//
//	                 ┌──────────── Client ────────────┐
//	CallTool ──────▶ │ era ▸ link ▸ Conn of Transport │ ──────▶ server
//	result   ◀────── │                                │ ◀──────
//	                 │ serve ▸ SamplingHandler        │ ◀────── "which is nicer?"
//	                 │         ElicitationHandler     │
//	                 │         Roots                  │
//	                 │ notify ▸ OnNotification        │ ◀────── "something changed"
//	                 └────────────────────────────────┘
//
// [Connect] takes a [Transport] and returns a [Client] that is ready:
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
// # Transports
//
// [Command] starts a process and speaks over its standard input and output,
// [IO] speaks the same over any reader and writer, which may be two pipes to a
// server of another module in the same process, [HTTP] speaks Streamable HTTP, or
// with an old server HTTP+SSE as [SSE] does, and [Pipe] connects to a server that is
// written against [Conn]. A Transport is a recipe: it is dialed once for each
// connection. One Client has one connection to one server. Package transport lists the
// methods that a host's own Transport or Conn may have beside the required ones.
//
// # Eras and revisions
//
// The revisions 2024-11-05, 2025-03-26, 2025-06-18 and 2025-11-25 are the legacy
// era: a handshake (initialize), then requests in both directions. The revision
// 2026-07-28 is the modern era: no handshake and no session, every request
// stands alone, and a server that needs something answers input_required. All
// five are spoken; the methods of Client are the same in both eras.
//
// Connect sends server/discover. A modern server answers it. Every other answer
// is a legacy server's, and so is silence for [Timeouts.Probe]; those get
// initialize. Failures that say nothing about the server (HTTP statuses 401,
// 403, 408, 429 and 5xx, a network that fails) are returned, 408, 429 and 503 after a
// few tries. [Protocol.Revision]
// skips all that, and [Protocol.EraCache] remembers what it found.
//
// # Servers that forget, and servers that die
//
// Over HTTP a legacy server may have a session, and may forget it. Then a new
// one begins, once for all calls under way, with the same log level and a
// standalone stream of its own. The call that met the loss is sent again where
// that is safe; a tool call ends with [ErrSessionLost].
//
// A connection that ends by itself ends its client: [Client.AfterEnd] and [Client.Err]
// tell at once.
// With [Options.Restart] the client goes on instead, on the next connection, and
// only what was under way and may have acted fails: [ErrConnectionLost].
//
// # What a server may ask
//
// A [mcp.SamplingHandler], an [mcp.ElicitationHandler] and [Options.Roots] are offered
// to the server exactly when they are installed. They are called alike in both
// eras; [mcp.OriginFrom] tells a handler which server asks, and for which call. A
// call to a modern server can be answered by its caller instead, at once or days
// later in another process: see [WithManualInput].
//
// # Changes
//
// [Client.Subscribe] tells of lists and resources that changed, alike in both
// eras; [Options.OnNotification] gets the same notifications as they come.
//
// A list or a resource for which a modern server gave a time (ttlMs) is not asked
// for again within that time, unless the server tells of a change:
// [Limits.Cache], [WithoutCache].
//
// # Tasks
//
// [WithTask] lets a tool call be a task, in either design of tasks, and waits for its
// result. [Client.StartTask] begins one that goes on at the server; [Task.Wait] gets
// its result, [Client.Task] takes it up again after a restart.
//
// # Middleware
//
// [Options.Middleware] goes around what the client sends, once for each call in
// either era, and [Options.ServerMiddleware] around what the server asks: see
// [Request]. Package otelmcp traces and measures with them.
//
// # Errors
//
// Three failures are kept apart. The server answered with an error: an
// [*mcp.RPCError]. A tool ran and failed: not an error of the call, but
// [mcp.CallToolResult.Err] makes it a [*mcp.ToolError]. We could not ask: every other
// error. Among those are [ErrClosed], [*HTTPError], [*ProcessError],
// [*CapabilityError], and the error of the context: a call whose context ended
// satisfies errors.Is(err, ctx.Err()).
//
// A message that is broken or too large fails the call that it was meant for,
// and no other. An answer is found behind other text on its line, and behind
// another message. A connection that ends fails all calls on it at once. A tool
// call that may have run is never repeated by the client. One is sent again when
// the server said that it did not act on it: that it refused the headers (code
// -32020), the token (401 and 403, if HTTP.Token has another one) or the
// Accept header (406), that a person has to visit URLs first (-32042), or that
// it wants input or more time (input_required); and with [Options.Restart] when
// the connection did not take it, because that was ending.
//
// # Concurrency
//
// The methods of a Client may be called by any number of goroutines, also by
// handlers and callbacks.
//
//   - A call returns at once when its context ends. Telling the server happens
//     elsewhere and is bounded. Only a host's own http.RoundTripper that ignores
//     the context of its request delays that.
//   - Progress callbacks run on the goroutine that made the call, in order, and
//     before the call returns.
//   - [Options.OnNotification] runs on one goroutine, in the order of arrival.
//   - Handlers run concurrently, each on a goroutine of its own. Their contexts
//     end when the client closes, when the server cancels, and when the call ends
//     that they work for. A handler that is slow delays nothing else.
//   - A handler, a callback and a hook may call [Client.Close], which does not wait
//     for handlers and callbacks. [Client.Done] does.
//   - A panic in a handler or in OnNotification is logged and, where an answer is
//     due, answered with an error. It ends nothing else.
//
// The client owns its goroutines: one reader for each connection that is shared,
// one for each handler, one for each [Subscription], one for [Timeouts.KeepAlive],
// one for notifications while there are any, and up to 16 that send what nobody
// waits for. Over HTTP there is no reader; there is one goroutine for the server's
// standalone stream, and one for a response while its rest is being drained.
// [Client.Close] ends all of them, and waits for those that do not run the host's
// code. After [Client.Done] none is left.
//
// # Bounds
//
// Whatever a server controls is bounded:
//
//	silence of a call                       5 min      Options.Timeouts.Idle, WithIdleTimeout; progress extends it
//	one call                                24 h       Options.Timeouts.Call, WithTimeout
//	one message                             32 MiB     MaxMessage of the transport
//	items of a page, blocks of a result     10,000
//	… and what is listed in them, in all    100,000
//	members of _meta and of capabilities    10,000
//	messages in one batch                   1,000
//	requests of the server at one time      16         Options.Limits.ServerRequests
//	questions in one input round            the same
//	input rounds of one call                10         Options.Limits.Rounds
//	times that a call is put off            32, 250 ms to 8 s apart, within 5 min
//	pages of one list                       1,000      Options.Limits.Pages
//	tools whose parameter headers are known 1,024      the rest is asked for when it is missed
//	output schemas that are remembered      of 1,024 tools, 32 MiB together, Options.Schemas.CheckOutputs
//	parameter headers of one tool           64, within 64 nested schemas
//	notifications that wait                 1,024      Options.Limits.Notifications
//	… and their size together               32 MiB
//	progress notices that wait for a call   1,024      Options.Limits.Notifications
//	… and the size of one                   16 KiB
//	changes that wait for a reader          1,024      Options.Limits.Notifications
//	… and the URI or the task of one        8 KiB
//	acknowledgement of a subscription       30 s       WithTimeout, Options.Timeouts.Call
//	streams of a subscription that breaks   1 to 30 s apart, or as long as the server asks, up to 1 h
//	… and the silence of one over HTTP      5 min      Options.Timeouts.SubscriptionIdle
//	messages that wait to be sent           1,024, each for up to 5 s
//	id of a request of the server           1 KiB
//	URLs in an error that asks for visits   the same   Options.Limits.ServerRequests
//	… whose completion is waited for        5 min      Options.Timeouts.ElicitationDone
//	… and is known of                       256
//	lists and resources that are kept       4 MiB      Options.Limits.Cache
//	… and their number                      1,024
//	… and their time                        24 h
//	between two looks at a task             100 ms to 1 h
//	resumptions of a stream without event   5, 1 to 30 s apart, or as long as the server asks, up to 1 h
//	rest of a response after its answer     4 KiB within 1 s, of 1,024 responses at a time
//	body of a response that failed          64 KiB within 1 s
//	endpoint of an HTTP+SSE server          8 KiB, within 10 s
//	redirects                               5, on the same origin
//	what an error quotes                    1 KiB
//	sign of life from an idle server        none       Options.Timeouts.KeepAlive
//	answer to server/discover               5 s        Options.Timeouts.Probe
//	Connect without a deadline              1 min over stdio, 10 min over HTTP, Options.Timeouts.Connect
//	opening of a standalone stream          500 ms     then Connect goes on without it
//	forms of Accept after status 406        4, behind that of HTTP.Header
//	repetitions after 401 and 403           1, where HTTP.Token has another token
//	retries of a safe request               3, up to 30 s apart, Options.Limits.Retries
//	beginning of a new session              30 s
//	restarts in a row                       5, 500 ms to 30 s apart, Options.Restart
//	… and one of them                       1 min
//	servers whose era is remembered         1,024, for 24 h
//	Connect, after its context has ended    500 ms     and what it began ends meanwhile and afterwards
//	Close                                   5 s        Options.Timeouts.Close, at each of its steps
//
// The context of a call bounds it too. What a person takes to answer does not count as
// silence: see [Timeouts.Idle].
package mcpclient
