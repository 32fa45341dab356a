package main

import (
	"fmt"
	"io"
	"regexp"
	"slices"
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

var targets = []target{
	{regexp.MustCompile(`^(pipe|stdio)/small/`), cpuRatioName, cpuRatio, 1.3, ratio},
	{regexp.MustCompile(`^(pipe|stdio)/small/`), "allocations", allocs, 20, count},
	{regexp.MustCompile(`^(json|sse)/small/`), cpuRatioName, cpuRatio, 1.15, ratio},
	{regexp.MustCompile(`^(pipe|stdio)/(64|512)/`), cpuRatioName, cpuRatio, 1.4, ratio},
	{regexp.MustCompile(`^(json|sse)(-default)?/(64|512)/`), cpuRatioName, cpuRatio, 1.15, ratio},
	{regexp.MustCompile(`-default/`), "new connections a call", func(f figures) *float64 { return f.Connections }, 0.005, ratio},
	{regexp.MustCompile(`/(1mib|10mib)/`), cpuRatioName, cpuRatio, 0.6, ratio},
	// Two, and the room in a buffer that grows by a quarter: see doc.go.
	{regexp.MustCompile(`/alive/`), "copies alive, 2 and 0.3 of room", func(f figures) *float64 { return f.Alive }, 2.3, ratio},
	{regexp.MustCompile(`/tools/`), cpuRatioName, cpuRatio, 0.6, ratio},
	{regexp.MustCompile(`/tools/`), "allocations", allocs, 12000, count},
	{regexp.MustCompile(`/kept/`), "kept after listing, raw JSON", func(f figures) *float64 { return f.Kept }, rawList, size},
	{regexp.MustCompile(`/connect/`), cpuRatioName, cpuRatio, 1.2, ratio},
	{regexp.MustCompile(`^pipe/idle/`), "idle session", idle, 16 << 10, size},
	{regexp.MustCompile(`^(json|sse)/idle/`), "idle session", idle, 4 << 10, size},
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

// printTargets prints the result of each target in each cell, and returns the
// number of targets and of missed targets.
func printTargets(out io.Writer, results []result) (checked, missed int) {
	fmt.Fprintln(out, "targets")
	say := func(ok bool, cell, what, got, want string) {
		checked++
		verdict := "ok"
		if !ok {
			verdict = "MISSED"
			missed++
		}
		fmt.Fprintf(out, "  %-24s %-30s %10s ≤ %-10s %s\n", cell, what, got, want, verdict)
	}
	for _, of := range byCell(results) {
		for _, r := range of {
			if r.Client != "ours" {
				continue
			}
			for _, t := range targets {
				if v := t.of(r.figures); v != nil && t.cells.MatchString(r.Cell) {
					got := t.show(*v)
					if v == r.Ratio && r.Spread != nil {
						got += " ±" + percent(*r.Spread)
					}
					say(*v <= t.limit, r.Cell, t.what, got, t.show(t.limit))
				}
			}
			for _, peer := range of {
				if peer.Client == "go-sdk" || peer.Client == "mcp-go" {
					for _, l := range leads {
						if v, theirs := l.of(r.figures), l.of(peer.figures); v != nil && theirs != nil {
							say(*v <= *theirs+l.slack, r.Cell, l.what+", "+peer.Client+"'s", l.show(*v), l.show(*theirs+l.slack))
						}
					}
				}
			}
		}
	}
	return checked, missed
}

// leads are the figures that must be better than both peers', or equal, in
// every cell. A difference up to the slack is ignored.
var leads = []struct {
	what  string
	of    func(figures) *float64
	slack float64
	show  func(float64) string
}{
	{"cpu", func(f figures) *float64 { return f.CPU }, 0, duration},
	{"idle session", idle, 0, size},
	{"kept", func(f figures) *float64 { return f.Kept }, 16 << 10, size},
	{"copies", func(f figures) *float64 { return f.Alive }, 0, ratio},
}
