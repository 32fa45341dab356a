package agent

import (
	"sync"
	"sync/atomic"
)

// workers run errands on goroutines that stay until the run is over in this process: a
// goroutine whose stack has grown is used again.
//
// All errands run at once, but each goroutine starts the next one when it takes an errand, and continues with another
// when its own has ended. So errands that block have a goroutine each, and short ones are over before many goroutines
// have begun.
type workers struct {
	idle chan struct{} // wakes a goroutine without an errand
	over chan struct{}
	wait sync.WaitGroup

	reliefs atomic.Int32 // how often errands that could be brief were not

	mu     sync.Mutex // guards the fields below
	queue  []chore
	taken  int  // of queue
	coming bool // a goroutine is about to take from the queue
}

// chore is an errand of a turn, and where it is reported.
type chore struct {
	errand
	reports chan<- report
}

func (c chore) run() {
	c.err = errGoexit
	defer func() { c.reports <- c.report }()
	c.err = guarded("tool call", c.do)
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
	call := !w.coming
	w.coming = true
	w.mu.Unlock()
	if call {
		w.call()
	}
}

// call has a goroutine take from the queue.
func (w *workers) call() {
	select {
	case w.idle <- struct{}{}:
	default:
		w.wait.Go(w.work)
	}
}

// next takes a chore. called says that the goroutine was called for it. While there are
// more, a goroutine is on its way to them.
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
	more := w.taken < len(w.queue)
	if !more {
		w.queue, w.taken = w.queue[:0], 0
	}
	more = more && !w.coming
	w.coming = w.coming || more
	w.mu.Unlock()
	if more {
		w.call()
	}
	return c, true
}

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

// end returns when all goroutines have.
func (w *workers) end() {
	close(w.over)
	w.wait.Wait()
}
