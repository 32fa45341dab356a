package mcpclient

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/stdio"
)

// Command is the stdio transport: it starts a process and exchanges messages over its standard
// input and output, one per line.
//
// When the process exits or closes its output, Recv returns what it wrote and then a
// [*transport.ProcessError]. A descendant that keeps the output open delays that by at most 200
// ms. A line that does not begin like a JSON object or array is skipped, up to an answer that
// it may contain; a client logs it, and the error that ends the connection quotes the last such
// line. A line over MaxMessage is a [*transport.MessageError] as soon as that is known; the
// connection continues after it. Send queues a message; it blocks while 1 MiB is queued.
//
// Close ends the whole process group: it closes the process's input, waits for StopTimeout,
// sends SIGTERM, waits again, then kills. On Windows it terminates the process tree. If this
// process is killed, the server sees the end of its input, and on Windows is killed, too.
type Command struct {
	Path string   // the program; looked up in PATH if it has no slash
	Args []string // without the program's name
	Dir  string   // default: the current directory

	// Env is added to the server's environment, as "KEY=value"; later entries take precedence.
	// Default: nothing. The basic environment has what programs need to find files (PATH, HOME,
	// TMPDIR, …), the user and the place, and the form of output (LANG, TERM, TZ, …), but no
	// secrets of this process.
	Env []string

	// InheritEnv passes the whole environment of this process to the server, including its keys
	// and tokens.
	InheritEnv bool

	// Stderr gets the server's standard error, from one goroutine. Default: discarded, except
	// for the last 2 KiB, which errors quote; for a crash with a long stack trace these are its
	// beginning and end. If a Write blocks for a second, output is dropped so that the server
	// is not held up, and Close leaves the writer behind if it blocks for StopTimeout. After an
	// error the writer is not called again.
	Stderr io.Writer

	// MaxMessage bounds one message in bytes. Default 32 MiB.
	MaxMessage int

	// StopTimeout is the wait at each step of stopping. Default 2 s.
	StopTimeout time.Duration
}

// Dial starts the process. The error of a process that does not start is a
// [*transport.ProcessError] and wraps the operating system's.
func (t *Command) Dial(ctx context.Context) (Conn, error) { return (*stdio.Command)(t).Dial(ctx) }

// Identity returns what distinguishes the server from others, for an [EraCache]. It includes
// the absolute directory, because the same command may start another program elsewhere.
func (t *Command) Identity() string {
	dir, err := filepath.Abs(t.Dir)
	if err != nil {
		dir = t.Dir
	}
	return fmt.Sprintf("command %q", append([]string{dir, t.Path}, t.Args...))
}

// BundledPath returns the path of a program next to the running one, for [Command.Path] of
// servers that ship with their host. name has no directory; ".exe" is added if only that file
// exists. If the running program is a symbolic link, the directory of the link is tried first,
// then that of the file. The error matches [os.ErrNotExist] if there is no such file.
func BundledPath(name string) (string, error) { return stdio.BundledPath(name) }
