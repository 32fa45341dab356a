package main

import (
	"math"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

func TestSummarize(t *testing.T) {
	one := func(ops int, cpu time.Duration) sample {
		return sample{rig.Cost{CPU: cpu, Wall: 2 * cpu, Bytes: uint64(100 * ops), Allocs: uint64(5 * ops)}, ops, ops / 2}
	}
	base := []sample{one(10, 100*time.Microsecond), one(10, 200*time.Microsecond), one(10, 1000*time.Microsecond)}
	mine := []sample{one(2, 40*time.Microsecond), one(2, 80*time.Microsecond), one(2, 600*time.Microsecond)}

	f := summarize(mine, base)
	for _, test := range []struct {
		name string
		got  *float64
		want float64
	}{
		{"cpu", f.CPU, 40e3},
		{"ratio", f.Ratio, 2},
		{"spread", f.Spread, 0.125},
		{"wall", f.Wall, 80e3},
		{"rate", f.Rate, 12500},
		{"bytes", f.Bytes, 100},
		{"allocations", f.Allocs, 5},
		{"connections", f.Connections, 0.5},
	} {
		if test.got == nil || math.Abs(*test.got-test.want) > 1e-9 {
			t.Errorf("%s: got %v, want %v", test.name, test.got, test.want)
		}
	}

	if f := summarize(base, base); *f.Ratio != 1 || f.Spread != nil {
		t.Errorf("the baseline: got ratio %v and spread %v, want 1 and none", *f.Ratio, f.Spread)
	}
	if f := summarize(mine, nil); f.Ratio != nil {
		t.Errorf("without a baseline: got ratio %v, want none", *f.Ratio)
	}
}

// More samples are taken while a ratio is too close to its target.
func TestDecided(t *testing.T) {
	samples := func(n int, cpu ...time.Duration) (all []sample) {
		for i := range n {
			all = append(all, sample{ops: 1, Cost: rig.Cost{CPU: cpu[i%len(cpu)]}})
		}
		return all
	}
	for _, test := range []struct {
		name string
		cell string
		n    int
		ours []time.Duration
		want bool
	}{
		{"clearly below", "json/64/legacy", 15, []time.Duration{95, 100}, true},
		{"clearly above", "json/64/legacy", 15, []time.Duration{140, 145}, true},
		{"close to 1.3", "json/64/legacy", 15, []time.Duration{123, 129, 135}, false},
		{"close to another target", "json/64/legacy", 15, []time.Duration{108, 114, 120}, true},
		{"close, by many samples", "json/64/legacy", 1500, []time.Duration{123, 129, 135}, true},
		{"no target", "json/idle/legacy", 15, []time.Duration{98, 104, 110}, true},
	} {
		if got := decided(test.cell, samples(test.n, test.ours...), samples(test.n, 100)); got != test.want {
			t.Errorf("%s: got %t, want %t", test.name, got, test.want)
		}
	}
	if !decided("json/64/legacy", samples(15, 98, 104, 110), nil) {
		t.Error("without a baseline there is nothing to decide")
	}
}
