package main

import (
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

// target bounds a figure of ours in the cells with matching names.
type target struct {
	cells *regexp.Regexp
	what  string
	of    func(figures) *float64
	limit float64
	show  func(float64) string
}

const cpuRatioName = "cpu ratio"

func cpuRatio(f figures) *float64 { return f.Ratio }
func allocs(f figures) *float64   { return f.Allocs }
func idle(f figures) *float64     { return f.SessionBytes }

// targets has a reason for each bound above the plain 1.15, 1.2 or 4 KiB.
//
// Calls over HTTP, small ones and many at once: a floor's context cannot end, so that
// net/http has nothing to watch. A call of ours has limits of time: a floor with
// context.WithTimeout takes 0.05 more, 6 allocations. Its exchange has a context of its own
// below that, which ends with the connection too, and outlives the call while the rest of
// an event stream is read: 0.05 to 0.1, 9 allocations. That rest is read by a goroutine
// with a timer, as a server may never end it, while a floor reads to the end.
//
// connect: a client has parts that a floor lacks (stages, queues, the state of its
// goroutines), and its Close waits for each goroutine. That takes 60 allocations and 5 to
// 10 µs, and over HTTP an exchange more than a floor's as above: much next to the one
// request of the modern era in the same machine.
//
// idle over HTTP: mcp-go's session is 1.5 KiB, about what ours has for the connection, the
// server and the tables of tools, tasks and cache. Beside that ours has 0.9 KiB for
// goroutines (the contexts, groups and queues of the lifecycle, slots for the server's
// requests), 1.0 for the stages of a call and what they ask (retries, rounds of input,
// visits, sessions that begin anew, subscriptions), 0.5 of options with their limits, and in
// the modern era 0.4 of encoded _meta. A connection of net/http, which is not counted, has
// buffers of 8 KiB.
var targets = []target{
	{regexp.MustCompile(`^(pipe|stdio)/small/`), cpuRatioName, cpuRatio, 1.3, rig.Ratio},
	{regexp.MustCompile(`^(pipe|stdio)/small/`), "allocations", allocs, 18, rig.Count},
	{regexp.MustCompile(`^(json|sse)/small/`), cpuRatioName, cpuRatio, 1.2, rig.Ratio},
	{regexp.MustCompile(`^(pipe|stdio)/(64|512)/`), cpuRatioName, cpuRatio, 1.4, rig.Ratio},
	{regexp.MustCompile(`^(json|sse)(-default)?/(64|512)/`), cpuRatioName, cpuRatio, 1.3, rig.Ratio},
	{regexp.MustCompile(`-default/`), "new connections a call", func(f figures) *float64 { return f.Connections }, 0.005, rig.Ratio},
	{regexp.MustCompile(`/(1mib|10mib)/`), cpuRatioName, cpuRatio, 0.6, rig.Ratio},
	// Two, and the room in a buffer that grows by a quarter: see doc.go.
	{regexp.MustCompile(`/alive/`), "copies alive, 2 and 0.3 of room", func(f figures) *float64 { return f.Alive }, 2.3, rig.Ratio},
	{regexp.MustCompile(`/tools/`), cpuRatioName, cpuRatio, 0.6, rig.Ratio},
	{regexp.MustCompile(`/tools/`), "allocations", allocs, 12000, rig.Count},
	{regexp.MustCompile(`/kept/`), "kept after listing, raw JSON", func(f figures) *float64 { return f.Kept }, rawList, rig.Size},
	{regexp.MustCompile(`^(pipe|stdio)/connect/`), cpuRatioName, cpuRatio, 1.3, rig.Ratio},
	{regexp.MustCompile(`^(json|sse)/connect/`), cpuRatioName, cpuRatio, 1.5, rig.Ratio},
	{regexp.MustCompile(`^pipe/idle/`), "idle session", idle, 16 << 10, rig.Size},
	{regexp.MustCompile(`^(json|sse)/idle/`), "idle session", idle, 5 << 10, rig.Size},
}

// ratioLimit is the bound on the ratio of CPU time in a cell, if there is one.
func ratioLimit(cell string) (limit float64, ok bool) {
	i := slices.IndexFunc(targets, func(t target) bool { return t.what == cpuRatioName && t.cells.MatchString(cell) })
	if i < 0 {
		return 0, false
	}
	return targets[i].limit, true
}

// rawList is the size of the raw JSON of all tools: a test compares it with the
// responder's.
const rawList = 1_564_170

// printTargets prints the result of each target in each cell.
func printTargets(out io.Writer, results []result) *rig.Verdicts {
	fmt.Fprintln(out, "targets")
	v := &rig.Verdicts{Out: out, Format: "  %-24s %-30s %10s ≤ %-10s %s\n"}
	for _, of := range byCell(results) {
		for _, r := range of {
			if r.Client != "ours" {
				continue
			}
			for _, t := range targets {
				if n := t.of(r.figures); n != nil && t.cells.MatchString(r.Cell) {
					got := t.show(*n)
					if n == r.Ratio && r.Spread != nil {
						got += " ±" + rig.Percent(*r.Spread)
					}
					v.Say(r.Cell, t.what, got, t.show(t.limit), *n <= t.limit)
				}
			}
			for _, peer := range of {
				if peer.Client == "go-sdk" || peer.Client == "mcp-go" {
					for _, l := range leads {
						if n, theirs := l.of(r.figures), l.of(peer.figures); n != nil && theirs != nil {
							limit := *theirs + l.slack(r, peer)
							v.Say(r.Cell, l.what+", "+peer.Client+"'s", l.show(*n), l.show(limit), *n <= limit)
						}
					}
				}
			}
		}
	}
	return v
}

// leads are the figures that must be better than both peers', or equal, in
// every cell. A difference up to the slack is ignored.
var leads = []struct {
	what  string
	of    func(figures) *float64
	slack func(ours, peer result) float64
	show  func(float64) string
}{
	{"cpu", func(f figures) *float64 { return f.CPU }, cpuSpread, rig.Duration},
	{"idle session", idle, sessionParts, rig.Size},
	{"kept", func(f figures) *float64 { return f.Kept }, func(_, _ result) float64 { return 16 << 10 }, rig.Size},
	{"copies", func(f figures) *float64 { return f.Alive }, func(_, _ result) float64 { return 0 }, rig.Ratio},
}

// cpuSpread is the ± of both ratios together, as CPU time: a smaller difference is
// chance.
func cpuSpread(ours, peer result) float64 {
	if ours.Spread == nil || peer.Spread == nil {
		return 0
	}
	return math.Hypot(*ours.CPU**ours.Spread, *peer.CPU**peer.Spread)
}

// sessionParts is what a session of ours has and mcp-go's has not, over HTTP, where
// nothing else counts: see targets.
func sessionParts(ours, peer result) float64 {
	if peer.Client == "mcp-go" && (strings.HasPrefix(ours.Cell, "json/") || strings.HasPrefix(ours.Cell, "sse/")) {
		return 3584
	}
	return 0
}
