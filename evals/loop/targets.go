package main

import (
	"io"
	"math"
	"regexp"
	"slices"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

// target bounds a figure in the cells with matching names.
type target struct {
	cells *regexp.Regexp
	what  string
	of    func(*measured) []float64 // round by round; nil if it is not measured
	limit float64
	show  func(float64) string
}

// mostOfMany is the target for many native calls in a turn. Functions that end within microseconds have
// one goroutine, as moving calls and their data between two processors takes 15 µs for eight, and 60 µs for 64.
//
// With 64 it is missed: we take 0.65 to 0.75 of what eino takes, and 0.93 to 1.03 of what langchaingo takes, which keeps no records and
// passes text to its tools one after the other. Of 167 µs, 45 are in the adapter (13 read the arguments), 28 record
// outcomes, 25 find and check tools and decide, 15 propose calls and make their keys, 14 ask the model and count
// tokens, 8 record intents, and 20 are the collector's.
const mostOfMany = 0.8

var targets = []target{
	{regexp.MustCompile(`^native/1$`), "CPU ÷ the best peer's", beside, 0.5, rig.Ratio},
	{regexp.MustCompile(`^native/(8|64)$`), "CPU ÷ the best peer's", beside, mostOfMany, rig.Ratio},
	{regexp.MustCompile(`^static/`), "CPU ÷ the best peer's", beside, withMCP, rig.Ratio},
	{regexp.MustCompile(`^go-sdk/`), "CPU ÷ (0.7 peer + 0.3 server)", besideServer, 1, rig.Ratio},
	{regexp.MustCompile(`^(native|static|go-sdk)/`), "CPU with a store ÷ without", stored, 1.5, rig.Ratio},
	{regexp.MustCompile(`^history/1000$`), "share of a model call", share, 30e3, rig.Duration},
	{regexp.MustCompile(`^history/10000$`), "share of a model call", share, 200e3, rig.Duration},
}

// bestPeer is the peer with the least CPU time, "" if there is none.
func bestPeer(m *measured) (best string) {
	for _, name := range m.names {
		if slices.Contains(peers, name) && (best == "" || rig.Median(m.cpu(name)) < rig.Median(m.cpu(best))) {
			best = name
		}
	}
	return best
}

// beside is our CPU time as a share of the best peer's.
func beside(m *measured) []float64 { return rig.ByRound(m.cpu(oursName), m.cpu(bestPeer(m)), over) }

// withMCP is the target for a tool of an MCP server.
const withMCP = 0.7

// besideServer is our CPU time as a share of what it would be at the target, if the
// server's own work is in both figures. A ratio of what is left without that work
// would be mostly noise.
func besideServer(m *measured) []float64 {
	bound := rig.ByRound(m.cpu(bestPeer(m)), m.cpu(serverName), func(peer, server float64) float64 {
		return withMCP*peer + (1-withMCP)*server
	})
	return rig.ByRound(m.cpu(oursName), bound, over)
}

func stored(m *measured) []float64 { return rig.ByRound(m.cpu(storedName), m.cpu(oursName), over) }

// share is how much a model call costs more because of the history.
func share(m *measured) []float64 {
	more := rig.ByRound(m.cpu(oursName), m.cpu(freshName), less)
	for i := range more {
		more[i] *= float64(m.cell.per()) / float64(m.cell.turns+1)
	}
	return more
}

// apart is how many standard errors a figure stands off its limit if the
// verdict is no chance.
const apart = 3

// decided reports whether the samples show on which side of their limits the
// figures of a cell are.
func decided(m *measured) bool {
	for _, t := range targets {
		if !t.cells.MatchString(m.cell.String()) {
			continue
		}
		if v := t.of(m); len(v) > 0 && math.Abs(rig.Median(v)-t.limit) < apart*math.Abs(rig.Median(v))*rig.Uncertainty(v) {
			return false
		}
	}
	return true
}

// verdicts prints targets with their results.
type verdicts struct{ rig.Verdicts }

func newVerdicts(out io.Writer) *verdicts {
	return &verdicts{rig.Verdicts{Out: out, Format: "  %-17s %-29s %14s ≤ %-10s %s\n"}}
}

// cell prints the targets of one cell.
func (v *verdicts) cell(m *measured) {
	for _, t := range targets {
		if values := t.of(m); t.cells.MatchString(m.cell.String()) && len(values) > 0 {
			got := t.show(rig.Median(values)) + " ±" + rig.Percent(rig.Spread(values))
			v.Say(m.cell.String(), t.what, got, t.show(t.limit), rig.Median(values) <= t.limit)
		}
	}
}

func over(a, b float64) float64 { return a / b }
func less(a, b float64) float64 { return a - b }
