package agent

import (
	"sync"
	"time"
)

// stopwatch measures the time in which a turn's calls work: at least one of them does not wait for a
// person. All methods may be called concurrently.
type stopwatch struct {
	outer func() (resume func()) // hold of the call that a sub-agent works on, nil at the root

	mu     sync.Mutex     // guards the following fields
	calls  int            // number of calls in progress
	waits  map[string]int // how often a call waits for a person, by its id; by "" of unknown calls, a call each
	resume func()         // of outer, while no call works
	since  time.Time      // when the latest time at work began
	worked time.Duration  // the time until then
}

// start stops the time of the outer call whenever no call works, until stop is called.
func (w *stopwatch) start() {
	if w.outer == nil {
		w.outer = func() func() { return func() {} }
	}
	w.resume = w.outer()
}

func (w *stopwatch) stop() { w.resume() }

// begin counts the calls among work items.
func (w *stopwatch) begin(all []workItem) {
	w.change(func() {
		for i := range all {
			if all[i].call {
				w.calls++
			}
		}
	})
}

// end counts the end of a call, and of its waits.
func (w *stopwatch) end(call string) {
	w.change(func() {
		w.calls--
		delete(w.waits, call)
	})
}

// hold counts that a call waits, until resume is called. call is "" if it is unknown which one.
func (w *stopwatch) hold(call string) (resume func()) {
	w.change(func() {
		if w.waits == nil {
			w.waits = map[string]int{}
		}
		w.waits[call]++
	})
	return func() {
		w.change(func() {
			if w.waits[call]--; w.waits[call] <= 0 {
				delete(w.waits, call)
			}
		})
	}
}

// change changes the counts.
func (w *stopwatch) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	worked := w.worksLocked()
	f()
	switch works := w.worksLocked(); {
	case works && !worked:
		w.since = time.Now()
		w.resume()
	case worked && !works:
		w.worked += time.Since(w.since)
		w.resume = w.outer()
	}
}

// worksLocked reports whether a call works.
func (w *stopwatch) worksLocked() bool {
	n := w.calls
	for call, times := range w.waits {
		if call != "" {
			times = 1
		}
		n -= times
	}
	return n > 0
}
