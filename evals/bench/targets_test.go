package main

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestLeads: ours must not take more than a peer, beyond the ± of both.
func TestLeads(t *testing.T) {
	c := rig.NewCell("pipe/small/legacy")
	for round := range 5 {
		c.Add(baseline, rig.Sample{rig.CPU: 1000})
		c.Add(oursName, rig.Sample{rig.CPU: 1200 + 50*float64(round-2)})
		c.Add(goSDKName, rig.Sample{rig.CPU: 1100})
		c.Add(mcpGoName, rig.Sample{rig.CPU: 5000})
	}
	wantVerdicts(t, c,
		"cpu, go-sdk's                          1.20 µs ≤ 1.15 µs    MISSED",
		"cpu, mcp-go's                          1.20 µs ≤ 5.05 µs    ok",
	)
}

// Without the floor the ± of the CPU times themselves counts.
func TestLeadsWithoutTheFloor(t *testing.T) {
	c := rig.NewCell("pipe/small/legacy")
	for round := range 5 {
		c.Add(oursName, rig.Sample{rig.CPU: 1200 + 50*float64(round-2)})
		c.Add(goSDKName, rig.Sample{rig.CPU: 1180})
	}
	wantVerdicts(t, c, "cpu, go-sdk's                          1.20 µs ≤ 1.23 µs    ok")
}

func wantVerdicts(t *testing.T, c *rig.Cell, lines ...string) {
	t.Helper()
	var out strings.Builder
	judgePeers([]*rig.Cell{c}, rig.NewVerdicts(&out))
	for _, want := range lines {
		check.Contains(t, "verdicts", out.String(), want)
	}
}
