package agent

import (
	"sync"
	"sync/atomic"
)

// workers run work items on goroutines that last until the run ends in this process, so that grown
// stacks are reused.
//
// All work items run concurrently. Each goroutine starts the next one when it takes a work item, and
// takes another work item when its own has ended. So work items that block have a goroutine each, and
// brief ones end before many goroutines have started.
type workers struct {
	idle  chan struct{} // wakes a goroutine without a work item
	ended chan struct{}
	wait  sync.WaitGroup

	reliefs atomic.Int32 // how often supposedly brief work items were not brief

	mu     sync.Mutex // guards the following fields
	queue  []queuedItem
	taken  int  // number of queued items that were taken from queue
	coming bool // a goroutine is about to take from the queue
}

// queuedItem is a work item of a turn, and where to report it.
type queuedItem struct {
	workItem
	reports chan<- report
}

// run does the work item and reports its error, even if it ends its goroutine.
func (c queuedItem) run() {
	c.err = errGoexit
	defer func() { c.reports <- c.report }()
	c.err = guard("tool call", c.do)
}

func newWorkers() *workers { return &workers{idle: make(chan struct{}), ended: make(chan struct{})} }

// start runs queued items on goroutines.
func (w *workers) start(all []workItem, reports chan<- report) {
	if len(all) == 0 {
		return
	}
	w.mu.Lock()
	for _, e := range all {
		w.queue = append(w.queue, queuedItem{e, reports})
	}
	mustWake := !w.coming
	w.coming = true
	w.mu.Unlock()
	if mustWake {
		w.wake()
	}
}

// wake makes a goroutine take from the queue: one without a work item, or a new one.
func (w *workers) wake() {
	select {
	case w.idle <- struct{}{}:
	default:
		w.wait.Go(w.work)
	}
}

// next takes a queued item. woken means that the goroutine was woken for it. If there are more, it
// wakes another goroutine.
func (w *workers) next(woken bool) (c queuedItem, ok bool) {
	w.mu.Lock()
	if woken {
		w.coming = false
	}
	if w.taken == len(w.queue) {
		w.mu.Unlock()
		return queuedItem{}, false
	}
	c, w.queue[w.taken] = w.queue[w.taken], queuedItem{}
	w.taken++
	hasMore := w.taken < len(w.queue)
	if !hasMore {
		w.queue, w.taken = w.queue[:0], 0
	}
	mustWake := hasMore && !w.coming
	w.coming = w.coming || mustWake
	w.mu.Unlock()
	if mustWake {
		w.wake()
	}
	return c, true
}

// work runs queued items until the workers end.
func (w *workers) work() {
	for woken := true; ; {
		if c, ok := w.next(woken); ok {
			woken = false
			c.run()
			continue
		}
		select {
		case <-w.idle:
			woken = true
		case <-w.ended:
			return
		}
	}
}

// end returns when all goroutines have ended.
func (w *workers) end() {
	close(w.ended)
	w.wait.Wait()
}
