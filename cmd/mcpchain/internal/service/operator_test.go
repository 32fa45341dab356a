//go:build unix

package service

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/bounded"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/internal/tryout"
)

// TestUnusableServers has a file with a server that refuses, a missing program and a mistyped key.
func TestUnusableServers(t *testing.T) {
	const wrong = `"refused":{"url":"http://127.0.0.1:1/mcp"},"gone":{"command":"/does/not/exist"},"typo":{"comand":"x"},"off":{"command":"x","disabled":true}`
	reasons := []string{"connection refused", "/does/not/exist", `did you mean`}
	for name, tt := range map[string]struct {
		servers string
		starts  bool
	}{
		"some": {fmt.Sprintf(`%s,"fine":{"url":%q,"excludeTools":["whoamI"]}`, wrong, demoServer(t, 0)), true},
		"all":  {wrong, false},
	} {
		t.Run(name, func(t *testing.T) {
			file := inFile(t, "mcp.json", `{"mcpServers":{`+tt.servers+`}}`)
			var log bytes.Buffer
			s, err := assemble(t.Context(), settings(t, "-config", file), slog.New(slog.NewTextHandler(&log, nil)))
			if err == nil {
				s.close()
			}
			check.Require(t, (err == nil) == tt.starts, "got %v, want a start: %v", err, tt.starts)
			for i, server := range []string{"refused", "gone", "typo"} {
				check.Contains(t, "the log", log.String(), `level=WARN msg="left out a server" server=`+server)
				check.That(t, strings.Contains(log.String(), reasons[i]) && (err == nil || strings.Contains(err.Error(), reasons[i])),
					"got the log %s and %v\nwant them with %s", log.String(), err, reasons[i])
			}
			for _, want := range []string{`msg="a server can be used" server=fine tools=7`, `a tool that the server does not have" server=fine tool=whoamI`} {
				if tt.starts {
					check.Contains(t, "the log", log.String(), want)
				}
			}
			check.That(t, !strings.Contains(log.String(), "server=off") && !strings.Contains(log.String(), `cannot be used" server=fine`),
				"got the log %s\nwant nothing of other servers", log.String())
		})
	}
}

// TestSecureProxy has clients keep to HTTPS by the word of a trusted proxy, and of nobody else.
func TestSecureProxy(t *testing.T) {
	o := settings(t)
	o.Proxies, _ = bounded.Parse("192.0.2.0/24")
	s, _ := assembled(t, o)
	for _, tt := range []struct{ from, proto, want string }{
		{"192.0.2.7:1", "https", "max-age=31536000"}, {"192.0.2.7:1", "http", ""}, {"198.51.100.7:1", "https", ""},
	} {
		w := s.recorded(t, "GET", "/healthz", "", func(r *http.Request) { r.RemoteAddr, r.Header["X-Forwarded-Proto"] = tt.from, []string{tt.proto} })
		check.Equal(t, tt, w.Header().Get("Strict-Transport-Security"), tt.want)
	}
}

// TestDemoHost serves demo users, whose tokens everybody knows, only at this machine's names: a page may have a name that leads here.
func TestDemoHost(t *testing.T) {
	s, _ := assembled(t, settings(t))
	for host, want := range map[string]int{
		"localhost:8080": http.StatusOK, "127.0.0.1": http.StatusOK, "[::1]:8080": http.StatusOK,
		"evil.test:8080": http.StatusMisdirectedRequest, "127.0.0.1.evil.test": http.StatusMisdirectedRequest,
	} {
		check.Equal(t, host, s.recorded(t, "GET", "http://"+host+"/runs", "").Code, want)
	}
}

// TestStoreAway has a store that does not answer: that is not a failure of the service.
func TestStoreAway(t *testing.T) {
	s, _ := assembled(t, settings(t))
	get := func(method, path, body string) int { return s.recorded(t, method, "http://localhost"+path, body).Code }
	s.db.SetMaxOpenConns(1)
	check.Must(t, check.Err(s.db.Exec("PRAGMA max_page_count = 1"))) // the disk is full, until the connection is replaced
	check.Equal(t, "a full disk", get("POST", "/runs", `{"input":"`+strings.Repeat("x", 60_000)+`"}`), http.StatusServiceUnavailable)
	check.Equal(t, "healthz", get("GET", "/healthz", ""), http.StatusNoContent)
	store := s.store
	s.store = hung{}
	synctest.Test(t, func(t *testing.T) {
		check.Equal(t, "a list", s.recorded(t, "GET", "http://localhost/runs", "").Code, http.StatusServiceUnavailable)
		check.Equal(t, "a stop", s.recorded(t, "DELETE", "http://localhost/runs/x", "").Code, http.StatusServiceUnavailable)
	})
	s.store = store
	check.Must(t, s.db.Close())
	for _, request := range [][3]string{
		{"GET", "/healthz", ""}, {"POST", "/runs", `{"input":"x"}`}, {"GET", "/runs", ""}, {"GET", "/runs/x/events", ""},
		{"POST", "/runs/x/answers", `[{"ask":"x","action":"allow"}]`},
	} {
		check.Equal(t, request, get(request[0], request[1], request[2]), http.StatusServiceUnavailable)
	}
}

// hung is a store that never answers.
type hung struct{ sqlstore.Store }

func (hung) List(ctx context.Context, _ record.Query) iter.Seq2[run.Head, error] {
	<-ctx.Done()
	return func(yield func(run.Head, error) bool) { yield(run.Head{}, ctx.Err()) }
}

// TestModelAway has a model that refuses for long, that refuses once, and that cannot be reached.
func TestModelAway(t *testing.T) {
	for name, tt := range map[string]struct {
		refusals int64 // of the first requests
		after    string
		closed   bool
		want     run.Status
		says     string
		asked    int64
	}{
		"for long":    {1 << 30, "3600", false, run.StatusFailed, "HTTP status 429: slow_down: too many (retry after 1h0m0s)", 1},
		"once":        {1, "0", false, run.StatusFinished, "", 2},
		"restarted":   {3, "0", false, run.StatusFinished, "", 4},
		"unreachable": {0, "", true, run.StatusFailed, "connection refused; check the base URL and that the host is up", 0},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet || asked.Add(1) > tt.refusals { // a GET asks about the endpoint
					tryout.ModelHandler().ServeHTTP(w, r)
					return
				}
				w.Header().Set("Retry-After", tt.after)
				w.WriteHeader(http.StatusTooManyRequests)
				fmt.Fprint(w, `{"error":{"code":"slow_down","message":"too many"}}`)
			}))
			t.Cleanup(host.Close)
			address := host.URL
			if tt.closed {
				address = "http://" + testenv.FreeAddress(t)
			}
			t.Setenv("OPENAI_BASE_URL", address+"/v1")
			t.Setenv("OPENAI_API_KEY", "a-secret-key")
			t.Setenv("OPENAI_MODEL", tryout.ModelName)
			p := person{t, start(t, settings(t), nil), "demo-ada"}
			got := p.settled(p.run("hi"))
			check.That(t, got.Status == tt.want && strings.Contains(got.Error, tt.says) && (tt.says != "" || got.Error == "") && asked.Load() == tt.asked,
				"got %s %q after %d requests, want %s %q after %d", got.Status, got.Error, asked.Load(), tt.want, tt.says, tt.asked)
			check.That(t, !strings.Contains(got.Error, "secret"), "%s shows the key", got.Error)
		})
	}
}

// TestRefusals has errors of several kinds: each is JSON, and says what is wrong.
func TestRefusals(t *testing.T) {
	p := person{t, start(t, settings(t), nil), "demo-ada"}
	id := p.run("Book a table for 4 at Luigi")
	ask := p.settled(id).Asks[0].ID
	for _, tt := range []struct {
		method, path, body string
		code               int
		want, allow        string
	}{
		{"GET", "/", "", 404, "there is no such path", ""},
		{"GET", "/runs/a/b/c", "", 404, "there is no such path", ""},
		{"PUT", "/runs", "", 405, "the path has no such method", "GET, HEAD, POST"},
		{"POST", "/healthz", "", 405, "the path has no such method", "GET, HEAD"},
		{"GET", "/runs/none", "", 404, "there is no such run", ""},
		{"POST", "/runs/" + id + "/answers", fmt.Sprintf(`[{"ask":%q,"action":"accept"}]`, ask), 422,
			fmt.Sprintf(`answer question %q: a question of kind "approval" takes ["allow" "deny"] and not "accept": answer does not fit`, ask), ""},
		{"POST", "/runs/x/answers", `{"ask":"a","action":"allow"}`, 400, `the body is a JSON object: want a list in [brackets]`, ""},
		{"POST", "/runs/x/answers", `[{"ask":1}]`, 400, "ask is a JSON number: want a text in quotes", ""},
		{"POST", "/runs", `[]`, 400, "the body is a JSON array: want an object in {braces}", ""},
	} {
		var got struct{ Error string }
		code, head := p.do(tt.method, tt.path, tt.body, &got)
		check.That(t, code == tt.code && got.Error == tt.want && head.Get("Allow") == tt.allow && head.Get("Content-Type") == "application/json",
			"%s %s: got %d %q, Allow %q, %s, want %d %q, Allow %q, JSON", tt.method, tt.path, code, got.Error, head.Get("Allow"), head.Get("Content-Type"), tt.code, tt.want, tt.allow)
	}
}

// TestHangup reads the users again, and ends nothing. The database is for the user of the process alone.
func TestHangup(t *testing.T) {
	users := inFile(t, "users", "ada 0123456789abcdef\n")
	o := settings(t, "-listen", "127.0.0.1:0", "-users", users, "-config", inFile(t, "mcp.json", `{"mcpServers":{}}`))
	log := &passedLog{written: make(chan string, 100)}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- o.run(ctx, slog.New(slog.NewTextHandler(log, nil))) }()
	url := ""
	await := func(want string) {
		t.Helper()
		for {
			select {
			case line := <-log.written:
				if _, after, ok := strings.Cut(line, "url="); ok {
					url, _, _ = strings.Cut(after, " ")
				}
				if strings.Contains(line, want) {
					return
				}
			case err := <-over:
				t.Fatalf("the service has ended before %q: %v", want, err)
			}
		}
	}
	await("no server that is enabled")
	await("the service listens")
	await("the service drives runs")
	for _, name := range []string{o.store, o.store + "-wal", o.store + "-shm"} {
		check.Equal(t, name, check.Value(os.Stat(name))(t).Mode().Perm(), 0o600)
	}
	knows := func(token string, want int) {
		t.Helper()
		check.Equal(t, token, person{t, url, token}.code("GET", "/runs", ""), want)
	}
	hangup := func(text, want string) {
		t.Helper()
		check.Must(t, os.WriteFile(users, []byte(text), 0o600))
		check.Must(t, syscall.Kill(os.Getpid(), syscall.SIGHUP))
		await(want)
	}
	knows("0123456789abcdef", 200)
	hangup("bob fedcba9876543210\ncyd abcdefghijklmnop\n", "the users are read again\" users=2")
	knows("0123456789abcdef", 401)
	knows("fedcba9876543210", 200)
	hangup("bob\n", "the users stay as they were")
	knows("fedcba9876543210", 200)
	stop()
	check.NoError(t, <-over)
}

type passedLog struct{ written chan string }

func (l *passedLog) Write(p []byte) (int, error) {
	select {
	case l.written <- string(p):
	default: // the test has ended
	}
	return len(p), nil
}

// TestServersOfHealth shows users how the servers stand: one is down at the start, and is there later.
func TestServersOfHealth(t *testing.T) {
	address := testenv.FreeAddress(t)
	file := inFile(t, "mcp.json", fmt.Sprintf(`{"mcpServers":{"fine":{"url":%q},"late":{"url":"http://%s"}}}`, demoServer(t, 0), address))
	p := person{t, start(t, settings(t, "-config", file, "-rate", "600000"), nil), "demo-ada"}
	state := func() string {
		var body struct{ Servers []serverState }
		code, _ := p.do("GET", "/healthz?detail", "", &body)
		check.Require(t, code == http.StatusOK, "got status %d", code)
		return fmt.Sprint(body.Servers)
	}
	check.Equal(t, "", state(), "[{fine ready 7} {late down 0}]")
	check.Equal(t, "without a token", person{t, p.url, "nobody"}.code("GET", "/healthz?detail", ""), http.StatusUnauthorized)
	listener := check.Value(net.Listen("tcp", address))(t)
	web := &http.Server{Handler: sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return tryout.NewServer() }, &sdk.StreamableHTTPOptions{Stateless: true})}
	t.Cleanup(func() { _ = web.Close() })
	go func() { _ = web.Serve(listener) }()
	for state() != "[{fine ready 7} {late ready 7}]" {
		check.Require(t, t.Context().Err() == nil, "got %s", state())
		time.Sleep(20 * time.Millisecond)
	}
}

// A file of users that cannot be read is a mistake of the command line, and the error names the flag.
func TestMissingUsers(t *testing.T) {
	_, err := assemble(t.Context(), settings(t, "-users", filepath.Join(t.TempDir(), "users")), slog.New(slog.DiscardHandler))
	status := cli.Status(err, io.Discard)
	check.That(t, status == cli.StatusUsage && strings.Contains(fmt.Sprint(err), "-users: open "), "got status %d, %v", status, err)
}
