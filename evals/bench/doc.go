// Bench compares MCP clients written in Go, in one run:
//
//	go run ./evals/bench               # everything, about ten minutes
//	go run ./evals/bench -quick        # a first look, under a minute
//	go run ./evals/bench -check        # fails when a target is missed
//	go run ./evals/bench -run 'pipe/small' -clients ours,floor-json -cpuprofile cpu.out
//
// # Who is compared
//
// This module's mcpclient (ours), the official Go SDK (go-sdk), mark3labs/mcp-go
// (mcp-go), and two floors: little more than the exchange itself takes. Both floors
// append their requests byte by byte, and over streams keep a map of calls that
// wait; over HTTP they use net/http as anybody would;
// floor-scan walks over a response with a scanner of its own that validates
// nothing, floor-json gives it to encoding/json once. A floor negotiates, bounds,
// validates and repeats nothing, so a client cannot be expected to reach
// floor-scan. Ratios are to floor-json.
//
// All talk to the same responder. It finds id and method as text, and answers
// with bytes that were made before, the id spliced in. Over streams it allocates
// nothing for a request; over HTTP, net/http does, in the child process. Every answer
// is checked by each client's caller (the length of the text, the number of tools),
// so that nobody is measured for failing.
//
// # Cells
//
// The name of a cell is transport/workload/era.
//
//   - pipe: two io.Pipes, the responder in this process. stdio: a child process,
//     which is this program again. json, sse: a child process with net/http on
//     loopback, which answers with a Content-Length, or with a chunked event
//     stream. All clients share one HTTP client there with enough idle
//     connections; in json-default and sse-default each library has its own
//     default instead, and the floors keep the shared one.
//   - small: a call with a result of 102 bytes. 64, 512: so many of those at
//     once. 1mib, 10mib: a text of that length, with escapes as prose has them.
//     tools: 1,000 tools of about 1.6 kB in 20 pages. connect: a session from the
//     handshake to Close. The era is always forced, so nobody probes.
//   - idle: what a session weighs after one call. kept: what it keeps after
//     listing 1,000 tools. alive: how many copies of a result of 10 MiB are
//     alive at once, at most.
//   - legacy is 2025-11-25, modern is 2026-07-28.
//
// No client holds a standalone stream open, or asks for one: go-sdk is told not to,
// mcpclient does when somebody listens, and nobody does here, and the floors and
// mcp-go do not by default.
//
// # What is counted
//
// The figure is CPU time per operation: user and system time of this process, by
// getrusage. Most samples of the default length contain no garbage collection, with
// that much live heap: -time 1s has them contain some. Wall time would say more about the
// other processes of the machine. The time of child processes is not counted, so
// with stdio and HTTP it is the client's alone, with what the kernel does on its
// behalf. With pipe, the responder's share is in it, which is less
// for a client whose requests come together: they are answered together. connect
// over pipe also has the making of the pipes in it, and connect over stdio has
// the fork. On Windows, CPU time has a grain of 16 ms: use a longer -time there.
//
// Samples are interleaved: each round measures every client once, in rotated
// order, each sample after a garbage collection. A ratio is the median of the
// ratios by round, and ± is half the distance between their quartiles, as a
// share of that median: where it is large, the ratio means little. Where our ratio
// is closer to its target than three standard errors of that median, a cell takes more
// rounds, up to four times as many: else the verdict would be chance. The other
// columns are medians. Calls that go on together are made by goroutines that have
// made one before, and make at least eight each: their beginning at the same moment
// would count for too much otherwise.
//
// A live heap of 64 MiB (-ballast) stands for a real program: with a small heap
// the collector runs so often that a client that allocates much looks worse yet.
// The answers of the responder at a pipe, up to 12 MiB, add to it.
//
// Memory is weighed for each client in a process of its own, after garbage is
// collected until nothing more goes away. idle is heap and stacks over 99
// sessions, over HTTP ten times as many with one endpoint, without the responder,
// without child processes, and without the connections of the HTTP client that all
// share. kept is heap only. alive is seen
// by collections every 200 µs that stop the world; it counts buffers by their
// capacity. One sample is taken: these hardly vary.
//
// # Targets
//
// After the tables stands what mcpclient is to reach, and whether it did: bounds
// on its figures, and to be ahead of both peers, or equal, in every cell. Two
// tolerances are part of the bounds that are printed: two copies of a payload are
// 2.3, as a buffer that grows has room, and of what is kept, 16 KiB more than a
// peer mean nothing.
package main
