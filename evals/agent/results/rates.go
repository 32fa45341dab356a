package results

import (
	"fmt"
	"math"
)

// Interval is a confidence interval.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// mean returns 0 without values.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / max(float64(len(values)), 1)
}

// wilson returns Wilson's score interval of a rate of n independent tasks. Trials of a task are
// alike, so each task counts once, regardless of its number of trials.
func wilson(rate float64, n int, confidence float64) Interval {
	if n == 0 {
		return Interval{0, 1}
	}
	z := math.Sqrt2 * math.Erfinv(confidence)
	s := z * z / float64(n)
	middle := (rate + s/2) / (1 + s)
	half := math.Sqrt(s*(rate*(1-rate)+s/4)) / (1 + s)
	return Interval{max(0, middle-half), min(1, middle+half)}
}

// tasks has the counted trials of each task.
type tasks []tally

// passAt returns pass@k and pass^k: the means over tasks of the probabilities that at least one
// of k trials passes, and that all do. A task with fewer than k trials is an error.
func (t tasks) passAt(k int) (one, all float64, err error) {
	if len(t) == 0 {
		return 0, 0, ErrEmpty
	}
	for _, c := range t {
		n := c.passed + c.failed
		if k < 1 || n < k {
			return 0, 0, fmt.Errorf("a task has %d trials that count, and k is %d", n, k)
		}
		one += (1 - choices(c.failed, k)/choices(n, k)) / float64(len(t))
		all += choices(c.passed, k) / choices(n, k) / float64(len(t))
	}
	return one, all, nil
}

// choices returns n choose k.
func choices(n, k int) float64 {
	c := 1.0
	for i := range k {
		c *= float64(n-i) / float64(k-i)
	}
	return max(c, 0)
}
