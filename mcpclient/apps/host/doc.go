// Package host implements the host's side of a session with a view of MCP Apps, revision
// 2026-01-26, over any connection that carries messages.
//
//	s, err := host.Open(ctx, conn, toolset.ViewAccess("weather", view.URI), &host.Options{
//		Context:  host.HostContext{Theme: "dark", AvailableDisplayModes: []string{"inline"}},
//		OpenLink: askThePerson,
//	})
//	s.ToolInput(arguments)
//	s.ToolResult(result)
//	…
//	err := s.Close(ctx, "the conversation is closed")
//
// A session has one view and one server. Messages for the view are kept until the view is ready, and are then sent in
// the order of the specification: input, then result. The host's functions only get well-formed data within the bounds.
//
// Requests of a view for which [Options] has no function are refused, and the feature is not declared; without a
// function for display modes, the answer is the current one. Each request is checked as if it came from an attacker.
//
// The guide is docs/apps.md of the repository.
//
// # Bounds
//
//	message of the view                4 MiB    Limits.Incoming
//	notification of the view           64 KiB
//	id and progress token              1 KiB
//	message to the view                16 MiB   Limits.Outgoing
//	messages that wait for the view    256, together twice Limits.Outgoing
//	concurrent requests of the view    16       Limits.Requests
//	requests of the view in a minute   600      Limits.Rate
//	notifications in a minute          6,000    ten times Limits.Rate
//	log lines about breaches, a minute 60
//	concurrent questions to the person 1 of each kind
//	wait until the view is ready       5 min
//	one request of the view            10 min   Limits.RequestTimeout
//	sending one message                30 s
//	wait for the answer to a teardown  2 s
//	URL to open                        8 KiB
//	width and height of a view         100,000 pixels
//	text of an error for the view      64 KiB
//
// # Concurrency
//
// A Session may be used by any number of goroutines. The host's functions for requests run concurrently; functions for
// notifications and OnModelContext run one at a time, in the order of the messages. A function may call the session,
// and wait for the view. A slow function delays later ones: only the latest size waits, and at most 256 log messages.
package host
