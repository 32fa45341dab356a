package agent

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
)

// playCalls runs tool calls of a second each, in their order as far as the scheduler has room. lane tells the lane of a call.
func playCalls(t *testing.T, n, limit int, lane func(int) string, do func(int) error) (began, commits []string, worked time.Duration, err error) {
	t.Helper()
	w := newWorkers()
	defer w.end()
	s := newScheduler(w, n, limit, linger, nil)
	s.decided = true
	at, done := time.Now(), make([]bool, n)
	start := func() (launch []workItem, _ error) {
		for i := range n {
			if done[i] || !s.hasRoom() || s.isLaneTaken(lane(i)) {
				continue
			}
			done[i] = true
			if lane(i) != "" {
				s.holdLane(lane(i), fmt.Sprint(i))
			}
			began = append(began, fmt.Sprintf("%d at %v", i, time.Since(at).Truncate(time.Second)))
			launch = append(launch, s.toolCall(fmt.Sprint(i), func() error { return do(i) }))
		}
		return launch, nil
	}
	err = s.run(start, func() error { commits = append(commits, fmt.Sprint(time.Since(at).Truncate(time.Second))); return nil }, func(error) {})
	return began, commits, s.worked(), err
}

func second(int) error { time.Sleep(time.Second); return nil }

func TestSchedulerCalls(t *testing.T) {
	broken := errors.New("broken")
	alone := func(int) string { return "" }
	for name, tt := range map[string]struct {
		calls, limit   int
		lane           func(int) string
		do             func(int) error
		began, commits []string
		err            error
	}{
		// Calls that end together share a commit, and the last one is the caller's.
		"a limit": {5, 2, alone, second, []string{"0 at 0s", "1 at 0s", "2 at 1s", "3 at 1s", "4 at 2s"}, []string{"1s", "2s"}, nil},
		// A call that runs alone does not hold up the commit of the one before it.
		"one at a time": {3, 1, alone, second, []string{"0 at 0s", "1 at 1s", "2 at 2s"}, []string{"1s", "2s"}, nil},
		"two lanes": {4, 4, func(i int) string { return []string{"a", "b"}[i%2] }, second,
			[]string{"0 at 0s", "1 at 0s", "2 at 1s", "3 at 1s"}, []string{"1s"}, nil},
		"nothing after an error": {4, 2, alone, func(i int) error { time.Sleep(time.Duration(1+i) * time.Second); return broken },
			[]string{"0 at 0s", "1 at 0s"}, nil, broken},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, commits, worked, err := playCalls(t, tt.calls, tt.limit, tt.lane, tt.do)
				slices.Sort(began) // lanes are free at the same time
				check.Is(t, err, tt.err)
				check.Same(t, "begun calls, and commits", [][]string{began, commits}, [][]string{tt.began, tt.commits})
				if name == "a limit" {
					check.Equal(t, "work", worked, 3*time.Second)
				}
			})
		})
	}
}

// What waits for a decision begins as soon as a person is asked about others.
func TestSchedulerPasses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkers()
		defer w.end()
		s := newScheduler(w, 2, 2, 0, nil)
		at, called, deciding := time.Now(), time.Duration(-1), false
		start := func() ([]workItem, error) {
			switch {
			case !deciding:
				deciding = true
				s.startDecision("decide", func() error { time.Sleep(time.Second); s.allowDecided(); time.Sleep(time.Hour); return nil })
			case s.hasRoom() && called < 0:
				called = time.Since(at)
				return []workItem{s.toolCall("call", func() error { return nil })}, nil
			}
			return nil, nil
		}
		err := s.run(start, func() error { return nil }, func(error) {})
		check.Same(t, "when the call began", []any{called, err}, []any{time.Second, nil})
	})
}

// Brief calls run one after the other. One that waits holds up neither the others nor their commits, and in a run with
// several such calls all have goroutines of their own at once.
func TestSchedulerRelieves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorkers()
		defer w.end()
		for turn := range maxReliefs + 1 {
			s := newScheduler(w, 4, 4, 0, nil)
			s.decided = true
			at, launched := time.Now(), false
			var commits []string
			start := func() (launch []workItem, _ error) {
				for i := range 4 {
					if launched {
						break
					}
					e := s.toolCall(fmt.Sprint(i), func() error {
						if i == 1 {
							time.Sleep(time.Second)
						}
						return nil
					})
					e.isBrief = true
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
			check.Same(t, fmt.Sprintf("turn %d: when all calls but one, and then that one, were committed", turn), []any{fmt.Sprint(commits), err},
				[]any{want, nil})
		}
	})
}
