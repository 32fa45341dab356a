package stats

import "fmt"

// Tally counts the trials of a task. Void trials are left out.
type Tally struct{ Passed, Trials int }

// PassAt is pass@k: the mean over tasks of the probability that at least one of k trials passes.
// A task with fewer than k trials is an error.
func PassAt(k int, tasks []Tally) (float64, error) {
	return overTasks(k, tasks, func(t Tally) float64 { return 1 - choices(t.Trials-t.Passed, k)/choices(t.Trials, k) })
}

// PassAll is pass^k: the mean over tasks of the probability that all of k trials pass. A task with
// fewer than k trials is an error.
func PassAll(k int, tasks []Tally) (float64, error) {
	return overTasks(k, tasks, func(t Tally) float64 { return choices(t.Passed, k) / choices(t.Trials, k) })
}

func overTasks(k int, tasks []Tally, f func(Tally) float64) (float64, error) {
	sum := 0.0
	for _, t := range tasks {
		if k < 1 || t.Trials < k {
			return 0, fmt.Errorf("a task has %d trials that count, and k is %d", t.Trials, k)
		}
		sum += f(t)
	}
	if len(tasks) == 0 {
		return 0, fmt.Errorf("there are no tasks")
	}
	return sum / float64(len(tasks)), nil
}

// choices is n over k.
func choices(n, k int) float64 {
	c := 1.0
	for i := range k {
		c *= float64(n-i) / float64(k-i)
	}
	return max(c, 0)
}
