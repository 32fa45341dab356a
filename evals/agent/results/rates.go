package results

import "math"

// Interval is a confidence interval.
type Interval struct{ Low, High float64 }

// mean returns the mean of values, 0 if there are none.
func mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / max(float64(len(values)), 1)
}

// wilson returns Wilson's score interval of a rate of n independent tasks: from 0 to 1 without
// tasks. Trials of a task are alike, so each task counts once, regardless of its number of trials.
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

// choices returns n choose k, 0 if k is above n.
func choices(n, k int) float64 {
	c := 1.0
	for i := range k {
		c *= float64(n-i) / float64(k-i)
	}
	return max(c, 0)
}
