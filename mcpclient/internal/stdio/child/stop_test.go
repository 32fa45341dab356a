package child

import (
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// Stop waits for killed processes, and reports a process that does not end.
func TestAwaitEnd(t *testing.T) {
	for name, test := range map[string]struct {
		exits bool
		runs  time.Duration
		want  string
	}{
		"all has ended":      {true, 0, "<nil>"},
		"a slow descendant":  {true, killTimeout - time.Second, "<nil>"},
		"a descendant stays": {true, time.Hour, "descendant did not end within 5s of being killed"},
		"the process stays":  {false, 0, "did not end within 5s of being killed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				exited := make(chan struct{})
				if test.exits {
					close(exited)
				}
				start := time.Now()
				check.Equal(t, "", fmt.Sprint(awaitEnd(exited, func() bool { return time.Since(start) < test.runs })), test.want)
			})
		})
	}
}

// stuck is our end of a pipe of Windows, whose Close waits for a Read or Write that began at the same time.
type stuck struct{ release chan struct{} }

func (s stuck) Read([]byte) (int, error)        { <-s.release; return 0, io.EOF }
func (s stuck) Write([]byte) (int, error)       { <-s.release; return 0, io.ErrClosedPipe }
func (s stuck) Close() error                    { <-s.release; return nil }
func (s stuck) SetReadDeadline(time.Time) error { return os.ErrNoDeadline }

// A pipe that cannot be closed keeps no process alive, and holds up no caller of Stop.
func TestStopLeavesStuckPipes(t *testing.T) {
	real := start(t, "deaf")
	readLine(t, real.Stdout())
	end := stuck{make(chan struct{})}
	defer close(end.release)
	p := &Process{
		process: real.process, group: real.group, exited: real.exited, done: real.done, stopTimeout: 100 * time.Millisecond,
		stdin: end, stdout: output{file: end}, stderr: output{file: end}, noWait: make(chan struct{}), stopped: make(chan struct{}),
	}
	p.wg.Go(func() { p.drain(nil, make(chan struct{})) })
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { check.NoError(t, p.Stop()) })
	}
	within(t, testenv.Patience, "Stop", all.Wait)
	check.That(t, real.Status() != "", "the process has not ended")
}

// A Write that blocks ends with Stop, also if it begins at the same moment.
func TestStopWhileWriting(t *testing.T) {
	for range 5 {
		p := start(t, "stubborn", func(s *Spec) { s.StopTimeout = 20 * time.Millisecond })
		wrote := make(chan error)
		go func() {
			for {
				if _, err := p.Stdin().Write(make([]byte, 1<<10)); err != nil {
					wrote <- err
					return
				}
			}
		}()
		within(t, testenv.Patience, "Stop", func() { check.NoError(t, p.Stop()) })
		within(t, testenv.Patience, "Write", func() { <-wrote })
	}
}
