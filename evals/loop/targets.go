package main

import "github.com/mcpchain/mcpchain/evals/bench/rig"

// mostOfMany is the target for many native calls in a turn, as a share of the best peer's CPU time.
// Functions that end within microseconds have one goroutine, as moving calls and their data between
// two processors takes 15 µs for eight, and 60 µs for 64.
//
// With 64 it is missed: ours takes 0.6 to 0.75 of what eino takes, and 0.93 to 1.05 of what
// langchaingo takes, which keeps no records and passes text to its tools one after the other. Of
// 167 µs, 45 are in the adapter (13 read the arguments), 28 record outcomes, 25 find and check
// tools and decide, 15 propose calls and make their keys, 14 ask the model and count tokens, 8
// record intents, and 20 are the collector's.
const mostOfMany = 0.8

// withMCP is the target for a tool of an MCP server.
const withMCP = 0.7

// withStore is the target for a store in memory, as a multiple of the CPU time without one. Most of the
// difference is the JSON of the records, about 1 µs each.
const withStore = 3

var targets = []rig.Target{
	rig.Bound(`^native/1$`, "CPU ÷ the best peer's", beside, 0.5, rig.Ratio),
	rig.Bound(`^native/(8|64)$`, "CPU ÷ the best peer's", beside, mostOfMany, rig.Ratio),
	rig.Bound(`^static/`, "CPU ÷ the best peer's", beside, withMCP, rig.Ratio),
	rig.Bound(`^(native|static)/`, "CPU with a store ÷ without", stored, withStore, rig.Ratio),
	rig.Bound(`^history/1000$`, "share of a model call", share, 30e3, rig.Duration),
	rig.Bound(`^history/10000$`, "share of a model call", share, 200e3, rig.Duration),
}

// bestPeer returns the CPU time of the fastest peer, nil if there is none.
func bestPeer(c *rig.Cell) (best []float64) {
	for _, name := range []string{einoName, langchaingoName} {
		if cpu := c.Of(name, rig.CPU); len(cpu) > 0 && (best == nil || rig.Median(cpu) < rig.Median(best)) {
			best = cpu
		}
	}
	return best
}

// beside is our CPU time as a share of the best peer's.
func beside(c *rig.Cell) []float64 {
	return rig.ByRound(c.Of(oursName, rig.CPU), bestPeer(c), rig.Over)
}

// stored is our CPU time with a store as a share of that without.
func stored(c *rig.Cell) []float64 { return c.Ratios(storedName, oursName) }

// share is how much more a model call costs because of the history. Figures are for a turn, and a run calls the model
// once more than it has turns.
func share(c *rig.Cell) []float64 {
	return rig.ByRound(c.Of(oursName, rig.CPU), c.Of(freshName, rig.CPU), func(ours, fresh float64) float64 {
		return (ours - fresh) * turns / (turns + 1)
	})
}
