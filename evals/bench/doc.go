// Bench compares MCP clients written in Go, in one run:
//
//	go run ./evals/bench               # everything, about ten minutes
//	go run ./evals/bench -quick        # a first look, about a minute
//	go run ./evals/bench -check        # fails if a target is missed
//	go run ./evals/bench -run 'pipe/small' -only ours,floor
//
// # Who is compared
//
// This module's mcpclient (ours), the official Go SDK (go-sdk), mark3labs/mcp-go (mcp-go), and a floor: little more
// than the exchange itself. The floor appends its requests byte by byte, keeps a map of waiting calls over a pipe, uses
// net/http in the plain way, and decodes a response with encoding/json once. It negotiates, bounds, validates and
// retries nothing. Ratios are to the floor.
//
// All talk to the same responder, which finds id and method as text and answers with prepared bytes, with the id put
// in. Every answer is checked (the length of the text, the number of tools), so that failures are not measured.
//
// # Cells
//
// The name of a cell is transport/workload/era.
//
//   - pipe: two io.Pipes, the responder in this process, which allocates nothing for a request. json, sse: a child
//     process with net/http on loopback, which answers with a Content-Length, or with a chunked event stream. All
//     clients share one HTTP client with enough idle connections.
//   - small: a call with a result of 102 bytes. 64, 512: so many such calls at once. 1mib, 10mib: a text of that length,
//     with escapes as prose has them. tools: 1,000 tools of about 1.6 kB in 20 pages. connect: a session from the
//     handshake to Close. The era is always forced, so no client probes, and none opens a standalone stream.
//   - idle: what a session weighs after one call. kept: what it keeps after listing 1,000 tools. alive: how many copies
//     of a result of 10 MiB are alive at once, at most.
//   - legacy is 2025-11-25, modern is 2026-07-28.
//
// # What is counted
//
// The figure is CPU time per operation: user and system time of this process, by getrusage. Wall time would depend on
// other processes of the machine. A sample of the default length seldom contains a garbage collection; with -time 1s it
// contains some. With HTTP the figure is the client's only, with the kernel's work for it; with pipe it includes the
// responder. On Windows, CPU time has a grain of 16 ms: use a longer -time there.
//
// Samples are interleaved: each round measures every client once, in rotated order, each sample after a garbage
// collection. A ratio is the median of the ratios by round, and ± is half the distance between their quartiles as a
// share of that median: if it is large, the ratio means little. If a figure is closer to its target than three standard
// errors of its median, the cell takes more rounds, up to four times as many, as the verdict would be chance. The other
// columns are medians. Concurrent calls run in goroutines that have made one call before, and make at least eight each:
// otherwise their common start would count too much.
//
// A live heap of 64 MiB stands for a real program: with a small heap the collector runs so often that a client with many
// allocations looks even worse.
//
// Memory is measured for each client in a process of its own, after garbage collections until the heap stops shrinking.
// idle is heap and stacks over 99 sessions, over HTTP ten times as many with one endpoint, without the responder and
// connections of the shared HTTP client. kept is heap only. alive is the largest heap at collections every 200 µs that
// stop the world; it counts buffers by their capacity. One sample is enough, as these figures hardly vary.
//
// # Targets
//
// The targets of mcpclient are bounds of its figures, and to be ahead of both peers, or equal, in every cell. The
// printed bounds include tolerances: two copies of a payload are 2.3, as a growing buffer has room; beyond a peer's
// figure are allowed the ± of both CPU times, 16 KiB of kept memory, and 3.5 KiB for an idle session over HTTP beside
// mcp-go's.
package main
