package mcpclient

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// TestMain makes this program the server process of its own tests.
func TestMain(m *testing.M) { testenv.Main(m, serverRoles) }

var serverRoles = map[string]func() int{
	"tools": serveTools,
	"mulish": func() int { // ends only when killed, and reports its process id
		signal.Ignore(syscall.SIGTERM)
		fmt.Fprintln(os.Stderr, os.Getpid())
		return testenv.Stay()
	},
}

// serveTools is a server whose tools fail in different ways. Its instructions are its process id.
func serveTools() int {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			return 1
		}
		switch {
		case m.Method == "initialize":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"process","version":"1"},"instructions":"%d"}}`+"\n", m.ID, os.Getpid())
			continue
		case m.ID == nil || m.Params.Name == "hang":
			continue
		}
		switch m.Params.Name {
		case "exit":
			fmt.Fprint(os.Stderr, "fatal: out of cheese")
			return 3
		case "kill":
			p, _ := os.FindProcess(os.Getpid())
			_ = p.Kill()
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`+"\n", m.ID)
	}
	return 0
}

// connectTools connects to serveTools. At the end of the test it checks that no goroutine of the client and no process is left.
func connectTools(t *testing.T) *Client {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	command := &Command{Path: os.Args[0], Env: []string{testenv.Role("tools")}, StopTimeout: 200 * time.Millisecond}
	c, err := Connect(ctx, command, &Options{Protocol: Protocol{Revision: mcp.Revision20251125}})
	cancel()
	check.Must(t, err)
	t.Cleanup(func() {
		began := time.Now()
		_ = c.Close()
		took := time.Since(began)
		check.That(t, took <= testenv.Patience, "Close took %v", took)
		testenv.NoGoroutines(t, "/stdio/child.", "stdio.(*writer)", "mcpclient.(*Client)", "mcpclient.(*link)")
	})
	return c
}

func callTool(t *testing.T, c *Client, name string) error {
	return check.Err(c.CallTool(t.Context(), name, nil))
}

// The end of a process fails all its calls at once, with the reason.
func TestProcessDiesInCall(t *testing.T) {
	for tool, want := range map[string]transport.ProcessError{
		"exit": {Status: "exit status 3", Stderr: "fatal: out of cheese"},
		"kill": {Status: "signal: killed"},
	} {
		t.Run(tool, func(t *testing.T) {
			if tool == "kill" && runtime.GOOS == "windows" {
				want.Status = "exit status 1"
			}
			c := connectTools(t)
			wantEnd := func(err error) {
				e, ok := errors.AsType[*transport.ProcessError](err)
				check.That(t, ok && errors.Is(err, ErrClosed) && e.Status == want.Status && strings.HasSuffix(e.Stderr, want.Stderr),
					"got %v, want ErrClosed with %q and %q", err, want.Status, want.Stderr)
			}
			var calls sync.WaitGroup
			began := time.Now()
			for _, name := range []string{"hang", "hang", tool} {
				calls.Go(func() { wantEnd(callTool(t, c, name)) })
			}
			calls.Wait()
			<-c.Done()
			took := time.Since(began)
			check.That(t, took <= testenv.Patience, "the calls took %v", took)
			wantEnd(c.Err())
			wantEnd(callTool(t, c, "late"))
		})
	}
}

// When a process dies, the error of its calls says so, and the client continues with another one.
func TestCommandRestarts(t *testing.T) {
	c, err := Connect(t.Context(), &Command{Path: os.Args[0], Env: []string{testenv.Role("tools")}}, &Options{
		Protocol: Protocol{Revision: mcp.Revision20251125},
		Limits:   Limits{Restarts: 5},
	})
	check.Must(t, err)
	defer testenv.NoGoroutines(t, "/stdio/child.", "stdio.(*writer)")
	defer c.Close()
	for range 2 {
		before := c.Server().Instructions
		err := callTool(t, c, "exit")
		e, ok := errors.AsType[*transport.ProcessError](err)
		check.That(t, ok && errors.Is(err, ErrConnectionLost) && e.Status == "exit status 3" && e.Stderr == "fatal: out of cheese",
			"got %v, want a lost connection with a ProcessError", err)
		check.NoError(t, c.Ping(t.Context()), "afterwards")
		after := c.Server().Instructions
		check.That(t, after != before, "process %s continues, want another one", after)
	}
}

// Connect does not wait for a process that does not end, and leaves none behind.
func TestConnectLeavesNoProcess(t *testing.T) {
	said, stderr := io.Pipe()
	defer func() { _ = stderr.Close() }()
	pid := make(chan int, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		line, _ := bufio.NewReader(said).ReadString('\n')
		n, _ := strconv.Atoi(strings.TrimSpace(line))
		pid <- n
		cancel()
		_, _ = io.Copy(io.Discard, said)
	}()
	_, err := Connect(ctx, &Command{Path: os.Args[0], Env: []string{testenv.Role("mulish")}, StopTimeout: time.Hour, Stderr: stderr}, nil)
	server := <-pid
	check.That(t, errors.Is(err, context.Canceled) && strings.HasSuffix(err.Error(), fmt.Sprintf("the server wrote to stderr:\n%d", server)),
		"got %v, want %v and what the server said", err, context.Canceled)
	check.Require(t, server != 0, "the server did not say who it is")
	testenv.NoGoroutines(t, "/stdio/child.", "stdio.(*writer)")
	check.That(t, !testenv.Runs(server), "process %d is left behind", server)
}

// Different commands have different identities.
func TestCommandIdentity(t *testing.T) {
	seen := map[string]*Command{}
	for _, c := range []*Command{{Path: "a"}, {Path: "b"}, {Path: "a", Dir: "b"}, {Path: "a", Args: []string{"b"}}, {Path: "a", Args: []string{"b", "c"}}, {Path: "a", Args: []string{"b c"}}} {
		id := c.Identity()
		other := seen[id]
		check.That(t, other == nil, "%+v and %+v have the identity %q", c, other, id)
		seen[id] = c
	}
}

// The same command in another directory is another server, even if the directory is the current one or relative.
func TestCommandIdentityByDirectory(t *testing.T) {
	seen := map[string]bool{}
	for range 2 {
		t.Chdir(t.TempDir())
		for _, dir := range []string{"", "sub"} {
			id := (&Command{Path: "python3", Args: []string{"server.py"}, Dir: dir}).Identity()
			check.That(t, !seen[id], "got %q again in another directory", id)
			seen[id] = true
			absolute := check.Value(filepath.Abs(dir))(t)
			other := (&Command{Path: "python3", Args: []string{"server.py"}, Dir: absolute}).Identity()
			check.That(t, other == id, "got %q and %q for the same directory", id, other)
		}
	}
}
