package child

import (
	"io"
	"os"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/await"
)

// lateTimeout bounds the wait for the end of the standard error after the exit
// of the process: it may be held open for drainTimeout, and reading takes time.
const lateTimeout = 2 * drainTimeout

// watch reads the standard error, which is file, reaps the process after its exit, and then
// closes done. One goroutine does all that, unless a writer could block it.
func (p *Process) watch(stderr io.Writer, file *os.File) {
	if stderr == nil {
		if w, err := newExitWatch(p.process, file); err == nil {
			p.wg.Go(func() { p.watchTogether(w) })
			return
		}
	}
	p.watchApart(stderr)
}

// watchTogether reads the standard error and awaits the exit on one goroutine.
func (p *Process) watchTogether(w *exitWatch) {
	ended, err := w.await(p.readOnce)
	if err != nil {
		p.watchApart(nil)
		return
	}
	p.reap()
	for late := time.Now().Add(lateTimeout); !ended && time.Now().Before(late); {
		ended = !p.readOnce()
	}
	close(p.done)
}

// watchApart reads the standard error on one goroutine and awaits the exit on another.
func (p *Process) watchApart(stderr io.Writer) {
	drained := make(chan struct{})
	p.wg.Go(func() { p.drain(stderr, drained) })
	p.wg.Go(func() {
		awaitExit(p.process)
		p.reap()
		await.Closed(drained, lateTimeout)
		close(p.done)
	})
}

// awaitExit returns when the process has exited, or at once if the exit cannot be watched.
func awaitExit(p *os.Process) {
	if w, err := newExitWatch(p, nil); err == nil {
		_, _ = w.await(nil)
	}
}

// reap waits for the process and sets its status. Then it bounds the reading of the output, and
// begins to end the rest of the group.
func (p *Process) reap() {
	if state, err := p.process.Wait(); err == nil {
		p.status = state.String()
	} else {
		p.status = err.Error()
	}
	close(p.exited)
	p.stdout.expire()
	p.stderr.expire()
	p.End()
}
