package agent

import (
	"sync"
	"sync/atomic"
)

// workers run errands on goroutines that last until the run ends in this process, so that grown
// stacks are reused.
//
// All errands run concurrently. Each goroutine starts the next one when it takes an errand, and
// takes another errand when its own has ended. So errands that block have a goroutine each, and
// brief ones end before many goroutines have started.
type workers struct {
	idle chan struct{} // wakes a goroutine without an errand
	over chan struct{}
	wait sync.WaitGroup

	reliefs atomic.Int32 // how often supposedly brief errands were not brief

	mu     sync.Mutex // guards the following fields
	queue  []chore
	taken  int  // number of chores that were taken from queue
	coming bool // a goroutine is about to take from the queue
}

// chore is an errand of a turn, and where to report it.
type chore struct {
	errand
	reports chan<- report
}

// run does the errand and reports its error, even if it ends its goroutine.
func (c chore) run() {
	c.err = errGoexit
	defer func() { c.reports <- c.report }()
	c.err = guard("tool call", c.do)
}

func newWorkers() *workers { return &workers{idle: make(chan struct{}), over: make(chan struct{})} }

// start runs chores on goroutines.
func (w *workers) start(all []errand, reports chan<- report) {
	if len(all) == 0 {
		return
	}
	w.mu.Lock()
	for _, e := range all {
		w.queue = append(w.queue, chore{e, reports})
	}
	mustCall := !w.coming
	w.coming = true
	w.mu.Unlock()
	if mustCall {
		w.call()
	}
}

// call makes a goroutine take from the queue.
func (w *workers) call() {
	select {
	case w.idle <- struct{}{}:
	default:
		w.wait.Go(w.work)
	}
}

// next takes a chore. called means that the goroutine was called for it. If there are more, it
// calls another goroutine.
func (w *workers) next(called bool) (c chore, ok bool) {
	w.mu.Lock()
	if called {
		w.coming = false
	}
	if w.taken == len(w.queue) {
		w.mu.Unlock()
		return chore{}, false
	}
	c, w.queue[w.taken] = w.queue[w.taken], chore{}
	w.taken++
	hasMore := w.taken < len(w.queue)
	if !hasMore {
		w.queue, w.taken = w.queue[:0], 0
	}
	mustCall := hasMore && !w.coming
	w.coming = w.coming || mustCall
	w.mu.Unlock()
	if mustCall {
		w.call()
	}
	return c, true
}

// work runs chores until the workers end.
func (w *workers) work() {
	for called := true; ; {
		if c, ok := w.next(called); ok {
			called = false
			c.run()
			continue
		}
		select {
		case <-w.idle:
			called = true
		case <-w.over:
			return
		}
	}
}

// end returns when all goroutines have ended.
func (w *workers) end() {
	close(w.over)
	w.wait.Wait()
}
