package child

import (
	"io"
	"os"
	"time"
)

// lateTimeout bounds the wait for the end of the standard error when the process
// has exited: for drainTimeout it may be held open, and to read it takes time.
const lateTimeout = 2 * drainTimeout

// watch reads the standard error, reaps the process when it has exited, and then
// closes done. One goroutine does all that, unless a writer could hold it up.
func (p *Process) watch(stderr io.Writer) {
	if stderr == nil {
		if w, err := newExitWatch(p.cmd.Process, p.stderr.file); err == nil {
			p.wg.Go(func() { p.watchTogether(w) })
			return
		}
	}
	p.watchApart(stderr)
}

func (p *Process) watchTogether(w *exitWatch) {
	ended, err := w.await(p.sip)
	if err != nil {
		p.watchApart(nil)
		return
	}
	p.reap()
	for late := time.Now().Add(lateTimeout); !ended && time.Now().Before(late); {
		ended = !p.sip()
	}
	close(p.done)
}

func (p *Process) watchApart(stderr io.Writer) {
	drained := make(chan struct{})
	p.wg.Go(func() { p.drain(stderr, drained) })
	p.wg.Go(func() {
		awaitExit(p.cmd.Process)
		p.reap()
		late := time.NewTimer(lateTimeout)
		defer late.Stop()
		select {
		case <-drained:
		case <-late.C:
		}
		close(p.done)
	})
}

// awaitExit returns once the process has exited, or at once where that cannot be
// watched.
func awaitExit(p *os.Process) {
	if w, err := newExitWatch(p, nil); err == nil {
		_, _ = w.await(nil)
	}
}

// reap waits for the process, and then has the rest of its group ended.
func (p *Process) reap() {
	err := p.cmd.Wait()
	if state := p.cmd.ProcessState; state != nil {
		p.status = state.String()
	} else {
		p.status = err.Error()
	}
	close(p.exited)
	p.stdout.expire()
	p.stderr.expire()
	p.End()
}
