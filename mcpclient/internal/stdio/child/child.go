// Package child runs a program as a child process, and ends it with all its descendants.
package child

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/await"
)

const (
	defaultStopTimeout = 2 * time.Second

	// drainTimeout bounds the reading after the exit of the process, while a descendant holds the output open.
	drainTimeout = 200 * time.Millisecond

	// discardDelay is how long Stop waits before it discards the output of the process: most end without that.
	discardDelay = 10 * time.Millisecond

	killTimeout = 5 * time.Second
)

// Spec describes the program to run.
type Spec struct {
	Path string   // the program, looked up in this process's PATH, not in Env's, if it has no slash
	Args []string // without the program's name
	Dir  string   // default: the current directory
	Env  []string // "KEY=value", the whole environment, later entries win; nil for this process's environment

	// Stderr gets the standard error of the process, from one goroutine. If the writer blocks for a
	// second, the output beyond a queue of at most 16 KiB is dropped, and a line tells how much.
	// After an error the writer is not called again. A blocked writer delays the process by a
	// second at most, a failed one not at all.
	Stderr io.Writer

	// StopTimeout is the wait at each step of [Process.Stop]. Default 2 s.
	StopTimeout time.Duration
}

// Process is a running program, the head of a process group of its own. Its methods may be called
// from any goroutine. The owner must call [Process.Stop], even after the process has exited.
type Process struct {
	process     *os.Process
	group       *group
	stopTimeout time.Duration

	stdin   io.WriteCloser
	stdout  output
	stderr  output
	excerpt excerpt // standard error, shortened

	exited chan struct{} // closed after the process was reaped and status was set
	status string
	done   chan struct{}

	terminating atomic.Bool   // terminate has begun
	noWait      chan struct{} // closed to skip the waits of terminate
	killOnce    sync.Once     // closes noWait
	stopped     chan struct{} // closed when terminate has ended
	stopErr     error         // set before stopped is closed
	closeOnce   sync.Once     // closes the output
	unclosed    bool          // a Close of the output did not return in time; set by closeOnce
	wg          sync.WaitGroup
}

// Start runs the program. Its error names the program, and if it was not found, the places that were searched.
func Start(s Spec) (*Process, error) {
	pipes, err := openPipes()
	if err != nil {
		return nil, fmt.Errorf("start %q: %w", s.Path, err)
	}
	stdin, stdout, stderr := pipes[0], pipes[1], pipes[2]
	cmd := exec.Command(s.Path, s.Args...)
	cmd.Dir = s.Dir
	cmd.Env = s.Env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin.r, stdout.w, stderr.w
	group, err := startGroup(cmd)
	closeAll(stdin.r, stdout.w, stderr.w)
	if err != nil {
		closeAll(stdin.w, stdout.r, stderr.r)
		return nil, startError(s, cmd.Path, err)
	}
	p := &Process{
		process:     cmd.Process, // cmd is large
		group:       group,
		stopTimeout: cmp.Or(max(s.StopTimeout, 0), defaultStopTimeout),
		stdin:       stdin.w,
		stdout:      output{file: stdout.r},
		stderr:      output{file: stderr.r},
		exited:      make(chan struct{}),
		done:        make(chan struct{}),
		noWait:      make(chan struct{}),
		stopped:     make(chan struct{}),
	}
	p.watch(s.Stderr, stderr.r)
	return p, nil
}

type pipe struct{ r, w *os.File }

func openPipes() (all [3]pipe, err error) {
	for i := range all {
		r, w, err := os.Pipe()
		if err != nil {
			for _, opened := range all[:i] {
				closeAll(opened.r, opened.w)
			}
			return all, err
		}
		all[i] = pipe{r, w}
	}
	return all, nil
}

// closePipe closes our end of a pipe, and reports whether Close has returned. On Windows it waits for a Read or Write that
// begins at the same time.
func closePipe(end io.Closer) (closed bool) {
	if file, ok := end.(*os.File); ok && runtime.GOOS != "windows" {
		_ = file.Close()
		return true
	}
	closed, _ = await.Close(end, drainTimeout)
	return closed
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close()
	}
}

// Pid returns the number of the process and of its group.
func (p *Process) Pid() int { return p.process.Pid }

// Stdin returns the standard input of the process. Write blocks while the pipe is full;
// Close ends a blocked Write. The process can still read what was written.
func (p *Process) Stdin() io.WriteCloser { return p.stdin }

// Stdout returns the standard output of the process. It ends with io.EOF when every holder has closed it, at the latest 200
// ms after the exit of the process; bytes in the pipe by then can still be read.
func (p *Process) Stdout() io.Reader { return &p.stdout }

// Done is closed when the process has exited and its standard error has been read, at the
// latest 400 ms after the exit.
func (p *Process) Done() <-chan struct{} { return p.done }

// Status describes the end of the process: "exit status 3" or "signal: killed". It is empty before [Process.Done] is closed.
func (p *Process) Status() string {
	select {
	case <-p.done:
		return p.status
	default:
		return ""
	}
}

// StderrExcerpt returns the last lines of the standard error, at most 2 KiB, without control characters. If the process has
// just written more, it is the first and the last KiB, with a line of "…" between.
func (p *Process) StderrExcerpt() string { return p.excerpt.String() }

// Stop ends the process and everything in its group: it closes the standard input, waits for StopTimeout, sends SIGTERM,
// waits again, sends SIGKILL, and reaps. After 10 ms the output is discarded, so that a process with much output can end. A
// descendant that outlives the process gets 200 ms and then the same signals. On Windows there is no SIGTERM: the second step
// terminates the job that all descendants belong to.
//
// [Process.Kill] goes straight to SIGKILL. Stop returns when all processes have ended, at the latest 5 s after SIGKILL, and
// then waits up to StopTimeout for a slow Stderr. All calls return the same: nil, or an error if the process or a
// descendant survived, for example because it waits inside the kernel.
func (p *Process) Stop() error {
	var reading sync.WaitGroup
	reading.Add(1)
	early := time.AfterFunc(discardDelay, func() {
		defer reading.Done()
		_, _ = io.Copy(io.Discard, &p.stdout)
	})
	if p.terminating.CompareAndSwap(false, true) {
		p.terminate()
	}
	<-p.stopped
	if early.Stop() {
		reading.Done()
	}
	if p.stopErr == nil {
		<-p.done
	}
	p.closeOnce.Do(func() {
		outClosed, errClosed := closePipe(p.stdout.file), closePipe(p.stderr.file)
		p.unclosed = !outClosed || !errClosed
	})
	if p.unclosed {
		return p.stopErr
	}
	reading.Wait()
	if p.stopErr == nil {
		p.wg.Wait()
	}
	return p.stopErr
}

// Kill makes Stop go straight to SIGKILL, and does not wait. The process itself has been killed when Kill returns, also if
// this program ends at once.
func (p *Process) Kill() {
	p.killOnce.Do(func() { close(p.noWait) })
	_ = p.process.Kill() // an error: it has exited
	p.End()
}

// startError explains why a program did not start: by its working directory, by the shape of its
// path, or by the file at the path where it was found.
func startError(s Spec, at string, err error) error {
	blank := strings.ContainsAny(s.Path, " \t")
	if errors.Is(err, exec.ErrNotFound) && filepath.Base(s.Path) == s.Path && !blank {
		return fmt.Errorf("start %q: %w: install it, or give its full path", s.Path, exec.ErrNotFound)
	}
	if errors.Is(err, exec.ErrNotFound) { // for a path: only on Windows
		err = fs.ErrNotExist
	}
	if s.Dir != "" {
		if _, dirErr := os.Stat(s.Dir); dirErr != nil {
			return fmt.Errorf("start %q: working directory: %w", s.Path, dirErr)
		}
	}
	if s.Dir != "" && !filepath.IsAbs(at) && strings.ContainsRune(filepath.ToSlash(s.Path), '/') {
		at = filepath.Join(s.Dir, at)
		err = fmt.Errorf("%w (a relative path starts from the working directory %q)", err, s.Dir)
	}
	switch info, statErr := os.Stat(at); {
	case statErr != nil && strings.ContainsAny(s.Path, "~$"):
		err = fmt.Errorf("%w (no shell expands ~ or $ here: write the full path)", err)
	case statErr != nil && blank:
		err = fmt.Errorf("%w (arguments belong in Args, not in Path)", err)
	case statErr != nil:
	case info.IsDir():
		err = fmt.Errorf("%w (it is a directory)", err)
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%w (the file exists, but not the interpreter or loader that it names; or Windows cannot run files of this kind)", err)
	case errors.Is(err, fs.ErrPermission) && info.Mode()&0o111 == 0:
		err = fmt.Errorf("%w (the file is not executable: use chmod +x)", err)
	}
	return fmt.Errorf("start %q: %w", s.Path, err)
}
