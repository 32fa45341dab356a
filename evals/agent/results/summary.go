package results

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// MaxVoid is the share of void trials above which a suite has no score.
const MaxVoid = 0.05

// The errors of a summary.
var (
	ErrMixed = errors.New("the lines are of several modes, models or versions of a suite; a table has one")
	ErrEmpty = errors.New("there are no trials")
	ErrVoid  = errors.New("more than 5 % of the trials are void")
)

// Summary is the score of a suite.
type Summary struct {
	Suite, SuiteHash string
	Mode             Mode
	Model, Config    string
	Program          string
	Date             time.Time // of the first trial

	Tasks, Trials, Voids int
	Passed, Failed       int
	Causes               map[string]int // of void trials: harness, infra or grader

	Rate                  float64            // mean over tasks of the share of trials that passed, without void ones
	Interval              Interval           // of Rate, with 95 % confidence: Wilson's, in which each task counts once
	WorstRate             float64            // if all void trials had failed
	BestRate              float64            // if all void trials had passed
	Rates                 map[string]float64 // by task
	PassAt                map[int]float64    // pass@k, for each k for which all tasks have enough trials
	PassAll               map[int]float64    // pass^k
	Tokens                int64
	Reported              bool
	Cost                  map[string]int64 // micro-units by currency; nil without prices
	Prices                string           // their date
	PromptHash, ToolsHash string           // of all tasks

	counted tasks // the trials of each task, without void ones
}

// Summarize scores one suite with one model. The error matches ErrMixed, ErrEmpty, or ErrVoid;
// with ErrVoid there is a summary to inspect.
func Summarize(lines []*Line) (*Summary, error) {
	if len(lines) == 0 {
		return nil, ErrEmpty
	}
	first := lines[0]
	s := &Summary{
		Suite: first.Suite, SuiteHash: first.SuiteHash, Mode: first.Mode, Model: first.Model, Config: first.Config, Date: first.Date,
		Program: first.Program, Reported: true, Rates: map[string]float64{}, Causes: map[string]int{},
	}
	s.PromptHash = hashOf(lines, func(l *Line) string { return l.PromptHash })
	s.ToolsHash = hashOf(lines, func(l *Line) string { return l.ToolsHash })
	tasks := map[string]*tally{}
	for _, l := range lines {
		if l.SuiteHash != s.SuiteHash || l.Mode != s.Mode || l.Model != s.Model || l.Config != s.Config || l.Program != s.Program {
			return nil, fmt.Errorf("%w: %s by %s (%s), and %s by %s (%s)", ErrMixed, s.Suite, s.Model, s.Mode, l.Suite, l.Model, l.Mode)
		}
		t := tasks[l.Task]
		if t == nil {
			t = &tally{}
			tasks[l.Task] = t
		}
		t.add(l)
		s.add(l)
	}
	s.score(tasks)
	if float64(s.Voids) > MaxVoid*float64(s.Trials) {
		return s, fmt.Errorf("%s: %w: %d of %d", s.Suite, ErrVoid, s.Voids, s.Trials)
	}
	return s, nil
}

// tally counts the trials of a task.
type tally struct{ passed, failed, void int }

func (t *tally) add(l *Line) {
	switch l.Outcome {
	case Pass:
		t.passed++
	case Fail:
		t.failed++
	default:
		t.void++
	}
}

func (s *Summary) add(l *Line) {
	s.Trials++
	switch l.Outcome {
	case Pass:
		s.Passed++
	case Fail:
		s.Failed++
	default:
		s.Voids++
		s.Causes[l.Cause]++
	}
	if l.Date.Before(s.Date) {
		s.Date = l.Date
	}
	s.Tokens += l.Tokens
	s.Reported = s.Reported && l.Reported
	for currency, micro := range l.Cost {
		if s.Cost == nil {
			s.Cost = map[string]int64{}
		}
		s.Cost[currency] += micro
	}
	s.Prices = max(s.Prices, l.Prices)
}

// Counts reports whether any trial counts. Without one there is no rate.
func (s *Summary) Counts() bool { return s.Passed+s.Failed > 0 }

// hashOf returns a hash over all lines, regardless of their order.
func hashOf(lines []*Line, of func(*Line) string) string {
	has := map[string]bool{}
	for _, l := range lines {
		if of(l) != "" {
			has[l.Task+" "+of(l)] = true
		}
	}
	if len(has) == 0 {
		return ""
	}
	sum := sha256.Sum256([]byte(strings.Join(slices.Sorted(maps.Keys(has)), "\n")))
	return hex.EncodeToString(sum[:6])
}

// score combines the rates of tasks.
func (s *Summary) score(tasks map[string]*tally) {
	s.Tasks = len(tasks)
	var rates, worst, best []float64
	for _, name := range slices.Sorted(maps.Keys(tasks)) {
		t := tasks[name]
		n, all := float64(t.passed+t.failed), float64(t.passed+t.failed+t.void)
		worst = append(worst, float64(t.passed)/all)
		best = append(best, float64(t.passed+t.void)/all)
		s.counted = append(s.counted, *t)
		if n > 0 {
			s.Rates[name] = float64(t.passed) / n
			rates = append(rates, s.Rates[name])
		}
	}
	s.Rate, s.WorstRate, s.BestRate = mean(rates), mean(worst), mean(best)
	s.Interval = wilson(s.Rate, len(rates), 0.95)
	s.PassAt, s.PassAll = map[int]float64{}, map[int]float64{}
	for k := 1; k <= 8; k++ {
		one, all, err := s.counted.passAt(k)
		if err != nil {
			break
		}
		s.PassAt[k], s.PassAll[k] = one, all
	}
}

// NeedsTrials returns an error if a task has fewer counted trials than pass@k needs.
func (s *Summary) NeedsTrials(k int) error {
	if _, _, err := s.counted.passAt(k); err != nil {
		return fmt.Errorf("%s: pass@%d: %w", s.Suite, k, err)
	}
	return nil
}

// BySuite groups lines by suite, model, and versions of suite and program, in the order of
// their first lines.
func BySuite(lines []*Line) (split [][]*Line) {
	at := map[string]int{}
	for _, l := range lines {
		key := fmt.Sprint(l.Suite, "\x00", l.SuiteHash, "\x00", l.Mode, "\x00", l.Model, "\x00", l.Config, "\x00", l.Program)
		i, ok := at[key]
		if !ok {
			i = len(split)
			at[key], split = i, append(split, nil)
		}
		split[i] = append(split[i], l)
	}
	return split
}
