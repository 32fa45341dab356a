package results

import (
	"math"
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
