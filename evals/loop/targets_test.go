package main

import (
	"slices"
	"strings"
	"testing"
)

func TestEveryTargetHasCells(t *testing.T) {
	for _, target := range targets {
		if !slices.ContainsFunc(cells(), func(c cell) bool { return target.cells.MatchString(c.String()) }) {
			t.Errorf("no cell matches %s (%s)", target.cells, target.what)
		}
	}
}

// figured has three equal samples of each framework, which take so much CPU time.
func figured(at cell, cpu map[string]float64) *measured {
	m := &measured{cell: at, samples: map[string][]sample{}}
	for _, f := range frameworks {
		if ns, ok := cpu[f.name]; ok {
			m.names = append(m.names, f.name)
			m.samples[f.name] = slices.Repeat([]sample{{cpu: ns}}, 3)
		}
	}
	return m
}

func TestVerdicts(t *testing.T) {
	history := cell{kind: static, calls: 1, turns: 10, history: 1000}
	for _, test := range []struct {
		at   cell
		cpu  map[string]float64
		want string // of the target's line; "" if there is none
	}{
		{cell{kind: native, calls: 1, turns: 10}, map[string]float64{oursName: 50, "eino": 90, "langchaingo": 100}, "0.56 ±0% ≤ 0.50       MISSED"},
		{cell{kind: native, calls: 8, turns: 10}, map[string]float64{oursName: 80, "eino": 100}, "0.80 ±0% ≤ 0.80       ok"},
		{cell{kind: native, calls: 64, turns: 10}, map[string]float64{oursName: 81, "eino": 100}, "0.81 ±0% ≤ 0.80       MISSED"},
		{cell{kind: native, calls: 8, turns: 10}, map[string]float64{"eino": 100}, ""},
		{cell{kind: native, calls: 8, turns: 10}, map[string]float64{oursName: 50}, ""},
		{cell{kind: static, calls: 1, turns: 10}, map[string]float64{oursName: 70, "eino": 100}, "0.70 ±0% ≤ 0.70       ok"},
		{cell{kind: gosdk, calls: 1, turns: 10}, map[string]float64{oursName: 180, "eino": 200, serverName: 100}, "1.06 ±0% ≤ 1.00       MISSED"},
		{cell{kind: gosdk, calls: 1, turns: 10}, map[string]float64{oursName: 170, "eino": 200, serverName: 100}, "1.00 ±0% ≤ 1.00       ok"},
		{cell{kind: gosdk, calls: 1, turns: 10}, map[string]float64{oursName: 170, "eino": 200}, ""},
		{history, map[string]float64{oursName: 43e3, freshName: 10e3, "eino": 1}, "30.00 µs ±0% ≤ 30.00 µs   ok"},
		{history, map[string]float64{oursName: 54e3, freshName: 10e3}, "40.00 µs ±0% ≤ 30.00 µs   MISSED"},
	} {
		var out strings.Builder
		v := newVerdicts(&out)
		v.cell(figured(test.at, test.cpu))
		if test.want == "" && v.Checked > 0 || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s %v: got %q, want %q", test.at, test.cpu, &out, test.want)
		}
		if missed := strings.Contains(test.want, "MISSED"); missed != (v.Missed == 1) {
			t.Errorf("%s %v: got %d missed targets, want %v", test.at, test.cpu, v.Missed, missed)
		}
	}
}

// TestDecided: a cell takes more samples while its figure is close to the limit.
func TestDecided(t *testing.T) {
	at := cell{kind: native, calls: 1, turns: 10}
	for _, test := range []struct {
		ours []float64 // round by round; the peer's are 100
		want bool
	}{
		{[]float64{20, 30, 25, 22, 28}, true},
		{[]float64{90, 80, 85, 82, 88}, true},
		{[]float64{40, 60, 52, 45, 55}, false},
	} {
		m := figured(at, map[string]float64{oursName: 1, "eino": 1})
		m.samples[oursName], m.samples["eino"] = nil, nil
		for _, ns := range test.ours {
			m.samples[oursName] = append(m.samples[oursName], sample{cpu: ns})
			m.samples["eino"] = append(m.samples["eino"], sample{cpu: 100})
		}
		if got := decided(m); got != test.want {
			t.Errorf("%v: got %v, want %v", test.ours, got, test.want)
		}
	}
}
