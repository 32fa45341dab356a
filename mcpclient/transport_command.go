package mcpclient

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/stdio"
)

// Command reaches a server by starting a process and speaking over its
// standard input and output, one message a line (the stdio transport).
//
// When the process exits or closes its output, Recv delivers what it wrote and
// then a [*transport.ProcessError]. A descendant that holds the output open delays that
// by 200 ms at most. A line that does not begin like a JSON object or array is
// skipped, up to an answer that may stand on it; a client logs it, and the error that
// ends the connection quotes the last such line. A line over MaxMessage is a
// [*transport.MessageError] as soon as that is known, and the connection continues after it.
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
// [*transport.ProcessError] and wraps what the operating system said.
func (t *Command) Dial(ctx context.Context) (Conn, error) { return (*stdio.Command)(t).Dial(ctx) }

// Identity tells the server from others, for an [EraCache]. The directory is a part of it, absolute: in another one
// the same command may start another program.
func (t *Command) Identity() string {
	dir, err := filepath.Abs(t.Dir)
	if err != nil {
		dir = t.Dir
	}
	return fmt.Sprintf("command %q", append([]string{dir, t.Path}, t.Args...))
}

// BundledPath returns the path of a program next to the running one, for
// [Command.Path]: servers that ship with their host. The name has no directory;
// ".exe" is added when only that file exists. When the running program is a
// symbolic link, the directory of the link comes first, then that of the file. The error
// matches [os.ErrNotExist] if there is no such file.
func BundledPath(name string) (string, error) { return stdio.BundledPath(name) }
