package agent

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"
)

// scheduler runs work items concurrently until none is left. It knows keys, not calls: the function
// start decides which ones can begin. All methods except allowDecided and holdClock run on the goroutine of run.
type scheduler struct {
	workers *workers
	limit   int           // bounds concurrent tool calls
	linger  time.Duration // how long the end of a tool call waits for others to share a commit

	reports      chan report
	decidedEarly chan struct{}     // see allowDecided
	active       int               // goroutines at work
	running      int               // tool calls among them
	busy         map[string]bool   // keys of work items
	lanes        map[string]string // the key that holds a lane: work items in one lane run one after the other
	decided      bool              // it is decided which tool calls run, or a person is being asked
	clock        stopwatch

	// The arguments of run:
	start  func() ([]workItem, error)
	commit func() error
	fail   func(error)

	continued chan error // the result of run from the goroutine that continues it, see inline
}

// report is what a goroutine of the scheduler reports at its end.
type report struct {
	key     string
	call    bool  // a tool call has ended
	decides bool  // it is decided which tool calls run
	err     error // ends the work
}

// workItem is the work of one goroutine of the scheduler.
type workItem struct {
	report
	do      func() error
	isBrief bool // it may end within microseconds
}

// newScheduler returns a scheduler for about n work items. hold stops the time of the call that a sub-agent works on; nil at
// the root.
func newScheduler(w *workers, n, limit int, linger time.Duration, hold func() func()) *scheduler {
	return &scheduler{
		workers: w, limit: limit, linger: linger, clock: stopwatch{outer: hold},
		reports: make(chan report, n+1), decidedEarly: make(chan struct{}, 1), busy: make(map[string]bool, n),
	}
}

// run starts the work items that start returns, and takes their reports, until there are none. It calls
// commit after tool calls have ended, and fail with each error. After an error nothing starts.
func (s *scheduler) run(start func() ([]workItem, error), commit func() error, fail func(error)) error {
	s.start, s.commit, s.fail = start, commit, fail
	s.continued = make(chan error, 1)
	s.clock.start()
	defer s.clock.stop()
	return s.proceed()
}

// proceed does the work of run. It may move to another goroutine.
func (s *scheduler) proceed() (err error) {
	var flush <-chan time.Time
	for {
		var launch []workItem
		if err == nil {
			if launch, err = s.start(); err != nil {
				s.fail(err)
			}
		}
		if s.active == 0 && len(launch) == 0 {
			return err
		}
		if s.launch(launch, flush != nil) {
			return <-s.continued
		}
		select {
		case r := <-s.reports:
			var callEnded bool
			callEnded, err = s.takeReports(r, err)
			switch {
			case err != nil || !callEnded:
			case s.linger == 0:
				err = s.commit()
			case flush == nil:
				flush = time.After(s.linger)
			}
		case <-s.decidedEarly:
			s.decided = true
		case <-flush:
			flush = nil
			err = errors.Join(err, s.commit())
		}
		if err != nil {
			s.fail(err)
		}
	}
}

// takeReports takes a report and those that are queued behind it. It returns err, or else the
// first error of a report.
func (s *scheduler) takeReports(r report, err error) (callEnded bool, _ error) {
	for {
		if r.err != nil && err == nil {
			err = r.err
			s.fail(err)
		}
		s.active--
		s.decided = s.decided || r.decides
		delete(s.busy, r.key)
		if r.call {
			s.releaseLane(r.key)
			s.running--
			s.clock.end(r.key)
			callEnded = true
		}
		select {
		case r = <-s.reports:
		default:
			return callEnded, err
		}
	}
}

// launch starts work items. If nothing is at work and no ended calls wait for their commit, a single
// item and brief ones need no goroutines. handed means that another goroutine continues run.
func (s *scheduler) launch(all []workItem, commitDue bool) (handed bool) {
	alone := s.active == 0 && !commitDue
	isLong := func(e workItem) bool { return !e.isBrief }
	s.active += len(all)
	s.clock.begin(all)
	switch {
	case alone && len(all) == 1:
		queuedItem{all[0], s.reports}.run()
	case alone && s.workers.reliefs.Load() < maxReliefs && !slices.ContainsFunc(all, isLong):
		return s.inline(all)
	default:
		s.workers.start(all, s.reports)
	}
	return false
}

// patience is how long brief work items may run one after the other. After that the rest get goroutines.
const patience = 2 * time.Millisecond

// maxReliefs is how often patience may run out in a run before all work items get goroutines
// immediately.
const maxReliefs = 3

// inline runs work items on this goroutine, because moving them to others takes longer than most
// of them. If they take longer than patience, the rest run on goroutines of their own, and one
// of those continues run.
func (s *scheduler) inline(all []workItem) (handed bool) {
	var next atomic.Int64 // index of the next work item
	total := int64(len(all))
	relief := time.AfterFunc(patience, func() {
		if taken := next.Swap(total + 1); taken <= total {
			s.workers.reliefs.Add(1)
			s.workers.start(all[taken:], s.reports)
			s.continued <- guard("the calls of a turn", s.proceed)
		}
	})
	defer relief.Stop()
	ended := false
	defer func() {
		if taken := next.Swap(total + 1); !ended && taken > total { // another goroutine has continued: this one ends
			<-s.continued
		}
	}()
	for {
		n := next.Add(1) - 1
		if n >= total {
			ended = true
			return n > total
		}
		queuedItem{all[n], s.reports}.run()
	}
}

// isIdle reports whether nothing is at work.
func (s *scheduler) isIdle() bool { return s.active == 0 }

// isBusy reports whether the work item with a key has not ended.
func (s *scheduler) isBusy(key string) bool { return s.busy[key] }

// allowCalls lets tool calls start, because it is decided which ones run.
func (s *scheduler) allowCalls() { s.decided = true }

// startDecision starts a work item that decides which tool calls run. Until it has ended, or allowDecided is called, none
// starts.
func (s *scheduler) startDecision(key string, do func() error) {
	s.decided = false
	s.busy[key] = true
	s.active++
	s.workers.start([]workItem{{report: report{key: key, decides: true}, do: do}}, s.reports)
}

// toolCall returns the work item of a tool call, which counts from now on.
func (s *scheduler) toolCall(key string, do func() error) workItem {
	s.busy[key] = true
	s.running++
	return workItem{report: report{key: key, call: true}, do: do}
}

// hasRoom reports whether another tool call may run.
func (s *scheduler) hasRoom() bool { return s.decided && s.room() > 0 }

// room returns how many more tool calls may run at the same time.
func (s *scheduler) room() int { return s.limit - s.running }

// worked returns the time in which tool calls worked, after run has ended.
func (s *scheduler) worked() time.Duration { return s.clock.worked }

// holdClock stops the time of a tool call that waits for a person, until resume is called. key is "" if it is unknown which
// one waits. It may be called on any goroutine.
func (s *scheduler) holdClock(key string) (resume func()) { return s.clock.hold(key) }

// isLaneTaken reports whether a tool call holds a lane.
func (s *scheduler) isLaneTaken(lane string) bool {
	_, taken := s.lanes[lane]
	return taken
}

// holdLane gives a lane to a tool call until it ends.
func (s *scheduler) holdLane(lane, key string) {
	if s.lanes == nil {
		s.lanes = map[string]string{}
	}
	s.lanes[lane] = key
}

// releaseLane frees the lane of a tool call.
func (s *scheduler) releaseLane(key string) {
	for lane, k := range s.lanes {
		if k == key {
			delete(s.lanes, lane)
		}
	}
}

// allowDecided lets decided tool calls start while a person is asked about others. It may be called
// on any goroutine.
func (s *scheduler) allowDecided() {
	select {
	case s.decidedEarly <- struct{}{}:
	default: // it was called before
	}
}
