// Command bench compares Go clients of MCP: what a client does between the socket and its caller, in CPU time and memory.
//
//	go run ./evals/bench               # everything, about ten minutes
//	go run ./evals/bench -quick        # a first look, about a minute
//	go run ./evals/bench -check        # fails if a target is missed
//	go run ./evals/bench -run 'pipe/small' -only ours,floor
//
// The clients are this module's mcpclient (ours), the official Go SDK (go-sdk), mark3labs/mcp-go (mcp-go), and a floor,
// the least code for the exchange (floor.go), to which ratios are. All talk to the same responder, which finds id and
// method as text and answers with prepared bytes. Every answer is checked, so that failures are not measured.
//
// In the code, a cell is a workload over a transport in an era, a subject is one client in one cell, and a lab makes the
// endpoints at which clients reach responders.
//
// # Cells
//
// The name of a cell is transport/workload/era. Not every combination exists, see cells.go.
//
//   - pipe: two io.Pipes, the responder in this process. stdio: a child process, which is this
//     program again. json, sse: a child process with net/http on loopback, which answers with a
//     Content-Length, or with a chunked event stream. All clients share one HTTP client there with
//     enough idle connections; in json-default and sse-default each library has its own default
//     instead, and the floor keeps the shared one.
//   - small: a call with a result of 102 bytes. 64, 512: that many such calls concurrently. 1mib,
//     10mib: a text of that length, with escapes as prose has them. tools: 1,000 tools of about 1.6
//     kB in 20 pages. connect: a session from the handshake to Close. The era is always forced, so
//     no client probes, and none opens a standalone stream.
//   - idle: the memory of a session after one call. kept: the memory that it keeps after listing
//     1,000 tools. alive: how many copies of a result of 10 MiB are alive at the same time, at most.
//   - legacy is 2025-11-25, modern is 2026-07-28.
//
// # Figures
//
// The figure is CPU time per operation, user and system time of this process: wall time would depend on other processes
// of the machine. With stdio and HTTP it is the client's alone, including the kernel's work on its behalf. With pipe it
// includes the responder, and the making of the pipes in connect; connect over stdio includes the fork. On Windows, CPU
// time has a grain of 16 ms: use a longer -time there. The other columns are medians.
//
// Each round measures every client once, in rotated order, each sample after a garbage collection. A ratio is the median
// of the ratios by round, and ± is half the distance between their quartiles as a share of that median: if it is large,
// the ratio means little. A cell whose verdict would be chance gets up to four times as many rounds; comparisons with
// peers do not, as their limits include the ±.
//
// Memory is measured for each client in a process of its own. idle is heap and stacks, without the responder, child
// processes, and connections of the shared HTTP client. kept is heap only. alive counts buffers by their capacity.
//
// # Targets
//
// mcpclient has two kinds of targets: bounds on its own figures, and in every cell a figure no worse than either peer's.
// targets.go has both, and the reason for each tolerance.
package main

import (
	"context"
	"errors"
	"io"
	"os"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

func main() {
	runRole(os.Args)
	rig.Main("bench", bench)
}

func bench(ctx context.Context, args []string, out io.Writer) (err error) {
	address, stop, err := startResponder()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	return comparison(newLab(address)).Run(ctx, args, out)
}

// Figures beside the ones of a meter.
const (
	connections  rig.Figure = "conns" // new HTTP connections
	sessionBytes rig.Figure = "B/session"
	goroutines   rig.Figure = "goroutines" // goroutines of a session
	kept         rig.Figure = "kept"       // memory that a session keeps after listing all tools
	copies       rig.Figure = "copies"     // copies of a result that are alive
)

func comparison(l *lab) *rig.Comparison[cell, client] {
	return &rig.Comparison[cell, client]{
		Name:     "bench",
		Subjects: clients,
		Base:     baseline,
		Cells:    cells(),
		Targets:  targets,
		Columns: []rig.Column{
			{Figure: connections, Show: rig.Ratio},
			{Figure: sessionBytes, Show: rig.Size},
			{Figure: goroutines, Show: rig.Ratio},
			{Figure: kept, Show: rig.Size},
			{Figure: copies, Show: rig.Ratio},
		},
		Open:  l.open,
		Judge: judgePeers,
	}
}
