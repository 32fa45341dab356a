package temporaleval

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/evals/bench/rig"
)

// watch measures how long runs pause when their worker is killed.
type watch struct {
	mu      sync.Mutex
	workers map[string]int       // the worker that works on a run or waits for its lease, by run
	killed  map[string]time.Time // when that worker was killed, by run
	pauses  []float64            // nanoseconds from a kill until the run is held again
	steps   int                  // steps that have begun
}

func newWatch() *watch { return &watch{workers: map[string]int{}, killed: map[string]time.Time{}} }

// ServeHTTP receives the reports of workers, see reporter.report.
func (w *watch) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	run := q.Get("run")
	w.mu.Lock()
	defer w.mu.Unlock()
	switch q.Get("what") {
	case "begin":
		w.workers[run], _ = strconv.Atoi(q.Get("worker"))
	case "hold":
		w.steps++
		if at, ok := w.killed[run]; ok {
			w.pauses = append(w.pauses, float64(time.Since(at)))
			delete(w.killed, run)
		}
	case "free":
		delete(w.workers, run)
	}
}

// kill notes that a worker was killed, for each run that it worked on.
func (w *watch) kill(worker int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for run, by := range w.workers {
		if by == worker {
			w.killed[run] = time.Now()
		}
	}
}

// print writes the pauses, and returns how many steps have begun. slow is true if the 99th
// percentile of the pauses is above the bound.
func (w *watch) print(out io.Writer, bound time.Duration) (steps int, slow bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pauses) == 0 {
		fmt.Fprintln(out, "no step was interrupted")
		return w.steps, false
	}
	at := func(share float64) time.Duration {
		return time.Duration(rig.Quantile(w.pauses, share)).Round(time.Millisecond)
	}
	fmt.Fprintf(out, "pause of a step after a kill: %d, median %v, 99th percentile %v, longest %v\n", len(w.pauses), at(0.5), at(0.99), at(1))
	fmt.Fprintf(out, "the bound of a pause is %v at the 99th percentile\n", bound)
	return w.steps, at(0.99) > bound
}
