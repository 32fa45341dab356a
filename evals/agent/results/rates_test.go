package results

import (
	"math"
	"math/rand/v2"
	"testing"
)

// The intervals are SciPy's.
func TestIntervals(t *testing.T) {
	for _, test := range []struct {
		name      string
		got       Interval
		low, high float64
	}{
		{"7 of 10", wilson(0.7, 10, 0.95), 0.3967781, 0.8922087},
		{"none of 5", wilson(0, 5, 0.95), 0, 0.4344825},
		{"all of 5", wilson(1, 5, 0.95), 0.5655175, 1},
		{"nothing", wilson(0, 0, 0.95), 0, 1},
	} {
		if math.Abs(test.got.Low-test.low) > 1e-4 || math.Abs(test.got.High-test.high) > 1e-4 {
			t.Errorf("%s: got %v, want %v to %v", test.name, test.got, test.low, test.high)
		}
	}
}

// Whatever the tasks, an interval of 95 % has the true rate in about 95 of 100
// suites. Trials of one task are alike: some tasks always pass, others never do.
func TestCoverage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, test := range []struct {
		tasks int
		rate  float64
	}{{3, 0.8}, {12, 0.95}, {12, 0.5}, {40, 0.9}} {
		const suites = 4000
		held := 0
		for range suites {
			sum := 0.0
			for range test.tasks {
				if r.Float64() < test.rate {
					sum++ // in each of its trials
				}
			}
			if i := wilson(sum/float64(test.tasks), test.tasks, 0.95); i.Low <= test.rate && test.rate <= i.High {
				held++
			}
		}
		if share := float64(held) / suites; share < 0.87 {
			t.Errorf("%d tasks with a rate of %v: got a share of %v, want about 0.95", test.tasks, test.rate, share)
		}
	}
}
