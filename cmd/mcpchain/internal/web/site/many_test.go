package site_test

import (
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/database"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/site"
	"github.com/mcpchain/mcpchain/internal/check"
)

func inFile(t testing.TB) record.Store {
	t.Helper()
	db := check.Value(database.Open(t.Context(), filepath.Join(t.TempDir(), "web.db")))(t)
	t.Cleanup(func() { _ = db.Close() })
	return db.Runs
}

// users is how many people use the page at the same time.
const users = 200

// together has all users do something at the same time.
func together(do func(user string, i int)) {
	var wg sync.WaitGroup
	for i := range users {
		wg.Go(func() { do(fmt.Sprintf("user %d", i), i) })
	}
	wg.Wait()
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestManyUsers gives 200 users a stream each, and one more whose browser takes nothing: the server is in the middle of
// a write to it all the time. No other window waits for it, neither of its own conversation.
func TestManyUsers(t *testing.T) {
	reply := strings.Repeat("word ", 2000)
	w := serve(t, site.Limits{}, inFile(t), agenttest.PlayRepeating(agenttest.Say(reply)))
	before, goroutines := heap(), runtime.NumGoroutine()
	held := w.begin(t, "slow", "hello")
	slow := w.watchUnread(t, "slow", held)
	windows := make([]*window, users)
	together(func(user string, i int) {
		windows[i] = w.watch(t, user, w.begin(t, user, "hello"), "")
		events := windows[i].until(t, "ended")
		check.Contains(t, user, events[len(events)-2].member(t, "text"), strings.TrimSpace(reply))
	})
	other := w.watch(t, "slow", held, "")
	other.until(t, "ended")
	w.post(t, "slow", "/api/conversations/"+held+"/messages", map[string]string{"text": "again"})
	other.until(t, "ended")
	check.That(t, !slow.over.Load(), "the write to the browser that takes nothing has ended")
	grown := int64(heap()) - int64(before)
	check.That(t, grown <= 64<<20, "%d streams take %d MiB, want at most 64", users, grown>>20)
	n := runtime.NumGoroutine() - goroutines
	check.That(t, n <= 8*users, "%d streams take %d goroutines", users, n) // both ends of each connection are in this process
	for _, window := range windows {
		window.close()
	}
}

// BenchmarkUsers has 200 users with a window each ask at the same time.
func BenchmarkUsers(b *testing.B) {
	w := serve(b, site.Limits{PerMinute: 1 << 20, Burst: 1 << 20}, inFile(b), agenttest.PlayRepeating(agenttest.Say(strings.Repeat("word ", 200))))
	before := heap()
	windows, ids := make([]*window, users), make([]string, users)
	together(func(user string, i int) {
		ids[i] = w.begin(b, user, "hello")
		windows[i] = w.watch(b, user, ids[i], "")
		windows[i].until(b, "ended")
	})
	kept := float64(int64(heap())-int64(before)) / users
	var mu sync.Mutex
	var took []time.Duration
	for b.Loop() {
		together(func(user string, i int) {
			start := time.Now()
			w.post(b, user, "/api/conversations/"+ids[i]+"/messages", map[string]string{"text": "again"})
			windows[i].until(b, "ended")
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(start))
		})
	}
	slices.Sort(took)
	b.ReportMetric(kept, "heap-B/window")
	b.ReportMetric(float64(took[len(took)/2].Milliseconds()), "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Milliseconds()), "p99-ms")
}

// unread is the server's end of a connection whose browser reads nothing: a write blocks until the end of the test,
// and no deadline ends it.
type unread struct {
	net.Conn
	begun chan struct{} // a write is under way
	over  atomic.Bool   // and has ended
}

func (u *unread) Write(p []byte) (int, error) {
	close(u.begun) // there is no second one
	defer u.over.Store(true)
	return u.Conn.Write(p)
}

func (u *unread) SetDeadline(t time.Time) error      { return u.SetReadDeadline(t) }
func (u *unread) SetWriteDeadline(_ time.Time) error { return nil }

type single struct {
	conns chan net.Conn
	done  chan struct{}
	addr  net.Addr
}

func (l *single) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *single) Addr() net.Addr { return l.addr }
func (l *single) Close() error   { return nil }

// watchUnread opens a window that reads nothing, and waits until the server is in the middle of a write to it.
func (w *world) watchUnread(t *testing.T, user, id string) *unread {
	t.Helper()
	browser, server := net.Pipe() // without a buffer
	conn := &unread{Conn: server, begun: make(chan struct{})}
	listener := &single{conns: make(chan net.Conn, 1), done: make(chan struct{}), addr: w.Listener.Addr()}
	listener.conns <- conn
	served := make(chan error, 1)
	go func() { served <- w.Config.Serve(listener) }()
	t.Cleanup(func() {
		_ = browser.Close()
		close(listener.done)
		<-served
	})
	check.Must(t, check.Err(fmt.Fprintf(browser, "GET /api/events?conversation=%s HTTP/1.1\r\nHost: %s\r\nX-Test-User: %s\r\n\r\n", id, w.Listener.Addr(), user)))
	select {
	case <-conn.begun:
	case <-time.After(time.Minute):
		t.Fatal("the server writes nothing")
	}
	return conn
}
