package stats

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// The values are of scipy: testdata/goldens.py.
func TestAgainstSciPy(t *testing.T) {
	data, err := os.ReadFile("testdata/goldens.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct {
		Values, T, Wilson, D, BS, BCa []float64
		TQ, NQ                        [][]float64
		Rates, RateIntervals          [][]float64
		Ps, Holm                      []float64
		Tallies                       [][]int
		Perm, MDE, PassAt2, PassAll2  float64
	}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-9 {
			t.Errorf("%s: got %.12f, want %.12f", what, got, want)
		}
	}
	interval := func(what string, got Interval, want []float64) {
		t.Helper()
		near(what, got.Low, want[0])
		near(what, got.High, want[1])
	}
	interval("t", TInterval(want.Values, 0.95), want.T)
	interval("Wilson", Wilson(7, 10, 0.95), want.Wilson)
	interval("BCa", BCa(want.Values, want.BS, 0.95), want.BCa)
	for i, rates := range want.Rates {
		interval("rate", Rate(rates, 0.95), want.RateIntervals[i])
	}
	for i, p := range Holm(want.Ps) {
		near("Holm", p, want.Holm[i])
	}
	for _, q := range want.TQ {
		near("quantile of t", TQuantile(q[0], q[1]), q[2])
	}
	for _, q := range want.NQ {
		near("quantile of the normal distribution", NormalQuantile(q[0]), q[1])
	}
	near("permutation", Permutation(want.D), want.Perm)
	near("detectable", Detectable(want.D), want.MDE)
	var tallies []Tally
	for _, c := range want.Tallies {
		tallies = append(tallies, Tally{c[0], c[1]})
	}
	at, err := PassAt(2, tallies)
	near("pass@2", at, want.PassAt2)
	all, err2 := PassAll(2, tallies)
	near("pass^2", all, want.PassAll2)
	if err != nil || err2 != nil {
		t.Error(err, err2)
	}
}

// Rate covers the true rate at least as often as it says, also of few tasks and of rates near 1. The
// others do so only where they are regular: 30 tasks, 4 trials of each, half of the variance between
// tasks. Wilson's interval over all 120 trials never does: the trials of a task are alike.
func TestCoverage(t *testing.T) {
	for _, truth := range []float64{0.6, 0.9, 0.95} {
		for _, tasks := range []int{3, 6, 12, 30} {
			if c := simulate(truth, tasks, 500); c.rate < 0.94 {
				t.Errorf("%v, %d tasks: Rate covers %.3f, want at least 0.94", truth, tasks, c.rate)
			}
		}
	}
	c := simulate(0.6, 30, 3000)
	t.Logf("30 tasks at 0.6: %+v", c)
	for what, got := range map[string]float64{"t": c.t, "BCa": c.bca} {
		if got < 0.93 || got > 0.97 {
			t.Errorf("%s covers %.3f, want 0.93 to 0.97", what, got)
		}
	}
	if c.wilson >= 0.85 {
		t.Errorf("Wilson over trials covers %.3f, want less than 0.85", c.wilson)
	}
	if near := simulate(0.95, 12, 500); near.t > 0.85 || near.bca > 0.85 {
		t.Errorf("t covers %.3f and BCa %.3f of 12 tasks at 0.95: they could be shown", near.t, near.bca)
	}
}

// coverage is how often intervals cover the truth.
type coverage struct{ rate, t, bca, wilson float64 }

func simulate(truth float64, tasks, times int) (c coverage) {
	const trials = 4
	r := rand.New(rand.NewPCG(7, 11))
	for range times {
		rates, passed := make([]float64, tasks), 0
		for i := range rates {
			p := beta(r, truth, 1-truth) // a sum of 1: half of the variance is between tasks
			n := 0
			for range trials {
				if r.Float64() < p {
					n++
				}
			}
			rates[i] = float64(n) / trials
			passed += n
		}
		count := func(of *float64, i Interval) {
			if i.Low <= truth && truth <= i.High {
				*of += 1 / float64(times)
			}
		}
		count(&c.rate, Rate(rates, 0.95))
		count(&c.t, TInterval(rates, 0.95))
		count(&c.bca, BCa(rates, Resample(rates, 200, r.Uint64()), 0.95))
		count(&c.wilson, Wilson(passed, tasks*trials, 0.95))
	}
	return c
}

func TestRegular(t *testing.T) {
	rates := func(tasks, failed int) []float64 {
		all := make([]float64, tasks)
		for i := failed; i < tasks; i++ {
			all[i] = 1
		}
		return all
	}
	for _, c := range []struct {
		tasks, failed int
		want          bool
	}{{0, 0, false}, {29, 14, false}, {30, 0, false}, {30, 9, false}, {30, 10, true}, {30, 20, true}, {30, 21, false}, {100, 10, true}} {
		if got := Regular(rates(c.tasks, c.failed)); got != c.want {
			t.Errorf("%d of %d tasks failed: got %v, want %v", c.failed, c.tasks, got, c.want)
		}
	}
}

// beta is a random value of the beta distribution, by Jöhnk's method: a and b are at most 1.
func beta(r *rand.Rand, a, b float64) float64 {
	for {
		x, y := math.Pow(r.Float64(), 1/a), math.Pow(r.Float64(), 1/b)
		if s := x + y; s > 0 && s <= 1 {
			return x / s
		}
	}
}

func TestPassNeedsTrials(t *testing.T) {
	for _, tasks := range [][]Tally{nil, {{1, 1}}, {{3, 3}, {1, 1}}} {
		if got, err := PassAt(2, tasks); err == nil {
			t.Errorf("pass@2 of %v: got %v, want an error", tasks, got)
		}
		if got, err := PassAll(2, tasks); err == nil {
			t.Errorf("pass^2 of %v: got %v, want an error", tasks, got)
		}
	}
}

// Many differences are compared by random signs: the p-value is close to that of all signs.
func TestPermutationOfMany(t *testing.T) {
	few := []float64{1, 0, 1, -1, 1, 1, 0, 1, 1, -1, 1, 0, 1, 1, 0, 0}
	many := append(append([]float64(nil), few...), 0)
	if a, b := Permutation(few), Permutation(many); math.Abs(a-b) > 0.005 {
		t.Errorf("got %v by random signs, %v by all", b, a)
	}
}
