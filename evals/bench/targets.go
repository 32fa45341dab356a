package main

import (
	"math"
	"strings"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

// ours returns a function that looks up one of our figures in a cell.
func ours(f rig.Figure) func(*rig.Cell) []float64 {
	return func(c *rig.Cell) []float64 { return c.Of(oursName, f) }
}

// cpuShare is our CPU time as a share of the floor's.
func cpuShare(c *rig.Cell) []float64 { return c.Ratios(oursName, baseline) }

// targets are the bounds of our figures. A bound above the floor's figure has its reason above it.
var targets = []rig.Target{
	rig.Bound(`^(pipe|stdio)/small/`, "cpu ratio", cpuShare, 1.3, rig.Ratio),
	rig.Bound(`^(pipe|stdio)/small/`, "allocations", ours(rig.Allocs), 18, rig.Count),
	rig.Bound(`^(pipe|stdio)/(64|512)/`, "cpu ratio", cpuShare, 1.4, rig.Ratio),

	// The floor's context never ends, so net/http starts nothing that watches it. With context.WithTimeout, as a call
	// of ours has it, the floor would take 0.05 more CPU time and 6 more allocations. Our exchange has a context of its
	// own below the call's: it also ends with the connection, and outlives the call while the rest of an event stream
	// is read. This takes 0.05 to 0.1 and 9 allocations. A goroutine with a timer reads that rest, because a server may
	// never end it; the floor reads to the end.
	rig.Bound(`^(json|sse)/small/`, "cpu ratio", cpuShare, 1.2, rig.Ratio),
	rig.Bound(`^(json|sse)(-default)?/(64|512)/`, "cpu ratio", cpuShare, 1.3, rig.Ratio),
	rig.Bound(`-default/`, "new connections a call", ours(connections), 0.005, rig.Ratio),

	rig.Bound(`/(1mib|10mib)/`, "cpu ratio", cpuShare, 0.6, rig.Ratio),
	// A buffer grows by a quarter, so two copies may have room for 2.3.
	rig.Bound(`/alive/`, "copies alive", ours(copies), 2.3, rig.Ratio),
	rig.Bound(`/tools/`, "cpu ratio", cpuShare, 0.6, rig.Ratio),
	rig.Bound(`/tools/`, "allocations", ours(rig.Allocs), 12000, rig.Count),
	rig.Bound(`/kept/`, "kept after listing (raw JSON)", ours(kept), rawList, rig.Size),

	// A client has parts that the floor lacks: stages, queues, the state of its goroutines. Its Close
	// waits for each goroutine. That takes 60 allocations and 5 to 10 µs. Over HTTP the exchange adds
	// the cost described above, which is large compared with the single request of the modern era.
	rig.Bound(`^(pipe|stdio)/connect/`, "cpu ratio", cpuShare, 1.3, rig.Ratio),
	rig.Bound(`^(json|sse)/connect/`, "cpu ratio", cpuShare, 1.5, rig.Ratio),

	rig.Bound(`^pipe/idle/`, "idle session", ours(sessionBytes), 16<<10, rig.Size),
	rig.Bound(`^(json|sse)/idle/`, "idle session", ours(sessionBytes), 5<<10, rig.Size), // see sessionParts
}

// rawList is the size of the raw JSON of all tools: a test compares it with the responder's.
const rawList = 1_564_170

// peers are the clients with which ours is compared.
var peers = []string{goSDKName, mcpGoName}

// comparisons are the figures of ours that must be at most the peer's, in any cell. A difference up
// to the slack is ignored.
var comparisons = []struct {
	name   string
	figure rig.Figure
	slack  func(c *rig.Cell, peer string) float64
	show   func(float64) string
}{
	{"cpu", rig.CPU, cpuSpread, rig.Duration},
	{"idle session", sessionBytes, sessionParts, rig.Size},
	{"kept", kept, func(*rig.Cell, string) float64 { return 16 << 10 }, rig.Size},
	{"copies", copies, func(*rig.Cell, string) float64 { return 0 }, rig.Ratio},
}

// judgePeers compares ours with its peers. It skips what -run or -only excluded.
func judgePeers(cells []*rig.Cell, v *rig.Verdicts) {
	for _, c := range cells {
		for _, peer := range peers {
			for _, p := range comparisons {
				mine, theirs := c.Of(oursName, p.figure), c.Of(peer, p.figure)
				if len(mine) == 0 || len(theirs) == 0 {
					continue
				}
				got := rig.Median(mine)
				limit := rig.Median(theirs) + p.slack(c, peer)
				v.Add(c.Name, p.name+", "+peer+"'s", p.show(got), p.show(limit), got <= limit)
			}
		}
	}
}

// cpuSpread is the ± of both ratios to the floor together, as CPU time: a smaller difference is
// chance. If the floor was not measured, it is the ± of both CPU times.
func cpuSpread(c *rig.Cell, peer string) float64 {
	spread := func(client string) float64 {
		times := c.Of(client, rig.CPU)
		ratios := c.Ratios(client, baseline)
		if len(ratios) == 0 {
			ratios = times
		}
		return rig.Median(times) * rig.Spread(ratios)
	}
	return math.Hypot(spread(oursName), spread(peer))
}

// sessionParts is the size of what only our session has over HTTP. mcp-go's session is 1.5 KiB, about what
// ours has for the connection (1.0) and what it knows of the server (0.4). By a heap profile, ours also has, in KiB:
//
//	1.5  the client: options with their limits, tables of tools, tasks and subscriptions, the cache
//	0.6  goroutines: the contexts, groups and queues of the lifecycle
//	0.4  the stages of a call
//	0.6  what they ask: sessions that are renewed, rounds of input, visits, slots for the server's requests
//	0.4  encoded _meta, in the modern era
//
// A connection of net/http, which is not counted, has buffers of 8 KiB.
func sessionParts(c *rig.Cell, peer string) float64 {
	if transport, _, _ := strings.Cut(c.Name, "/"); peer == mcpGoName && overHTTP(transport) {
		return 3.5 * 1024
	}
	return 0
}
