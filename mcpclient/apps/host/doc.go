// Package host keeps the session with a view: the host's side of MCP Apps, revision
// 2026-01-26, over any connection that carries messages.
//
//	s, err := host.Open(ctx, conn, toolset.ViewAccess("weather", view.URI), &host.Options{
//		Context:  host.Context{Theme: "dark", AvailableDisplayModes: []host.DisplayMode{host.DisplayInline}},
//		OpenLink: askThePerson,
//	})
//	s.ToolInput(arguments)
//	s.ToolResult(result)
//	…
//	err := s.Close(ctx, "the conversation is closed")
//
// A session is with one view, and reaches one server. What the host has for the view before
// the view is ready is kept, and comes in the order of the specification: input, then
// result. The host's functions get only what is well-formed and within the bounds.
//
// What a view asks for without a function in [Options] is refused, and not
// declared. A view may know that its document was written for another host: each request is
// checked as one of an attacker.
//
// The guide is docs/apps.md of the repository.
//
// # Bounds
//
//	message of the view                4 MiB    Limits.Incoming
//	notification of the view           64 KiB
//	id and progress token              1 KiB
//	message to the view                16 MiB   Limits.Outgoing
//	what waits for the view            256 messages, and twice Limits.Outgoing
//	requests of the view at once       16       Limits.Requests
//	requests of the view in a minute   600      Limits.Rate
//	notifications in a minute          6,000    ten times Limits.Rate
//	log lines about breaches, a minute 60
//	questions to the person at once    1 of each kind
//	wait for ui/notifications/initialized  1 min  Limits.Initialize
//	one request of the view            10 min   Limits.Request
//	sending one message                30 s     Limits.Send
//	wait for the answer to a teardown  5 s      Limits.Teardown
//	URL to open                        8 KiB
//	files of one download              16, with names of 128 bytes
//	width and height that a view tells 100,000 pixels
//	what the view is told of an error  64 KiB
//
// # Concurrency
//
// A Session may be used by any number of goroutines. Functions of the host for requests run
// concurrently; functions for notifications and OnModelContext one at a time, in the order of the
// messages. A function may call the session, and wait for the view. A slow one delays later ones: of the
// size, the last counts, and of what the view logs at most 256 messages wait.
package host
