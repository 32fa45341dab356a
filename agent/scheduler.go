package agent

import (
	"errors"
	"slices"
	"sync/atomic"
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
	since   time.Time         // when the present work was begun, zero if there is none

	start  func() ([]errand, error) // those of run
	commit func() error
	fail   func(error)
	rest   chan error // from whoever continues run, see inline
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
	do    func() error
	brief bool // it may end within microseconds
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
func (s *scheduler) run(start func() ([]errand, error), commit func() error, fail func(error)) error {
	s.start, s.commit, s.fail, s.rest = start, commit, fail, make(chan error, 1)
	return s.proceed()
}

// proceed is run, on any goroutine but on one at a time.
func (s *scheduler) proceed() (err error) {
	var flush <-chan time.Time
	for {
		if !s.since.IsZero() {
			s.worked += time.Since(s.since)
		}
		var launch []errand
		if err == nil {
			if launch, err = s.start(); err != nil {
				s.fail(err)
			}
		}
		if s.active == 0 && len(launch) == 0 {
			return err
		}
		if s.since = (time.Time{}); s.running > 0 {
			s.since = time.Now()
		}
		if s.launch(launch, flush != nil) {
			return <-s.rest
		}
		select {
		case r := <-s.reports:
			var called bool
			called, err = s.ended(r, err)
			switch {
			case err != nil || !called:
			case s.linger == 0:
				err = s.commit()
			case flush == nil:
				flush = time.After(s.linger)
			}
		case <-s.passing:
			s.settled = true
		case <-flush:
			flush, err = nil, errors.Join(err, s.commit())
		}
		if err != nil {
			s.fail(err)
		}
	}
}

// ended takes a report and those that wait behind it, and says if a tool call has ended.
func (s *scheduler) ended(r report, err error) (called bool, _ error) {
	for {
		if r.err != nil && err == nil {
			err = r.err
			s.fail(err)
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

// launch begins errands. One alone needs no goroutine, unless calls that have ended wait for their commit. It reports
// whether another goroutine continues run.
func (s *scheduler) launch(all []errand, commitDue bool) (handed bool) {
	alone := s.active == 0 && !commitDue
	s.active += len(all)
	switch {
	case alone && len(all) == 1:
		chore{all[0], s.reports}.run()
	case alone && s.workers.reliefs.Load() < maxReliefs && !slices.ContainsFunc(all, func(e errand) bool { return !e.brief }):
		return s.inline(all)
	default:
		s.workers.start(all, s.reports)
	}
	return false
}

// patience is how long errands that are brief run one after the other. One that waits holds up the others no longer.
const patience = 2 * time.Millisecond

// maxReliefs is how often that may happen in a run before all errands have goroutines at once.
const maxReliefs = 3

// inline runs errands on this goroutine: moving them to other processors takes longer than most of them. If they are
// not over after patience, others run on goroutines of their own, and one of those continues run.
func (s *scheduler) inline(all []errand) (handed bool) {
	var next atomic.Int64 // errand
	over := int64(len(all))
	relief := time.AfterFunc(patience, func() {
		if taken := next.Swap(over + 1); taken <= over {
			s.workers.reliefs.Add(1)
			s.workers.start(all[taken:], s.reports)
			s.rest <- guarded("the calls of a turn", s.proceed)
		}
	})
	defer relief.Stop()
	ended := false
	defer func() {
		if taken := next.Swap(over + 1); !ended && taken > over { // the goroutine ends while another continues
			<-s.rest
		}
	}()
	for {
		n := next.Add(1) - 1
		if n >= over {
			ended = true
			return n > over
		}
		chore{all[n], s.reports}.run()
	}
}

// aside begins an errand that settles which tool calls run.
func (s *scheduler) aside(key string, do func() error) {
	s.busy[key] = true
	s.active++
	s.workers.start([]errand{{report: report{key: key, settles: true}, do: do}}, s.reports)
}

// call makes an errand of a tool call, which counts from now on.
func (s *scheduler) call(key string, do func() error) errand {
	s.busy[key] = true
	s.running++
	return errand{report: report{key: key, call: true}, do: do}
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
