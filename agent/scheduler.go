package agent

import (
	"errors"
	"time"
)

// scheduler runs errands side by side until none is left. It knows keys, not calls: what can begin is told by the
// function start of run. All but pass belongs to the goroutine of run.
type scheduler struct {
	workers *workers
	limit   int           // of tool calls at a time
	linger  time.Duration // how long the end of a tool call waits for others to share a commit

	reports chan report
	passing chan struct{}     // see pass
	active  int               // goroutines at work
	running int               // tool calls among them
	busy    map[string]bool   // keys of errands
	lanes   map[string]string // the key that has a lane: what is in one lane runs one after the other
	settled bool              // it is decided which tool calls run, or a person is being asked
	worked  time.Duration     // while tool calls were under way
}

// report is what a goroutine of the scheduler tells at its end.
type report struct {
	key     string
	call    bool  // a tool call has ended
	settles bool  // it is decided which tool calls run
	err     error // ends the work
}

// errand is what a goroutine of the scheduler does.
type errand struct {
	report
	do func() error
}

// newScheduler returns a scheduler for about n errands.
func newScheduler(w *workers, n, limit int, linger time.Duration) *scheduler {
	return &scheduler{
		workers: w, limit: limit, linger: linger,
		reports: make(chan report, n+1), passing: make(chan struct{}, 1), busy: make(map[string]bool, n),
	}
}

// run starts errands and takes their reports until no goroutine is at work. commit is called after tool calls have
// ended, fail with each error. After an error nothing begins.
func (s *scheduler) run(start func() ([]errand, error), commit func() error, fail func(error)) (err error) {
	var flush <-chan time.Time
	began, working := time.Now(), false
	for {
		if working {
			s.worked += time.Since(began)
		}
		var launch []errand
		if err == nil {
			if launch, err = start(); err != nil {
				fail(err)
			}
		}
		if s.active == 0 && len(launch) == 0 {
			return err
		}
		began, working = time.Now(), s.running > 0
		s.launch(launch, flush != nil)
		select {
		case r := <-s.reports:
			var called bool
			called, err = s.ended(r, err, fail)
			switch {
			case err != nil || !called:
			case s.linger == 0:
				err = commit()
			case flush == nil:
				flush = time.After(s.linger)
			}
		case <-s.passing:
			s.settled = true
		case <-flush:
			flush, err = nil, errors.Join(err, commit())
		}
		if err != nil {
			fail(err)
		}
	}
}

// ended takes a report and those that wait behind it, and says if a tool call has ended.
func (s *scheduler) ended(r report, err error, fail func(error)) (called bool, _ error) {
	for {
		if r.err != nil && err == nil {
			err = r.err
			fail(err)
		}
		s.active--
		s.settled = s.settled || r.settles
		delete(s.busy, r.key)
		if r.call {
			s.leave(r.key)
			s.running--
			called = true
		}
		select {
		case r = <-s.reports:
		default:
			return called, err
		}
	}
}

// launch begins errands. One alone needs no goroutine, unless calls that have ended wait for their commit.
func (s *scheduler) launch(all []errand, commitDue bool) {
	alone := s.active == 0 && len(all) == 1 && !commitDue
	s.active += len(all)
	if alone {
		chore{all[0], s.reports}.run()
		return
	}
	s.workers.start(all, s.reports)
}

// aside begins an errand that settles which tool calls run.
func (s *scheduler) aside(key string, do func() error) {
	s.busy[key] = true
	s.active++
	s.workers.start([]errand{{report{key: key, settles: true}, do}}, s.reports)
}

// call makes an errand of a tool call, which counts from now on.
func (s *scheduler) call(key string, do func() error) errand {
	s.busy[key] = true
	s.running++
	return errand{report{key: key, call: true}, do}
}

// room reports whether another tool call may run.
func (s *scheduler) room() bool { return s.settled && s.running < s.limit }

// taken reports whether a tool call has a lane.
func (s *scheduler) taken(lane string) bool {
	_, taken := s.lanes[lane]
	return taken
}

// enter gives a lane to a tool call until that has ended.
func (s *scheduler) enter(lane, key string) {
	if s.lanes == nil {
		s.lanes = map[string]string{}
	}
	s.lanes[lane] = key
}

// leave frees the lane of a tool call.
func (s *scheduler) leave(key string) {
	for lane, k := range s.lanes {
		if k == key {
			delete(s.lanes, lane)
		}
	}
}

// pass lets the tool calls begin that are decided on, while a person is asked about others. It may be called on
// any goroutine.
func (s *scheduler) pass() {
	select {
	case s.passing <- struct{}{}:
	default: // it is known already
	}
}
