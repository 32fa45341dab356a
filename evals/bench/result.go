package main

import "github.com/mcpchain/mcpchain/evals/bench/rig"

// result is the result of one client in one cell. Unmeasured figures are
// absent.
type result struct {
	Cell   string `json:"cell"`
	Client string `json:"client"`
	figures
}

// figures are the measures of a result.
type figures struct {
	CPU         *float64 `json:"cpu_ns_per_op,omitempty"`
	Ratio       *float64 `json:"cpu_ratio,omitempty"` // to the baseline
	Spread      *float64 `json:"cpu_ratio_spread,omitempty"`
	Samples     int      `json:"samples,omitempty"`
	Wall        *float64 `json:"wall_ns_per_op,omitempty"`
	Rate        *float64 `json:"ops_per_second,omitempty"`
	Bytes       *float64 `json:"bytes_per_op,omitempty"`
	Allocs      *float64 `json:"allocs_per_op,omitempty"`
	Connections *float64 `json:"connections_per_op,omitempty"`

	SessionBytes *float64 `json:"bytes_per_session,omitempty"` // heap and stacks
	Goroutines   *float64 `json:"goroutines_per_session,omitempty"`
	Kept         *float64 `json:"bytes_kept_after_listing,omitempty"` // by the session
	Held         *float64 `json:"bytes_held_with_list,omitempty"`     // and the list itself
	Alive        *float64 `json:"payload_copies_alive,omitempty"`
}

func cpuOf(s sample) float64 { return float64(s.CPU) }

// summarize makes the figures of samples. There is no ratio without samples of
// the baseline, and no spread of the baseline's own.
func summarize(samples, base []sample) figures {
	middle := func(of func(sample) float64) *float64 { return new(rig.Median(perOp(samples, of))) }
	f := figures{
		Samples: len(samples),
		CPU:     middle(cpuOf),
		Wall:    middle(func(s sample) float64 { return float64(s.Wall) }),
		Bytes:   middle(func(s sample) float64 { return float64(s.Bytes) }),
		Allocs:  middle(func(s sample) float64 { return float64(s.Allocs) }),
	}
	f.Rate = new(1e9 / max(*f.Wall, 1))
	f.Connections = middle(func(s sample) float64 { return float64(s.opened) })
	if r := rig.Ratios(perOp(samples, cpuOf), perOp(base, cpuOf)); len(r) > 0 {
		f.Ratio = new(rig.Median(r))
		if &samples[0] != &base[0] {
			f.Spread = new(rig.Spread(r))
		}
	}
	return f
}
