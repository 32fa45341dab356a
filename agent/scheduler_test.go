package agent

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// playCalls runs tool calls of a second each, in their order as far as the scheduler has room. lane tells the lane of a call.
func playCalls(t *testing.T, n, limit int, lane func(int) string, do func(int) error) (began, commits []string, worked time.Duration, err error) {
	t.Helper()
	w := newWorkers()
	defer w.end()
	s := newScheduler(w, n, limit, linger)
	s.settled = true
	at, done := time.Now(), make([]bool, n)
	start := func() (launch []errand, _ error) {
		for i := range n {
			if done[i] || !s.room() || s.taken(lane(i)) {
				continue
			}
			done[i] = true
			if lane(i) != "" {
				s.enter(lane(i), fmt.Sprint(i))
			}
			began = append(began, fmt.Sprintf("%d at %v", i, time.Since(at).Truncate(time.Second)))
			launch = append(launch, s.call(fmt.Sprint(i), func() error { return do(i) }))
		}
		return launch, nil
	}
	err = s.run(start, func() error { commits = append(commits, fmt.Sprint(time.Since(at).Truncate(time.Second))); return nil }, func(error) {})
	return began, commits, s.worked, err
}

func second(int) error { time.Sleep(time.Second); return nil }

func TestSchedulerKeepsItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, commits, worked, err := playCalls(t, 5, 2, func(int) string { return "" }, second)
		if got, want := fmt.Sprint(began), "[0 at 0s 1 at 0s 2 at 1s 3 at 1s 4 at 2s]"; err != nil || got != want {
			t.Errorf("got %s and %v, want %s", got, err, want)
		}
		if got, want := fmt.Sprint(commits), "[1s 2s]"; got != want || worked != 3*time.Second {
			t.Errorf("got commits at %s and %v of work, want %s, as calls that end together share one and the last is the caller's, and 3s", got, worked, want)
		}
	})
}

// A call that runs alone does not hold up the commit of the one before it.
func TestSchedulerCommitsBeforeALoneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, commits, _, err := playCalls(t, 3, 1, func(int) string { return "" }, second)
		if got, want := fmt.Sprint(commits), "[1s 2s]"; err != nil || got != want {
			t.Errorf("got commits at %s and %v, want %s", got, err, want)
		}
	})
}

func TestSchedulerRunsALaneInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lane := func(i int) string { return []string{"a", "b"}[i%2] }
		began, _, _, err := playCalls(t, 4, 4, lane, second)
		slices.Sort(began) // the lanes are free at the same time
		if got, want := fmt.Sprint(began), "[0 at 0s 1 at 0s 2 at 1s 3 at 1s]"; err != nil || got != want {
			t.Errorf("got %s and %v, want %s", got, err, want)
		}
	})
}

func TestSchedulerBeginsNothingAfterAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		began, _, _, err := playCalls(t, 4, 2, func(int) string { return "" }, func(i int) error {
			time.Sleep(time.Duration(1+i) * time.Second)
			return broken
		})
		if !errors.Is(err, broken) || len(began) != 2 {
			t.Errorf("got %v after %v, want the error of the first call after two", err, began)
		}
	})
}

// What waits for a decision begins as soon as a person is asked about others.
func TestSchedulerPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkers()
		defer w.end()
		s := newScheduler(w, 2, 2, 0)
		at, called, deciding := time.Now(), time.Duration(-1), false
		start := func() ([]errand, error) {
			switch {
			case !deciding:
				deciding = true
				s.aside("decide", func() error { time.Sleep(time.Second); s.pass(); time.Sleep(time.Hour); return nil })
			case s.room() && called < 0:
				called = time.Since(at)
				return []errand{s.call("call", func() error { return nil })}, nil
			}
			return nil, nil
		}
		if err := s.run(start, func() error { return nil }, func(error) {}); err != nil || called != time.Second {
			t.Errorf("the call began after %v with %v, want 1s", called, err)
		}
	})
}

// Brief calls run one after the other. One that waits holds up neither the others nor their commits, and in a run with
// several such calls all have goroutines of their own at once.
func TestSchedulerRelieves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkers()
		defer w.end()
		for turn := range maxReliefs + 1 {
			s := newScheduler(w, 4, 4, 0)
			s.settled = true
			at, launched := time.Now(), false
			var commits []string
			start := func() (launch []errand, _ error) {
				for i := range 4 {
					if launched {
						break
					}
					e := s.call(fmt.Sprint(i), func() error {
						if i == 1 {
							time.Sleep(time.Second)
						}
						return nil
					})
					e.brief = true
					launch = append(launch, e)
				}
				launched = true
				return launch, nil
			}
			commit := func() error {
				if s.running < 2 {
					commits = append(commits, fmt.Sprint(time.Since(at)))
				}
				return nil
			}
			want := fmt.Sprint([]time.Duration{patience, time.Second})
			if turn == maxReliefs {
				want = "[0s 1s]"
			}
			err := s.run(start, commit, func(error) {})
			if got := fmt.Sprint(commits); err != nil || got != want {
				t.Errorf("turn %d: all calls but one, and then that one, were committed at %s with %v, want %s", turn, got, err, want)
			}
		}
	})
}
