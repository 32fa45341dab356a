package results

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// MaxVoid is the share of void trials above which a suite has no score.
const MaxVoid = 0.05

// The errors of a summary.
var (
	ErrMixed = errors.New("the lines are of several modes, models or versions of a suite; a table has one")
	ErrEmpty = errors.New("there are no trials")
	ErrVoid  = fmt.Errorf("more than %g %% of the trials are void", 100*MaxVoid)
)

// Tally counts trials by their outcome.
type Tally struct{ Passed, Failed, Void int }

// decided returns the number of trials that passed or failed.
func (t *Tally) decided() int { return t.Passed + t.Failed }

// Summary is the score of a suite.
type Summary struct {
	Version
	Date time.Time // date of the first trial

	Tally
	Tasks, Trials int

	Rate     float64         // mean over tasks of the share of trials that passed, without void ones
	Interval Interval        // interval of Rate with 95 % confidence: Wilson's, in which each task counts once
	PassAt   map[int]float64 // pass@k, for each k up to 8 for which all tasks have enough trials
	PassAll  map[int]float64 // pass^k, for the same k
	Tokens   int64
	Reported bool             // as in all lines
	Cost     map[string]int64 // micro-units by currency
	Prices   string           // their date; "" without prices

	tasks map[string]*Tally
}

// Summarize scores the lines of one [Version]. The error matches ErrMixed, ErrEmpty, or ErrVoid. With ErrVoid it
// returns a summary, too.
func Summarize(lines []*Line) (*Summary, error) {
	if len(lines) == 0 {
		return nil, ErrEmpty
	}
	s := &Summary{
		Version: lines[0].Version, Date: lines[0].Date, Trials: len(lines), Reported: true,
		PassAt: map[int]float64{}, PassAll: map[int]float64{}, Cost: map[string]int64{}, tasks: map[string]*Tally{},
	}
	for _, l := range lines {
		if l.Version != s.Version {
			return nil, fmt.Errorf("%w: %s by %s (%s), and %s by %s (%s)", ErrMixed, s.Suite, s.Model, s.Mode, l.Suite, l.Model, l.Mode)
		}
		s.add(l)
	}
	s.score()
	if float64(s.Void) > MaxVoid*float64(s.Trials) {
		return s, fmt.Errorf("%s: %w: %d of %d", s.Suite, ErrVoid, s.Void, s.Trials)
	}
	return s, nil
}

func (s *Summary) add(l *Line) {
	if s.tasks[l.Task] == nil {
		s.tasks[l.Task] = &Tally{}
	}
	for _, t := range []*Tally{s.tasks[l.Task], &s.Tally} {
		switch l.Outcome {
		case Pass:
			t.Passed++
		case Fail:
			t.Failed++
		default:
			t.Void++
		}
	}
	if l.Date.Before(s.Date) {
		s.Date = l.Date
	}
	s.Tokens += l.Tokens
	s.Reported = s.Reported && l.Reported
	for currency, micro := range l.Cost {
		s.Cost[currency] += micro
	}
	s.Prices = max(s.Prices, l.Prices)
}

// Counts reports whether any trial counts. Without one there is no rate.
func (s *Summary) Counts() bool { return s.decided() > 0 }

// score combines the rates of tasks. pass@k is the chance that one of k trials of a task passes, pass^k that all do.
func (s *Summary) score() {
	s.Tasks = len(s.tasks)
	rated, fewest := 0, s.Trials
	names := slices.Sorted(maps.Keys(s.tasks)) // sums of floats depend on the order
	for _, name := range names {
		t := s.tasks[name]
		fewest = min(fewest, t.decided())
		if t.decided() > 0 {
			rated++
			s.Rate += float64(t.Passed) / float64(t.decided())
		}
	}
	s.Rate /= max(1, float64(rated))
	s.Interval = wilson(s.Rate, rated, 0.95)
	for k := 1; k <= min(8, fewest); k++ {
		for _, name := range names {
			t := s.tasks[name]
			s.PassAt[k] += (1 - choices(t.Failed, k)/choices(t.decided(), k)) / float64(s.Tasks)
			s.PassAll[k] += choices(t.Passed, k) / choices(t.decided(), k) / float64(s.Tasks)
		}
	}
}

// BySuite groups lines by their [Version], in the order of their first lines.
func BySuite(lines []*Line) (groups [][]*Line) {
	for _, l := range lines {
		i := slices.IndexFunc(groups, func(g []*Line) bool { return g[0].Version == l.Version })
		if i < 0 {
			i, groups = len(groups), append(groups, nil)
		}
		groups[i] = append(groups[i], l)
	}
	return groups
}

// Interval is a confidence interval.
type Interval struct{ Low, High float64 }

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
