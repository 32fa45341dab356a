package hosting

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// TestServe has one address open more connections than it may have, and ends the context while
// requests are in progress: one of a short request is finished, one of a stream is ended.
func TestServe(t *testing.T) {
	for name, streams := range map[string]bool{"requests": false, "streams": true} {
		t.Run(name, func(t *testing.T) {
			listener := check.Value(net.Listen("tcp", "127.0.0.1:0"))(t)
			begun, goOn := make(chan struct{}, 4), make(chan struct{})
			s := &Server{Connections: 32, HeaderBytes: 1 << 10, Logger: slog.New(slog.DiscardHandler), Streams: streams,
				Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					begun <- struct{}{}
					select {
					case <-goOn:
					case <-r.Context().Done():
						w.WriteHeader(http.StatusGone)
					}
				})}
			ctx, stop := context.WithCancel(t.Context())
			over := make(chan error, 1)
			go func() { over <- s.Serve(ctx, listener) }()
			get := func() *bufio.Reader {
				conn := check.Value(net.Dial("tcp", listener.Addr().String()))(t)
				t.Cleanup(func() { _ = conn.Close() })
				_ = conn.SetDeadline(time.Now().Add(time.Minute))
				_, _ = fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n") // a refused one may be closed
				return bufio.NewReader(conn)
			}
			var all []*bufio.Reader
			for range 4 {
				all = append(all, get())
				<-begun
			}
			check.Fails(t, check.Err(get().ReadString('\n')), "a fifth of 32 connections, for one address")
			stop()
			want := http.StatusGone
			if !streams {
				close(goOn)
				want = http.StatusOK
			}
			for _, conn := range all {
				resp, err := http.ReadResponse(conn, nil)
				check.That(t, err == nil && resp.StatusCode == want, "got %+v, %v, want %d", resp, err, want)
			}
			check.NoError(t, <-over)
		})
	}
}

// TestRates has users wait who send too much, and forgets those who have gone.
func TestRates(t *testing.T) {
	r := NewRates(1, 2)
	for _, who := range []string{"ada", "ada", "bob"} {
		check.Equal(t, who, r.take(who), 0)
	}
	wait := r.take("ada")
	check.That(t, wait > 0, "got a wait of %v, want some", wait)
	for i := range 2 * maxRated {
		r.take(fmt.Sprint(i))
	}
	n := len(r.limiters)
	check.That(t, n <= maxRated, "got %d users in memory, want at most %d", n, maxRated)
}

func TestWhileSignedIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var signedIn atomic.Bool
		signedIn.Store(true)
		ctx, end := WhileSignedIn(t.Context(), signedIn.Load)
		time.Sleep(time.Hour)
		check.NoError(t, ctx.Err(), "while the person is signed in")
		signedIn.Store(false)
		time.Sleep(checkInterval)
		synctest.Wait()
		check.That(t, ctx.Err() != nil, "the context has not ended with the session")
		end()

		ctx, end = WhileSignedIn(t.Context(), signedIn.Load)
		end()
		check.That(t, ctx.Err() != nil, "the context has not ended")
	})
}

// A server over HTTP that goes away and comes back is known to be down in between, and the log says both once.
func TestWatch(t *testing.T) {
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server {
		return sdk.NewServer(&sdk.Implementation{Name: "far", Version: "1"}, nil)
	}, &sdk.StreamableHTTPOptions{Stateless: true})
	server := httptest.NewServer(handler)
	address := server.Listener.Addr().String()
	tools := check.Value(adapter.Open(t.Context(), []adapter.Server{{Name: "far", Transport: &mcpclient.HTTP{URL: server.URL}}},
		&adapter.Options{ClientOptions: &mcpclient.Options{Limits: mcpclient.Limits{Retries: -1}}}))(t)
	defer tools.Close()
	var log bytes.Buffer
	w, stop := NewWatch(tools.Servers, slog.New(slog.NewTextHandler(&log, nil)), func() {})
	stop()
	look := func(down bool) {
		t.Helper()
		for range 2 {
			w.pingAll(t.Context())
			check.Require(t, w.IsDown("far") == down, "got down %v, want %v; the log has %s", !down, down, &log)
		}
	}
	look(false)
	server.CloseClientConnections()
	server.Close()
	look(true)
	again := &httptest.Server{Listener: check.Value(net.Listen("tcp", address))(t), Config: &http.Server{Handler: handler}}
	again.Start()
	defer again.Close()
	look(false)
	for _, want := range []string{"a server does not answer", "a server answers again"} {
		check.That(t, strings.Count(log.String(), want) == 1, "the log has %s, want %q once", &log, want)
	}
}

// Old runs are deleted soon after their time, and not more often than every second.
func TestTidyEvery(t *testing.T) {
	for kept, want := range map[time.Duration]time.Duration{
		time.Second: time.Second, time.Hour: 6 * time.Minute, 720 * time.Hour: time.Hour,
	} {
		check.Equal(t, kept, tidyInterval(kept), want)
	}
}

// listed is a store whose list is older than its runs.
type listed struct {
	record.Store
	heads []run.Head
}

func (s listed) List(_ context.Context, q record.Query) iter.Seq2[run.Head, error] {
	q.ChangedBefore = time.Time{} // as asked for when they were listed
	return func(yield func(run.Head, error) bool) {
		for _, head := range s.heads {
			if q.Matches(head) && !yield(head, nil) {
				return
			}
		}
	}
}

// TestTidy deletes runs whose last change is long ago, and no others: neither a newer one, nor one
// that gets another input after it was listed.
func TestTidy(t *testing.T) {
	db := check.Value(database.Open(t.Context(), filepath.Join(t.TempDir(), "runs.db")))(t)
	defer db.Close()
	a := check.Value(agent.New(agenttest.Play(agenttest.Say("done"), agenttest.Say("done"), agenttest.Say("done"), agenttest.Say("done again")), &agent.Options{Durable: agent.Durable{Store: db.Runs}}))(t)
	for _, id := range []string{"old", "new", "continued"} {
		check.Must(t, check.Err(a.Run(t.Context(), agent.Text("hi"), agent.WithRun(id), agent.WithTenant("Ada"))))
	}
	check.Must(t, check.Err(db.ExecContext(t.Context(), `UPDATE mcpchain_runs SET updated = updated - ? WHERE id <> 'new'`, (3*time.Hour).Nanoseconds())))
	store := listed{Store: db.Runs}
	for head, err := range db.Runs.List(t.Context(), record.Query{AllTenants: true, ChangedBefore: time.Now().Add(-2 * time.Hour)}) {
		check.Must(t, err)
		store.heads = append(store.heads, head)
	}
	check.Must(t, check.Err(a.Run(t.Context(), agent.Text("go on"), agent.WithRun("continued"), agent.WithTenant("Ada"))))
	log := &told{lines: make(chan string, 10)}
	stop := Tidy(store, 2*time.Hour, slog.New(slog.NewTextHandler(log, nil)))
	check.Contains(t, "the log", <-log.lines, `"runs were deleted" runs=1`)
	stop()
	check.Is(t, check.Err(db.Runs.Load(t.Context(), run.Key{Tenant: "Ada", ID: "old"})), record.ErrNotFound)
	for _, id := range []string{"new", "continued"} {
		check.NoError(t, check.Err(db.Runs.Load(t.Context(), run.Key{Tenant: "Ada", ID: id})), id)
	}
}

type told struct{ lines chan string }

func (l *told) Write(p []byte) (int, error) {
	l.lines <- string(p)
	return len(p), nil
}
