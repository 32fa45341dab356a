package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Interval holds what is estimated, with a confidence of 95 % unless a function says otherwise.
type Interval struct {
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// Mean is the mean of the values, and 0 without any.
func Mean(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Deviation is the standard deviation of a sample, and 0 for fewer than two values.
func Deviation(values []float64) float64 {
	if len(values) < 2 {
		return 0
	}
	mean, sum := Mean(values), 0.0
	for _, v := range values {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(len(values)-1))
}

// TInterval is Student's interval of the mean. Fewer than two values say nothing of it: the interval
// is unbounded.
func TInterval(values []float64, confidence float64) Interval {
	n := float64(len(values))
	if n < 2 {
		return Interval{math.Inf(-1), math.Inf(1)}
	}
	mean, half := Mean(values), TQuantile(0.5+confidence/2, n-1)*Deviation(values)/math.Sqrt(n)
	return Interval{mean - half, mean + half}
}

// Wilson is Wilson's score interval of a rate of independent trials.
func Wilson(passed, trials int, confidence float64) Interval {
	if trials == 0 {
		return Interval{0, 1}
	}
	n, z := float64(trials), NormalQuantile(0.5+confidence/2)
	p := float64(passed) / n
	middle := (p + z*z/(2*n)) / (1 + z*z/n)
	half := z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	return Interval{max(0, middle-half), min(1, middle+half)}
}

// Rate is the interval of Korn and Graubard of a rate, from the rates of tasks: Clopper's and Pearson's
// exact interval for as many independent trials as have the same variance as these tasks, and fewer
// if the tasks are few. It covers the rate also if there are few tasks or nearly all of them pass, for
// which [TInterval] and [BCa] are too narrow. Without variance each task counts as one trial.
func Rate(rates []float64, confidence float64) Interval {
	n := float64(len(rates))
	if n == 0 {
		return Interval{0, 1}
	}
	p, d, effective := Mean(rates), Deviation(rates), n
	if d > 0 && p > 0 && p < 1 {
		z := NormalQuantile(0.5+confidence/2) / TQuantile(0.5+confidence/2, n-1)
		effective = min(n, p*(1-p)/(d*d/n)*z*z)
	}
	x, tail := p*effective, (1-confidence)/2
	i := Interval{0, 1}
	if x > 0 {
		i.Low = betaQuantile(tail, x, effective-x+1)
	}
	if x < effective {
		i.High = betaQuantile(1-tail, x+1, effective-x)
	}
	return i
}

// Regular reports whether there are enough tasks for [TInterval] and [BCa] of their rates: 30, and 10
// each that pass and that fail. Otherwise these cover less than they say.
func Regular(rates []float64) bool {
	n, p := float64(len(rates)), Mean(rates)
	return n >= 30 && n*min(p, 1-p) >= 10-1e-9
}

// Resample returns the means of samples with replacement, always the same ones for a seed.
func Resample(values []float64, times int, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, uint64(len(values))))
	means := make([]float64, times)
	for i := range means {
		sum := 0.0
		for range values {
			sum += values[r.IntN(len(values))]
		}
		means[i] = sum / float64(len(values))
	}
	return means
}

// BCa is the bootstrap interval of the mean from means of samples with replacement, see [Resample]:
// bias-corrected and accelerated. If all values are equal, it is that value.
func BCa(values, resampled []float64, confidence float64) Interval {
	mean := Mean(values)
	if len(values) < 2 || Deviation(values) == 0 {
		return Interval{mean, mean}
	}
	sorted := slices.Sorted(slices.Values(resampled))
	below := 0.0
	for _, m := range sorted {
		switch {
		case m < mean:
			below++
		case m == mean:
			below += 0.5
		}
	}
	bias := NormalQuantile(below / float64(len(sorted)))
	a := acceleration(values)
	at := func(p float64) float64 {
		z := bias + NormalQuantile(p)
		return Percentile(sorted, NormalCDF(bias+z/(1-a*z)))
	}
	return Interval{at(0.5 - confidence/2), at(0.5 + confidence/2)}
}

// acceleration is the skewness of the mean, from the means that leave one value out.
func acceleration(values []float64) float64 {
	n := float64(len(values))
	mean := Mean(values)
	cubes, squares := 0.0, 0.0
	for _, v := range values {
		d := (v - mean) / (n - 1) // the mean of all such means, less the mean without v
		cubes += d * d * d
		squares += d * d
	}
	return cubes / (6 * math.Pow(squares, 1.5))
}

// Percentile is the p-quantile of sorted values, interpolated between two values.
func Percentile(sorted []float64, p float64) float64 {
	at := min(max(p, 0), 1) * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
