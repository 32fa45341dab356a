package main

import (
	"fmt"
	"testing"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
	"github.com/mcpchain/mcpchain/internal/check"
)

func TestTargets(t *testing.T) {
	history := cell{kind: static, calls: 1, turns: 10, history: 1000}
	for _, test := range []struct {
		at   cell
		cpu  map[string]float64
		want string // figure and limit; "" if no target applies
	}{
		{cell{kind: native, calls: 1, turns: 10}, map[string]float64{oursName: 50, "eino": 90, "langchaingo": 100}, "0.56 of 0.50"},
		{cell{kind: native, calls: 8, turns: 10}, map[string]float64{oursName: 80, "eino": 100}, "0.80 of 0.80"},
		{cell{kind: native, calls: 64, turns: 10}, map[string]float64{oursName: 81, "eino": 100}, "0.81 of 0.80"},
		{cell{kind: native, calls: 8, turns: 10}, map[string]float64{"eino": 100}, ""},
		{cell{kind: native, calls: 8, turns: 10}, map[string]float64{oursName: 50}, ""},
		{cell{kind: static, calls: 1, turns: 10}, map[string]float64{oursName: 70, "eino": 100}, "0.70 of 0.70"},
		{history, map[string]float64{oursName: 43e3, freshName: 10e3, "eino": 1}, "30000.00 of 30000.00"},
		{history, map[string]float64{oursName: 54e3, freshName: 10e3}, "40000.00 of 30000.00"},
	} {
		c := rig.NewCell(test.at.String())
		for name, cpu := range test.cpu {
			c.Add(name, rig.Sample{rig.CPU: cpu})
		}
		got := ""
		for _, target := range targets {
			if v := target.Of(c); target.Cells.MatchString(c.Name) && len(v) > 0 {
				got += fmt.Sprintf("%.2f of %.2f", v[0], target.Limit)
			}
		}
		check.That(t, got == test.want, "%s %v: got %q, want %q", test.at, test.cpu, got, test.want)
	}
}
