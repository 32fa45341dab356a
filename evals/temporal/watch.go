package main

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// watch measures how long runs pause.
type watch struct {
	mu      sync.Mutex
	runs    map[string]*watched
	steps   []time.Duration // from a kill until the run is held again
	tries   []time.Duration // from a kill until another worker takes the step
	between []time.Duration // from the end of a step to the next
	held    int             // steps that have begun
}

type watched struct {
	worker int       // works on the run, 0: none
	killed time.Time // when its worker was killed; zero: it lives
	free   time.Time // since when it could continue; zero: it works or waits
}

// ServeHTTP receives reports of workers.
func (w *watch) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	worker, _ := strconv.Atoi(q.Get("worker"))
	w.seen(worker, q.Get("run"), q.Get("what"))
}

func (w *watch) seen(worker int, run, what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.runs[run]
	if r == nil {
		r = new(watched)
		w.runs[run] = r
	}
	switch what {
	case "begin":
		if !r.killed.IsZero() && r.worker != worker {
			w.tries = append(w.tries, time.Since(r.killed))
		}
		r.worker = worker
	case "hold":
		w.held++
		if !r.killed.IsZero() {
			w.steps = append(w.steps, time.Since(r.killed))
		} else if !r.free.IsZero() {
			w.between = append(w.between, time.Since(r.free))
		}
		*r = watched{worker: worker}
	case "free running":
		*r = watched{free: time.Now()}
	default:
		*r = watched{}
	}
}

// killed notes that a worker was killed.
func (w *watch) killed(worker int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.runs {
		if r.worker == worker {
			r.killed = time.Now()
		}
	}
}

// begun returns how many steps have begun.
func (w *watch) begun() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.held
}

// print writes the pauses. slow is true if those after kills are too long.
func (w *watch) print(out io.Writer, bound time.Duration) (slow bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	p99 := row(out, "pause of a step after a kill", w.steps)
	row(out, "of this, until another worker takes it", w.tries)
	row(out, "time between steps", w.between)
	fmt.Fprintf(out, "the bound of a pause is %v at the 99th percentile\n", bound)
	return p99 > bound
}

func row(out io.Writer, what string, all []time.Duration) (p99 time.Duration) {
	if len(all) == 0 {
		fmt.Fprintf(out, "%s: none\n", what)
		return 0
	}
	slices.Sort(all)
	at := func(q float64) time.Duration { return all[int(q*float64(len(all)-1))].Round(time.Millisecond) }
	fmt.Fprintf(out, "%s: %d, median %v, 99th percentile %v, longest %v\n", what, len(all), at(0.5), at(0.99), at(1))
	return at(0.99)
}
