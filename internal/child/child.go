// Package child runs a program as a child process and sees to its end, with
// everything that it started.
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
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// defaultStopTimeout is the wait at each step of [Process.Stop].
	defaultStopTimeout = 2 * time.Second

	// drainTimeout bounds what is still read after the process has exited, while
	// a descendant of it holds its output open.
	drainTimeout = 200 * time.Millisecond

	// discardDelay is how long a process that is being stopped gets before its
	// output is thrown away: few need that to end.
	discardDelay = 10 * time.Millisecond

	// killTimeout bounds the wait for the end of what was killed.
	killTimeout = 5 * time.Second
)

// Spec says what to run.
type Spec struct {
	Path string   // the program, looked up in PATH when it has no slash
	Args []string // without the program's name
	Dir  string   // default: the current directory
	Env  []string // "KEY=value", the whole environment, later ones win; nil is that of this process

	// Stderr gets what the process writes to its standard error, from one
	// goroutine. A writer that takes nothing for a second loses what comes after
	// the next 64 KiB, with a line that says how much; one that returns an error
	// is not called again. Neither holds up the process.
	Stderr io.Writer

	// StopTimeout is the wait at each step of [Process.Stop]. Default 2 s.
	StopTimeout time.Duration
}

// Process is a running program, the head of a process group of its own. Its
// methods may be called from any goroutine. The owner must call
// [Process.Stop], also after the process has exited.
type Process struct {
	cmd         *exec.Cmd
	group       *group
	stopTimeout time.Duration

	stdin  Input
	stdout output
	stderr output
	said   excerpt // on the standard error

	exited chan struct{} // closed when the process was reaped and status is set
	status string
	done   chan struct{}

	descends atomic.Bool   // descend has begun
	hurry    chan struct{} // closed when no step of the descent may take time
	rush     sync.Once     // closes hurry
	stopped  chan struct{} // closed when descend has ended
	stopErr  error         // set before stopped is closed
	wg       sync.WaitGroup
}

// Start runs the program. Its error names the program, and says where it was
// looked for when it was not found.
func Start(s Spec) (p *Process, err error) {
	cmd := exec.Command(s.Path, s.Args...)
	cmd.Dir = s.Dir
	cmd.Env = s.Env

	var files []*os.File
	defer func() {
		if err != nil {
			closeAll(files)
		}
	}()
	open := func(stays end) (r, w *os.File) {
		if err == nil {
			r, w, err = pipe(stays)
			files = append(files, r, w)
		}
		return r, w
	}
	inR, inW := open(writeEnd)
	outR, outW := open(readEnd)
	errR, errW := open(readEnd)
	if err != nil {
		return nil, fmt.Errorf("start %q: %w", s.Path, err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW

	group, err := startGroup(cmd)
	if err != nil {
		return nil, startError(s, err)
	}
	closeAll([]*os.File{inR, outW, errW})

	cmd.Args, cmd.Env = nil, nil // which is as large as that of this process

	p = &Process{
		cmd:         cmd,
		group:       group,
		stopTimeout: cmp.Or(max(s.StopTimeout, 0), defaultStopTimeout),
		stdin:       Input{file: inW},
		stdout:      output{file: outR},
		stderr:      output{file: errR},
		exited:      make(chan struct{}),
		done:        make(chan struct{}),
		hurry:       make(chan struct{}),
		stopped:     make(chan struct{}),
	}
	p.watch(s.Stderr)
	return p, nil
}

// Pid returns the number of the process, which is also that of its group.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Stdin returns the standard input of the process.
func (p *Process) Stdin() *Input { return &p.stdin }

// Stdout returns the standard output of the process. It ends with io.EOF when
// every holder has closed it, and at the latest 200 ms after the process
// exited; what the pipe held by then can still be read.
func (p *Process) Stdout() io.Reader { return &p.stdout }

// Done is closed when the process has exited, which sets [Process.Status], and
// the end of its standard error has been read.
func (p *Process) Done() <-chan struct{} { return p.done }

// Status says how the process came to its end: "exit status 3" or "signal:
// killed". It is empty before [Process.Done] is closed.
func (p *Process) Status() string {
	select {
	case <-p.done:
		return p.status
	default:
		return ""
	}
}

// StderrExcerpt returns the last lines of the standard error, at most 2 KiB, without
// control characters. Where the process has just written more than that, it is the
// first and the last KiB of it, with a line of "…" between.
func (p *Process) StderrExcerpt() string { return p.said.String() }

// Stop ends the process and everything in its group: it closes the standard
// input, waits for StopTimeout, sends SIGTERM, waits again, sends SIGKILL, and
// reaps. After 10 ms the output is read and thrown away, so that a process that
// has much to say can end. A descendant that outlives the process gets 200 ms
// and then the same signals. On Windows there is no SIGTERM: the second step
// terminates the job that all descendants belong to.
//
// [Process.Kill] goes straight to SIGKILL. Stop returns when all has ended, at the
// latest 5 s after SIGKILL, and later calls return the same: nil, or that the
// process or a descendant survived, as one can that waits inside the operating
// system.
func (p *Process) Stop() error {
	var reading sync.WaitGroup
	reading.Add(1)
	early := time.AfterFunc(discardDelay, func() {
		defer reading.Done()
		_, _ = io.Copy(io.Discard, &p.stdout)
	})
	if p.descends.CompareAndSwap(false, true) {
		p.descend()
	}
	<-p.stopped
	if early.Stop() {
		reading.Done()
	}
	if p.stopErr == nil {
		<-p.done
	}
	p.stdout.file.Close()
	p.stderr.file.Close()
	reading.Wait()
	if p.stopErr == nil {
		p.wg.Wait()
	}
	return p.stopErr
}

// Kill has Stop go straight to SIGKILL, and waits for nothing.
func (p *Process) Kill() {
	p.rush.Do(func() { close(p.hurry) })
	p.End()
}

// end is one of the two of a pipe, as an index of what the system returns.
type end int

const (
	readEnd end = iota
	writeEnd
)

// startError explains why a program did not start.
func startError(s Spec, err error) error {
	blank := strings.ContainsAny(s.Path, " \t")
	if errors.Is(err, exec.ErrNotFound) && filepath.Base(s.Path) == s.Path && !blank {
		return fmt.Errorf("start %q: %w: install it, or give its full path", s.Path, exec.ErrNotFound)
	}
	notFound := errors.Is(err, exec.ErrNotFound) // of a path: on Windows alone
	if notFound {
		err = fs.ErrNotExist
	}
	if s.Dir != "" {
		if _, dirErr := os.Stat(s.Dir); dirErr != nil {
			return fmt.Errorf("start %q: working directory: %w", s.Path, dirErr)
		}
	}
	at := s.Path
	if s.Dir != "" && !filepath.IsAbs(at) && strings.ContainsRune(filepath.ToSlash(at), '/') {
		at = filepath.Join(s.Dir, at)
		err = fmt.Errorf("%w (a relative path starts from the working directory %q)", err, s.Dir)
	}
	switch info, statErr := os.Stat(at); {
	case statErr != nil && strings.ContainsAny(s.Path, "~$"):
		err = fmt.Errorf("%w (~ and $ are for a shell to replace: write the path out)", err)
	case statErr != nil && blank:
		err = fmt.Errorf("%w (arguments belong in Args, not in Path)", err)
	case statErr != nil:
	case info.IsDir():
		err = fmt.Errorf("%w (it is a directory)", err)
	case notFound:
		err = fmt.Errorf("%w (the file is there, but Windows runs what has an extension of PATHEXT, such as .exe)", err)
	case errors.Is(err, fs.ErrNotExist):
		err = fmt.Errorf("%w (the file is there: what its first line or its loader names is not)", err)
	case errors.Is(err, fs.ErrPermission) && info.Mode()&0o111 == 0:
		err = fmt.Errorf("%w (the file is not one that may be run: see chmod +x)", err)
	case errors.Is(err, fs.ErrPermission):
		err = fmt.Errorf("%w (the file itself may be run: look at what its first line names, its disk and the working directory)", err)
	}
	return fmt.Errorf("start %q: %w", s.Path, err)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
