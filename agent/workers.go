package agent

import "sync"

// workers run functions on goroutines that stay until the run is over in this process: a
// goroutine whose stack has grown is used again.
type workers struct {
	next chan func()
	over chan struct{}
	wait sync.WaitGroup
}

func newWorkers() *workers { return &workers{next: make(chan func()), over: make(chan struct{})} }

// start runs f on a goroutine.
func (w *workers) start(f func()) {
	select {
	case w.next <- f:
	default:
		w.wait.Go(func() { w.work(f) })
	}
}

func (w *workers) work(f func()) {
	for {
		f()
		select {
		case f = <-w.next:
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
