package transport

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/await"
	"github.com/mcpchain/mcpchain/mcpclient/transport/internal/child"
)

// exitTime is how long a connection that broke waits to learn how the process
// came to its end.
const exitTime = time.Second / 2

// Command reaches a server by starting a process and speaking over its
// standard input and output, one message a line (the stdio transport).
//
// When the process exits or closes its output, Recv delivers what it wrote and
// then a [*ProcessError]. A descendant that holds the output open delays that
// by 200 ms at most. A line that does not begin like a JSON object or array is
// skipped, up to an answer that may stand on it; a client logs it, and the error that
// ends the connection quotes the last such line. A line over MaxMessage is a
// [*MessageError] as soon as that is known, and the connection continues after it.
// Send queues a message; it waits while 1 MiB is queued.
//
// Close ends the whole process group: it closes the process's input, waits
// for StopTimeout, sends SIGTERM, waits again, then kills. On Windows it
// terminates the process tree. When this process is killed itself, the server
// sees the end of its input, and on Windows is killed too.
type Command struct {
	Path string   // the program, looked up in PATH when it has no slash
	Args []string // without the program's name
	Dir  string   // default: the current directory

	// Env is added, as "KEY=value", to the environment that the server gets;
	// later entries win. Default: nothing. What the server gets without it is
	// where to find things (PATH, HOME, TMPDIR, …), who and where the user is,
	// and how to talk to them (LANG, TERM, TZ, …): no secret of this process.
	Env []string

	// InheritEnv gives the server the whole environment of this process, and
	// with it the keys and tokens that are there.
	InheritEnv bool

	// Stderr gets what the server writes to its standard error, from one
	// goroutine. Default: discarded, but for the last 2 KiB, which errors quote: of
	// a crash with a long stack trace that is its beginning and its end.
	// A writer that is stuck for a second loses output instead of holding up
	// the server, and is left behind by Close when it stays stuck for
	// StopTimeout; one that fails is not called again.
	Stderr io.Writer

	// MaxMessage bounds one message in bytes. Default 32 MiB.
	MaxMessage int

	// StopTimeout is the wait at each step of stopping. Default 2 s.
	StopTimeout time.Duration
}

// Dial starts the process. The error of one that does not start is a
// [*ProcessError] and wraps what the operating system said.
func (t *Command) Dial(ctx context.Context) (Conn, error) {
	if t == nil {
		return nil, missing(t)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(t.Env, nameless); i >= 0 {
		return nil, fmt.Errorf("start %q: Env[%d]: want KEY=value", t.Path, i)
	}
	p, err := child.Start(child.Spec{
		Path:        t.Path,
		Args:        t.Args,
		Dir:         t.Dir,
		Env:         t.environment(os.Environ()),
		Stderr:      t.Stderr,
		StopTimeout: t.StopTimeout,
	})
	if err != nil {
		return nil, &startError{&ProcessError{Command: t.Path, Status: err.Error()}, err}
	}

	return newStream(started{p, t.Path}, p.Stdout(), p.Stdin(), t.MaxMessage), nil
}

// ConnectTimeout implements [Bounded]: a minute.
func (t *Command) ConnectTimeout() time.Duration { return time.Minute }

// Identity implements [Identifier]. The directory is a part of it, absolute: in another one
// the same command may start another program.
func (t *Command) Identity() string {
	dir, err := filepath.Abs(t.Dir)
	if err != nil {
		dir = t.Dir
	}
	return fmt.Sprintf("command %q", append([]string{dir, t.Path}, t.Args...))
}

// nameless reports an entry that is not KEY=value. A name may begin with "=": Windows
// keeps the directory of each drive in such variables.
func nameless(entry string) bool {
	return entry == "" || !strings.Contains(entry[1:], "=")
}

// started is what a stream of a [Command] runs over.
type started struct {
	process *child.Process
	path    string
}

// cause says how the process came to its end. It may be about to.
func (s started) cause(op string, _ error) error {
	await.Closed(s.process.Done(), exitTime)
	closed := "closed its standard output but runs on"
	if op == "write" {
		closed = "closed its standard input but runs on"
	}
	return &ProcessError{Command: s.path, Status: cmp.Or(s.process.Status(), closed), Stderr: s.stderr()}
}

func (s started) closeRead() { s.process.End() }

func (s started) close() error { return s.process.Stop() }

func (s started) Kill() { s.process.Kill() }

func (s started) stderr() string { return s.process.StderrExcerpt() }

func (s started) name() string { return fmt.Sprintf("the command %q", s.path) }

// ProcessError says how the process of a [Command] transport came to its end.
type ProcessError struct {
	Command string // the program, without its arguments
	Status  string // "exit status 3", "signal: killed", or why it did not start
	Stderr  string // the last lines of its standard error, at most 2 KiB; of a long report the first and the last
}

// Error has the program, its end, and what it wrote to its standard error.
func (e *ProcessError) Error() string { return e.with("") }

// with is the text of the error with more about its end.
func (e *ProcessError) with(more string) string {
	s := fmt.Sprintf("server %q: %s%s", e.Command, e.Status, more)
	if e.Stderr != "" {
		s += "; it" + onStderr(e.Stderr)
	}
	return s
}

// onStderr is how errors show what a process said there, as it was written: people
// read it.
func onStderr(said string) string { return " wrote to stderr:\n" + said }

// startError is a ProcessError with what the operating system said.
type startError struct {
	process *ProcessError
	cause   error
}

func (e *startError) Error() string { return e.cause.Error() }

func (e *startError) Unwrap() []error { return []error{e.process, e.cause} }

// BundledPath returns the path of a program next to the running one, for
// [Command.Path]: servers that ship with their host. The name has no directory;
// ".exe" is added when only that file exists. When the running program is a
// symbolic link, the directory of the link comes first, then that of the file. The error
// matches [os.ErrNotExist] if there is no such file.
func BundledPath(name string) (string, error) {
	executable, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find %q next to the running program: %w", name, err)
	}
	return bundledPath(executable, name)
}

func bundledPath(executable, name string) (string, error) {
	if name == "" || name != filepath.Base(name) {
		return "", fmt.Errorf("find %q next to the running program: want the name of a file, without a directory", name)
	}
	dirs := []string{filepath.Dir(executable)}
	if target, err := filepath.EvalSymlinks(executable); err == nil && filepath.Dir(target) != dirs[0] {
		dirs = append(dirs, filepath.Dir(target))
	}
	for _, dir := range dirs {
		for _, file := range []string{name, name + ".exe"} {
			path := filepath.Join(dir, file)
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("find %q next to the running program: no such file in %q: %w", name, dirs, os.ErrNotExist)
}
