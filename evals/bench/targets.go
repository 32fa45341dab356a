package main

import (
	"math"
	"strings"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

// ours returns a figure of ours in a cell.
func ours(f rig.Figure) func(*rig.Cell) []float64 {
	return func(c *rig.Cell) []float64 { return c.Of(oursName, f) }
}

// ratio is our CPU time as a share of the floor's.
func ratio(c *rig.Cell) []float64 { return c.Ratios(oursName, baseline) }

// targets are the bounds of our figures. Those above 1.15, 1.2 or 4 KiB have a reason:
//
// Calls over HTTP, small ones and many concurrent ones: a floor's context cannot end, so that
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
// idle over HTTP: mcp-go's session is 1.5 KiB, about what ours has for the connection, the server
// and the tables of tools, tasks and cache. Beside that ours has 0.9 KiB for goroutines (the
// contexts, groups and queues of the lifecycle, slots for the server's requests), 1.0 for the
// stages of a call and what they ask (retries, rounds of input, visits, sessions that are renewed,
// subscriptions), 0.5 of options with their limits, and in the modern era 0.4 of encoded _meta. A
// connection of net/http, which is not counted, has buffers of 8 KiB.
var targets = []rig.Target{
	rig.Bound(`^(pipe|stdio)/small/`, "cpu ratio", ratio, 1.3, rig.Ratio),
	rig.Bound(`^(pipe|stdio)/small/`, "allocations", ours(rig.Allocs), 18, rig.Count),
	rig.Bound(`^(json|sse)/small/`, "cpu ratio", ratio, 1.2, rig.Ratio),
	rig.Bound(`^(pipe|stdio)/(64|512)/`, "cpu ratio", ratio, 1.4, rig.Ratio),
	rig.Bound(`^(json|sse)(-default)?/(64|512)/`, "cpu ratio", ratio, 1.3, rig.Ratio),
	rig.Bound(`-default/`, "new connections a call", ours(connections), 0.005, rig.Ratio),
	rig.Bound(`/(1mib|10mib)/`, "cpu ratio", ratio, 0.6, rig.Ratio),
	// Two, and the room in a buffer that grows by a quarter: see doc.go.
	rig.Bound(`/alive/`, "copies alive, 2 and 0.3 of room", ours(copies), 2.3, rig.Ratio),
	rig.Bound(`/tools/`, "cpu ratio", ratio, 0.6, rig.Ratio),
	rig.Bound(`/tools/`, "allocations", ours(rig.Allocs), 12000, rig.Count),
	rig.Bound(`/kept/`, "kept after listing, raw JSON", ours(kept), rawList, rig.Size),
	rig.Bound(`^(pipe|stdio)/connect/`, "cpu ratio", ratio, 1.3, rig.Ratio),
	rig.Bound(`^(json|sse)/connect/`, "cpu ratio", ratio, 1.5, rig.Ratio),
	rig.Bound(`^pipe/idle/`, "idle session", ours(sessionBytes), 16<<10, rig.Size),
	rig.Bound(`^(json|sse)/idle/`, "idle session", ours(sessionBytes), 5<<10, rig.Size),
}

// rawList is the size of the raw JSON of all tools: a test compares it with the responder's.
const rawList = 1_564_170

// leads are the figures in which ours must not be behind a peer, in any cell.
// A difference up to the slack is ignored.
var leads = []struct {
	what   string
	figure rig.Figure
	slack  func(c *rig.Cell, peer string) float64
	show   func(float64) string
}{
	{"cpu", rig.CPU, cpuSpread, rig.Duration},
	{"idle session", sessionBytes, sessionParts, rig.Size},
	{"kept", kept, func(*rig.Cell, string) float64 { return 16 << 10 }, rig.Size},
	{"copies", copies, func(*rig.Cell, string) float64 { return 0 }, rig.Ratio},
}

// judgeLeads compares ours with both peers.
func judgeLeads(cells []*rig.Cell, v *rig.Verdicts) {
	for _, c := range cells {
		for _, peer := range []string{goSDKName, mcpGoName} {
			for _, l := range leads {
				mine, theirs := c.Of(oursName, l.figure), c.Of(peer, l.figure)
				if len(mine) == 0 || len(theirs) == 0 {
					continue
				}
				got, limit := rig.Median(mine), rig.Median(theirs)+l.slack(c, peer)
				v.Add(c.Name, l.what+", "+peer+"'s", l.show(got), l.show(limit), got <= limit)
			}
		}
	}
}

// cpuSpread is the ± of both ratios to the floor together, as CPU time: a smaller difference is chance.
func cpuSpread(c *rig.Cell, peer string) float64 {
	spread := func(client string) float64 {
		return rig.Median(c.Of(client, rig.CPU)) * rig.Spread(c.Ratios(client, baseline))
	}
	return math.Hypot(spread(oursName), spread(peer))
}

// sessionParts is the size of the parts that only our session has over HTTP: see targets.
func sessionParts(c *rig.Cell, peer string) float64 {
	if peer == mcpGoName && (strings.HasPrefix(c.Name, "json/") || strings.HasPrefix(c.Name, "sse/")) {
		return 3584
	}
	return 0
}
