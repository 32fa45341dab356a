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
	"path/filepath"
	"runtime"
	"slices"
	"strings"
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

// isMalformedEntry reports whether an entry is not KEY=value. A name may begin with "=": Windows
// keeps the directory of each drive in such variables.
func isMalformedEntry(entry string) bool {
	return entry == "" || !strings.Contains(entry[1:], "=")
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

// BundledPath implements mcpclient.BundledPath.
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

// harmless are the variables that every server gets: none of them is meant for secrets.
var harmless = [...]string{
	"HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "SSL_CERT_DIR", "SSL_CERT_FILE", "TERM", "TMPDIR", "TZ", "USER",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME",
}

// harmlessWindows are the same on Windows, where names have no case.
var harmlessWindows = [...]string{
	"ALLUSERSPROFILE", "APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "NUMBER_OF_PROCESSORS", "PATH", "PATHEXT",
	"PROCESSOR_ARCHITECTURE", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP",
	"USERDOMAIN", "USERNAME", "USERPROFILE", "WINDIR",
}

func (t *Command) environment(own []string) []string {
	out := make([]string, 0, len(own)+len(t.Env)) // nil would mean all
	for _, entry := range own {
		name, value, _ := strings.Cut(entry, "=")
		if isHarmless(runtime.GOOS, name, value) {
			out = append(out, entry)
		}
	}
	return append(out, t.Env...)
}

func isHarmless(system, name, value string) bool {
	if strings.HasPrefix(value, "()") {
		return false // a function that some shells would run
	}
	if system == "windows" {
		return slices.Contains(harmlessWindows[:], strings.ToUpper(name))
	}
	return slices.Contains(harmless[:], name) || strings.HasPrefix(name, "LC_")
}
