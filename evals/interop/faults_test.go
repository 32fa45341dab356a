//lint:file-ignore SA1019 deprecated features are tested as long as servers use them

package interop

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

const roleVariable = "MCPCHAIN_INTEROP_ROLE"

// TestMain makes this program a server process for its own tests.
func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "faulty":
		os.Exit(serveFaulty())
	case "go-sdk":
		os.Exit(serveGo())
	case "mcp-go":
		os.Exit(serveMark())
	}
	os.Exit(m.Run())
}

// roleCommand runs this program as a child process in a role of TestMain.
func roleCommand(t *testing.T, role string) *mcpclient.Command {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &mcpclient.Command{Path: program, Env: []string{roleVariable + "=" + role}}
}

// serveFaulty is goServer over stdio with tools that break it.
func serveFaulty() int {
	s := goServer(context.Background())
	sdk.AddTool(s, &sdk.Tool{Name: "die"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		fmt.Fprintln(os.Stderr, "fatal: out of cheese")
		os.Exit(3)
		return nil, nil, nil
	})
	sdk.AddTool(s, &sdk.Tool{Name: "endless"}, func(ctx context.Context, req *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
		fmt.Print(`{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"`)
		chunk := strings.Repeat("x", 1<<20)
		for range 100 {
			fmt.Print(chunk)
		}
		fmt.Print("\n")
		return nil, nil, req.Session.Log(ctx, &sdk.LoggingMessageParams{Level: "info", Data: "written"})
	})
	if err := s.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// faulty starts serveFaulty as a child process and connects to it.
func faulty(t *testing.T, opts *mcpclient.Options) *mcpclient.Client {
	command := roleCommand(t, "faulty")
	command.MaxMessage = 4 << 20
	c, err := mcpclient.Connect(t.Context(), command, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestServerDies: if the server's process ends, a call fails at once and its
// error describes the end.
func TestServerDies(t *testing.T) {
	t.Parallel()
	c := faulty(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	start := time.Now()
	_, err := c.CallTool(ctx, "die", nil)
	t.Logf("failed after %v: %v", time.Since(start).Round(time.Millisecond), err)
	var process *transport.ProcessError
	if !errors.Is(err, mcpclient.ErrClosed) || !errors.As(err, &process) {
		t.Fatalf("got %v, want ErrClosed and a ProcessError", err)
	}
	if process.Status != "exit status 3" || !strings.Contains(process.Stderr, "out of cheese") {
		t.Errorf("got %+v, want the exit status and the last line", process)
	}
	<-c.Done()
	if _, err := c.CallTool(ctx, "add", nil); !errors.As(err, &process) {
		t.Errorf("a later call: got %v, want the same cause", err)
	}
}

// TestServerKilled does the same with a server killed from outside.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	c := faulty(t, &mcpclient.Options{Protocol: mcpclient.Protocol{Revision: mcp.Revision20251125}})
	done := make(chan error, 1)
	go func() {
		_, err := c.CallTool(t.Context(), "wait", nil)
		done <- err
	}()
	if err := c.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = c.CallTool(t.Context(), "die", nil) }()
	if err := <-done; !errors.Is(err, mcpclient.ErrClosed) || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got %v, want ErrClosed and the exit status", err)
	}
}

// TestEndlessLine: 100 MiB without a newline fail their call, within the bound
// of a message, and the session continues.
func TestEndlessLine(t *testing.T) {
	t.Parallel()
	written := make(chan struct{})
	c := faulty(t, &mcpclient.Options{
		Protocol:       mcpclient.Protocol{Revision: mcp.Revision20251125},
		LogLevel:       mcp.LogInfo,
		OnNotification: func(*mcp.Notification) { close(written) },
	})
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	_, err := c.CallTool(t.Context(), "endless", nil)
	runtime.ReadMemStats(&after)
	if !errors.Is(err, transport.ErrMessageTooLarge) {
		t.Fatalf("got %v, want ErrMessageTooLarge", err)
	}
	t.Logf("%v; memory from the system grew by %d KiB", err, (after.Sys-before.Sys)>>10)
	if grown := int64(after.Sys) - int64(before.Sys); grown > 32<<20 {
		t.Errorf("memory grew by %d MiB with a bound of 4 MiB for a message", grown>>20)
	}
	<-written
	if _, err := c.CallTool(t.Context(), "add", addArgs{1, 2}); err != nil {
		t.Errorf("the session did not go on: %v", err)
	}
}

// TestResponseCut: a response cut in the middle fails only its call.
func TestResponseCut(t *testing.T) {
	t.Parallel()
	server := goServer(t.Context())
	h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})
	var cut sync.Map
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		media, ok := cut.Load(r.Header.Get("Mcp-Name"))
		if !ok {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", media.(string))
		_, _ = w.Write([]byte(`data: {"jsonrpc":"2.0","id":`))
		_ = http.NewResponseController(w).Flush()
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.(*net.TCPConn).SetLinger(0)
			_ = conn.Close()
		}
	}))
	defer s.Close()
	cut.Store("fail", "application/json")
	cut.Store("count", "text/event-stream")
	c, err := mcpclient.Connect(t.Context(), &mcpclient.HTTP{URL: s.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for _, tool := range []string{"fail", "count"} {
		_, err := c.CallTool(t.Context(), tool, nil)
		if err == nil || errors.Is(err, mcpclient.ErrClosed) {
			t.Errorf("%s: got %v, want an error of this call alone", tool, err)
		}
		t.Logf("%s: %v", tool, err)
	}
	if _, err := c.CallTool(t.Context(), "add", addArgs{1, 2}); err != nil {
		t.Errorf("the client did not go on: %v", err)
	}
}

// TestCloseUnderCalls closes a client in the middle of 100 calls.
func TestCloseUnderCalls(t *testing.T) {
	t.Parallel()
	transports := map[string]func(t *testing.T) *mcpclient.Client{
		"stdio": func(t *testing.T) *mcpclient.Client { return faulty(t, nil) },
		"http": func(t *testing.T) *mcpclient.Client {
			c, err := mcpclient.Connect(t.Context(), goHTTP(t, nil), nil)
			if err != nil {
				t.Fatal(err)
			}
			return c
		},
	}
	for name, connect := range transports {
		t.Run(name, func(t *testing.T) {
			c := connect(t)
			errs := make(chan error, 100)
			var started sync.WaitGroup
			for range cap(errs) {
				started.Add(1)
				go func() {
					started.Done()
					_, err := c.CallTool(t.Context(), "wait", nil)
					errs <- err
				}()
			}
			started.Wait()
			if err := c.Ping(t.Context()); err != nil {
				t.Error(err)
			}
			start := time.Now()
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			t.Logf("closed after %v", time.Since(start).Round(time.Millisecond))
			for range cap(errs) {
				if err := <-errs; !errors.Is(err, mcpclient.ErrClosed) {
					t.Errorf("got %v, want ErrClosed", err)
				}
			}
		})
	}
}
