package mcpclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// function is a function of the client and its file.
type function struct{ name, file string }

// TestPathOfACall compares the list on the architecture page with the stack on which a
// connection gets a tool call.
func TestPathOfACall(t *testing.T) {
	documented := documentedPath(t)
	if n := len(documented); n == 0 || n > 10 {
		t.Fatalf("got a list of %d functions, want 1 to 10", n)
	}
	middleware := func(next mcpclient.Handler) mcpclient.Handler {
		return func(ctx context.Context, r *mcpclient.Request) (json.RawMessage, error) { return next(ctx, r) }
	}
	for name, over := range map[string]func(t *testing.T, o mcpclient.Options) []function{"a pipe": pathOverPipe, "HTTP": pathOverHTTP} {
		bubble(t, name, func(t *testing.T) {
			if diff := cmp.Diff(documented, over(t, mcpclient.Options{Middleware: []mcpclient.Middleware{middleware}}), cmp.AllowUnexported(function{})); diff != "" {
				t.Errorf("functions on the stack (+), of the list (-):\n%s", diff)
			}
			without := slices.DeleteFunc(slices.Clone(documented), func(f function) bool { return f.name == "withMiddleware" })
			if diff := cmp.Diff(without, over(t, mcpclient.Options{}), cmp.AllowUnexported(function{})); diff != "" {
				t.Errorf("without middleware: functions on the stack (+), of the list (-):\n%s", diff)
			}
		})
	}
}

// documentedPath reads the list.
func documentedPath(t *testing.T) (all []function) {
	t.Helper()
	page, err := os.ReadFile("../docs/architecture.md")
	must(t, err)
	_, section, _ := strings.Cut(string(page), "### The path of a call\n")
	section, _, _ = strings.Cut(section, "\n### ")
	for _, m := range regexp.MustCompile("(?m)^[0-9]+\\. `(\\w+)` \\(`([\\w.]+)`\\)").FindAllStringSubmatch(section, -1) {
		all = append(all, function{m[1], m[2]})
	}
	return all
}

// callers returns the functions of the client on this stack, the outermost first. Functions
// between two occurrences of the same function are left out: it passes them as callbacks.
func callers() (all []function) {
	const client = "github.com/mcpchain/mcpchain/mcpclient."
	var pcs [100]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for more := true; more; {
		var frame runtime.Frame
		frame, more = frames.Next()
		name, ours := strings.CutPrefix(frame.Function, client)
		if !ours || strings.HasSuffix(frame.File, "_test.go") {
			continue
		}
		f := function{declared(name), filepath.Base(frame.File)}
		if i := slices.Index(all, f); i >= 0 {
			all = all[:i]
		}
		all = append(all, f)
	}
	slices.Reverse(all)
	return all
}

// declared returns the name of the declared function that contains a function literal.
func declared(name string) string {
	parts := slices.DeleteFunc(strings.Split(name, "."), regexp.MustCompile(`^(func|gowrap)?[0-9]+$`).MatchString)
	return parts[len(parts)-1]
}

// tapped is a transport whose connection reports what it sends.
type tapped struct {
	mcpclient.Transport
	mcpclient.Conn
	send func(message []byte)
}

func (o *tapped) Dial(ctx context.Context) (conn mcpclient.Conn, err error) {
	o.Conn, err = o.Transport.Dial(ctx)
	return o, err
}

func (o *tapped) Send(ctx context.Context, message []byte) error {
	o.send(message)
	return o.Conn.Send(ctx, message)
}

func pathOverPipe(t *testing.T, o mcpclient.Options) (got []function) {
	transport, conn := mcpclient.Pipe()
	defer func() { _ = conn.Close() }()
	go func() {
		for raw, err := conn.Recv(); err == nil; raw, err = conn.Recv() {
			var m message
			answer := handshakeAnswer
			if _ = json.Unmarshal(raw, &m); m.Method == "tools/call" {
				answer = emptyAnswer
			}
			_ = conn.Send(context.Background(), []byte(answer(m)))
		}
	}()
	callSum(t, &tapped{Transport: transport, send: func(message []byte) {
		if strings.Contains(string(message), `"tools/call"`) {
			got = callers()
		}
	}}, o)
	return got
}

func pathOverHTTP(t *testing.T, o mcpclient.Options) (got []function) {
	server := httpServer(t, func(w http.ResponseWriter, _ *http.Request, m message) {
		_, _ = io.WriteString(jsonWriter(w), emptyAnswer(m))
	})
	defer server.Close()
	callSum(t, &mcpclient.HTTP{URL: server.URL(), Client: server.Client(), RoundTripper: watched(func(r *http.Request) {
		if r.Header.Get("Mcp-Method") == "tools/call" {
			got = callers()
		}
	})}, o)
	return got
}

func emptyAnswer(m message) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.ID)
}

func callSum(t *testing.T, transport mcpclient.Transport, o mcpclient.Options) {
	t.Helper()
	c := connected(t, transport, o)
	must(t, errOf(c.CallTool(t.Context(), "sum", nil)))
}
