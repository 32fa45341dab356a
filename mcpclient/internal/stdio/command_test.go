package stdio

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// TestMain makes this program the server process of its own tests.
func TestMain(m *testing.M) { testenv.Main(m, serverRoles) }

var serverRoles = map[string]func() int{
	"echo": func() int {
		_, _ = io.Copy(os.Stdout, os.Stdin)
		return 0
	},
	"dies": func() int { // after two messages, with a third that was sent before
		lines := bufio.NewScanner(os.Stdin)
		for range 2 {
			lines.Scan()
			fmt.Println(lines.Text())
		}
		fmt.Println(`{"last":true}`)
		fmt.Fprintln(os.Stderr, "fatal: out of cheese")
		return 3
	},
	"usage": func() int {
		fmt.Println("usage: server [flags]")
		return 2
	},
	"deaf": func() int { // never reads
		fmt.Println("{}")
		return testenv.Stay()
	},
	"hides": func() int { // closes its input and continues
		_ = os.Stdin.Close()
		fmt.Println("{}")
		return testenv.Stay()
	},
	"silent": func() int { // closes its output and continues
		_ = os.Stdout.Close()
		return testenv.Stay()
	},
	"stubborn": func() int {
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("{}")
		return testenv.Stay()
	},
	"holder": func() int {
		signal.Ignore(syscall.SIGTERM)
		return testenv.Stay()
	},
	"abandons": func() int { // exits, and leaves a child that keeps the pipes
		spawnHolder()
		return 4
	},
	"parent": func() int { // stays, with such a child
		signal.Ignore(syscall.SIGTERM)
		spawnHolder()
		return testenv.Stay()
	},
	"noisy": func() int { // on stderr, then echoes
		fmt.Fprint(os.Stderr, strings.Repeat(strings.Repeat("x", 63)+"\n", 1<<14))
		_, _ = io.Copy(os.Stdout, os.Stdin)
		return 0
	},
}

// spawnHolder starts a process that keeps the pipes, and writes its number as a message.
func spawnHolder() {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), testenv.Role("holder"))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	fmt.Printf("[%d]\n", cmd.Process.Pid)
}

// dialCommand starts this program in a role, and checks at the end that no goroutine of the connection is left.
func dialCommand(t *testing.T, role string, change ...func(*Command)) transport.Conn {
	t.Helper()
	c := &Command{Path: os.Args[0], Env: []string{testenv.Role(role)}, StopTimeout: 200 * time.Millisecond}
	for _, f := range change {
		f(c)
	}
	ctx, cancel := context.WithCancel(t.Context())
	conn, err := c.Dial(ctx)
	cancel() // the connection outlives it
	check.Must(t, err)
	t.Cleanup(func() {
		soon(t, "Close", func() { check.NoError(t, conn.Close(), "close") })
		testenv.NoGoroutines(t, "/stdio/child.", "stdio.(*writer)")
	})
	return conn
}

func soon(t *testing.T, what string, f func()) {
	t.Helper()
	began := time.Now()
	f()
	took := time.Since(began)
	check.That(t, took <= testenv.Patience, "%s took %v", what, took)
}

func recv(t *testing.T, conn transport.Conn, want string) {
	t.Helper()
	check.Equal(t, "message", string(check.Value(conn.Recv())(t)), want)
}

func send(t *testing.T, conn transport.Conn, message string) {
	t.Helper()
	check.Must(t, conn.Send(t.Context(), []byte(message)))
}

// recvEnd expects the end of a process, soon.
func recvEnd(t *testing.T, conn transport.Conn, status string) *transport.ProcessError {
	t.Helper()
	var err error
	soon(t, "the report of the end of the process", func() { _, err = conn.Recv() })
	e, ok := errors.AsType[*transport.ProcessError](err)
	check.Require(t, ok && e.Status == status && e.Command == os.Args[0], "got %v, want a ProcessError with status %q", err, status)
	return e
}

func TestCommand(t *testing.T) {
	conn := dialCommand(t, "echo")
	for _, m := range []string{"{}", `{"a":"` + strings.Repeat("x", 1<<20) + `"}`, "[]"} {
		send(t, conn, m)
		recv(t, conn, m)
	}
	check.NoError(t, conn.Close())
	check.Is(t, check.Err(conn.Recv()), transport.ErrClosed, "Recv after Close")
	check.Is(t, conn.Send(t.Context(), []byte("{}")), transport.ErrClosed, "Send after Close")
}

func TestCommandRedial(t *testing.T) {
	c := &Command{Path: os.Args[0], Env: []string{testenv.Role("echo")}}
	for range 2 {
		conn := check.Value(c.Dial(t.Context()))(t)
		send(t, conn, "{}")
		recv(t, conn, "{}")
		check.NoError(t, conn.Close())
	}
}

// What a process wrote comes before its end, and its end is the error of everything afterwards.
func TestCommandDies(t *testing.T) {
	conn := dialCommand(t, "dies")
	for _, m := range []string{`{"id":1}`, `{"id":2}`} {
		send(t, conn, m)
		recv(t, conn, m)
	}
	recv(t, conn, `{"last":true}`)
	e := recvEnd(t, conn, "exit status 3")
	check.Equal(t, "stderr", e.Stderr, "fatal: out of cheese")
	check.Equal(t, "second Recv", recvEnd(t, conn, "exit status 3"), e)
	check.Is(t, conn.Send(t.Context(), []byte("{}")), e, "Send")
}

// Writing to a process that has died says how it died, and loses nothing of what it wrote.
func TestCommandWriteToDead(t *testing.T) {
	conn := dialCommand(t, "dies")
	send(t, conn, "[1]")
	send(t, conn, "[2]")
	var err error
	for range 100_000 {
		if err = conn.Send(t.Context(), []byte(`{"method":"notifications/progress"}`)); err != nil {
			break
		}
	}
	e, ok := errors.AsType[*transport.ProcessError](err)
	check.That(t, ok && e.Status == "exit status 3", "Send: got %v, want a ProcessError with exit status 3", err)
	for _, m := range []string{"[1]", "[2]", `{"last":true}`} {
		recv(t, conn, m)
	}
	recvEnd(t, conn, "exit status 3")
}

func TestCommandSaysWhatWasNoMessage(t *testing.T) {
	_, err := dialCommand(t, "usage").Recv()
	_, ok := errors.AsType[*transport.ProcessError](err)
	check.That(t, ok && strings.Contains(err.Error(), `"usage: server [flags]"`), "got %v, want a ProcessError that quotes the line", err)
}

func TestCommandClosesOneEnd(t *testing.T) {
	t.Run("output", func(t *testing.T) { recvEnd(t, dialCommand(t, "silent"), "closed its standard output but runs on") })
	t.Run("input", func(t *testing.T) {
		if runtime.GOOS == "windows" {
			t.Skip("there are no signals on Windows")
		}
		conn := dialCommand(t, "hides")
		recv(t, conn, "{}")
		send(t, conn, "{}")
		recvEnd(t, conn, "closed its standard input but runs on")
	})
}

// A server that does not read holds up no sender past its deadline, nor Close.
func TestCommandDeaf(t *testing.T) {
	conn := dialCommand(t, "deaf")
	recv(t, conn, "{}")
	big := []byte("[" + strings.Repeat("1", 4<<20) + "]")
	check.Must(t, conn.Send(t.Context(), big))
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	soon(t, "Send with a deadline of 200ms", func() { check.Is(t, conn.Send(ctx, big), context.DeadlineExceeded) })
}

func TestCommandCloseUnblocksRecv(t *testing.T) {
	conn := dialCommand(t, "stubborn")
	recv(t, conn, "{}")
	got := make(chan error, 1)
	go func() { got <- check.Err(conn.Recv()) }()
	conn.Close()
	check.Is(t, <-got, transport.ErrClosed)
}

func TestCommandDescendantHoldsPipes(t *testing.T) {
	for _, role := range []string{"abandons", "parent"} {
		t.Run(role, func(t *testing.T) {
			conn := dialCommand(t, role)
			message := check.Value(conn.Recv())(t)
			if role == "abandons" {
				recvEnd(t, conn, "exit status 4")
			}
			check.NoError(t, conn.Close())
			pid := check.Value(strconv.Atoi(strings.Trim(string(message), "[]")))(t)
			check.Equal(t, "the descendant survived", testenv.Runs(pid), false)
		})
	}
}

func TestCommandStderr(t *testing.T) {
	var w strings.Builder // Close comes before reading it
	conn := dialCommand(t, "noisy", func(c *Command) { c.Stderr = &w; c.StopTimeout = 10 * time.Second })
	send(t, conn, "{}")
	recv(t, conn, "{}")
	check.Must(t, conn.Close())
	check.Equal(t, "bytes of stderr", w.Len(), 1<<20)
}

func TestCommandMaxMessage(t *testing.T) {
	conn := dialCommand(t, "echo", func(c *Command) { c.MaxMessage = 4 << 20 })
	go func() {
		_ = errors.Join(conn.Send(t.Context(), bytes.Repeat([]byte("["), 5<<20)), conn.Send(t.Context(), []byte("{}")))
	}()
	check.Is(t, check.Err(conn.Recv()), transport.ErrMessageTooLarge)
	recv(t, conn, "{}")
}

func TestCommandDoesNotStart(t *testing.T) {
	c := &Command{Path: "no-such-mcp-server"}
	_, err := c.Dial(t.Context())
	e, ok := errors.AsType[*transport.ProcessError](err)
	check.That(t, ok && e.Command == c.Path && errors.Is(err, exec.ErrNotFound),
		"got %v, want a ProcessError that wraps %v", err, exec.ErrNotFound)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	check.Is(t, check.Err(c.Dial(ended)), context.Canceled, "with a context that has ended")
}

func TestBundledPathOf(t *testing.T) {
	dir := t.TempDir()
	for _, file := range []string{"host", "server", "tool.exe", "both", "both.exe", "folder/server"} {
		writeProgram(t, filepath.Join(dir, filepath.FromSlash(file)))
	}
	for name, want := range map[string]string{"server": "server", "tool": "tool.exe", "both": "both"} {
		check.Equal(t, name, check.Value(bundledPath(filepath.Join(dir, "host"), name))(t), filepath.Join(dir, want))
	}
	for _, name := range []string{
		"folder", "missing", "", ".", "..", "../" + filepath.Base(dir) + "/server", filepath.Join("folder", "server"), filepath.Join(dir, "server"),
	} {
		check.Text(t, check.Err(bundledPath(filepath.Join(dir, "host"), name)), strconv.Quote(name))
	}
}

// The directory of a link comes before that of the program it leads to.
func TestSiblingOfLink(t *testing.T) {
	dir := check.Value(filepath.EvalSymlinks(t.TempDir()))(t)
	at := func(file string) string { return filepath.Join(dir, filepath.FromSlash(file)) }
	for _, file := range []string{"real/host", "real/server", "real/both", "links/both"} {
		writeProgram(t, at(file))
	}
	if err := os.Symlink(at("real/host"), at("links/host")); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("this user may not make symbolic links:", err)
		}
		t.Fatal(err)
	}
	for name, want := range map[string]string{"server": at("real/server"), "both": at("links/both")} {
		check.Equal(t, name, check.Value(bundledPath(at("links/host"), name))(t), want)
	}
}

func writeProgram(t *testing.T, path string) {
	t.Helper()
	check.Must(t, errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o755)))
}

func TestBundledPath(t *testing.T) {
	executable := check.Value(os.Executable())(t)
	check.Equal(t, "", check.Value(BundledPath(filepath.Base(executable)))(t), executable)
}

// A server gets no secret of this process.
func TestCommandEnvironment(t *testing.T) {
	own := []string{"PATH=/bin", "OPENAI_API_KEY=sk-1", "AWS_SECRET_ACCESS_KEY=x", "SHELL=() { evil; }"}
	check.Same(t, "", (&Command{Env: []string{"TOKEN=t", "PATH=/usr/bin"}}).environment(own), []string{"PATH=/bin", "TOKEN=t", "PATH=/usr/bin"})
	got := new(Command).environment([]string{"A=b"})
	check.That(t, got != nil && len(got) == 0, "got %#v, want an empty environment and not nil, which means all", got)
}

func TestHarmless(t *testing.T) {
	for _, test := range []struct {
		system, name, value string
		want                bool
	}{
		{"linux", "LC_ALL", "C", true}, {"linux", "lc_all", "C", false}, {"linux", "PATH", "() { evil; }", false},
		{"linux", "APPDATA", "x", false}, {"windows", "AppData", `C:\Users\a`, true}, {"windows", "Path", `C:\`, true},
		{"windows", "SHELL", "sh", false}, {"windows", "OPENAI_API_KEY", "sk-1", false},
	} {
		check.Equal(t, test.name+" on "+test.system, isHarmless(test.system, test.name, test.value), test.want)
	}
}

// What is not a variable is not quoted: it may be a secret that lacks its name.
func TestCommandWithoutVariable(t *testing.T) {
	for _, entry := range []string{"secret", "=secret", ""} {
		_, err := (&Command{Path: os.Args[0], Env: []string{"A=b", entry}}).Dial(t.Context())
		check.That(t, err != nil && strings.Contains(err.Error(), "Env[1]: want KEY=value") && !strings.Contains(err.Error(), "secret"),
			"%q: got %v, want an error about its form", entry, err)
	}
	_, err := (&Command{Path: "./no-such-server", Env: []string{`=C:=C:\a`, "A="}}).Dial(t.Context())
	check.Is(t, err, fs.ErrNotExist)
}

func TestCommandWithArgumentsInItsPath(t *testing.T) {
	plain := filepath.Join(t.TempDir(), "a server")
	check.Must(t, os.WriteFile(plain, nil, 0o600))
	for path, want := range map[string]bool{"npx -y some-server": true, "/bin/none -x": true, plain: false} {
		_, err := (&Command{Path: path}).Dial(t.Context())
		check.That(t, err != nil && strings.Contains(err.Error(), "arguments belong in Args") == want,
			"%q: got %v, want a hint about Args: %t", path, err, want)
	}
}
