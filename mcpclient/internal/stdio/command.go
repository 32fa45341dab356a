// Package stdio is the stdio transport, over a process or over a reader and a writer, with one
// message per line.
package stdio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient/internal/await"
	"github.com/mcpchain/mcpchain/mcpclient/internal/stdio/child"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// exitTime is how long a broken connection waits to learn how the process ended.
const exitTime = time.Second / 2

// Command is the transport of mcpclient.Command, which documents the fields.
type Command struct {
	Path        string
	Args        []string
	Dir         string
	Env         []string
	Stderr      io.Writer
	MaxMessage  int
	StopTimeout time.Duration
}

// Dial starts the process: see mcpclient.Command.
func (t *Command) Dial(ctx context.Context) (transport.Conn, error) {
	if t == nil {
		return nil, errors.New("no transport (a nil *mcpclient.Command)")
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(t.Env, isMalformedEntry); i >= 0 {
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
		return nil, &startError{&transport.ProcessError{Command: t.Path, Status: err.Error()}, err}
	}
	return newStream(commandCarrier{p, t.Path}, p.Stdout(), p.Stdin(), t.MaxMessage), nil
}

type commandCarrier struct {
	process *child.Process
	path    string
}

// cause returns how the process ended. It may be about to end.
func (s commandCarrier) cause(op string, _ error) error {
	await.Closed(s.process.Done(), exitTime)
	closed := "closed its standard output but runs on"
	if op == "write" {
		closed = "closed its standard input but runs on"
	}
	return &transport.ProcessError{Command: s.path, Status: cmp.Or(s.process.Status(), closed), Stderr: s.stderr()}
}

func (s commandCarrier) closeRead() { s.process.End() }

func (s commandCarrier) close() error { return s.process.Stop() }

func (s commandCarrier) Kill() { s.process.Kill() }

func (s commandCarrier) stderr() string { return s.process.StderrExcerpt() }

func (s commandCarrier) name() string { return fmt.Sprintf("the command %q", s.path) }

type startError struct {
	process *transport.ProcessError
	cause   error
}

func (e *startError) Error() string { return e.cause.Error() }

func (e *startError) Unwrap() []error { return []error{e.process, e.cause} }
