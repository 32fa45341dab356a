package adapter

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// TestQuickServersAreNotKeptWaiting opens a toolset as soon as the quick servers are ready. A slow server joins later,
// one that fails late is tried again, and Open waits for a server that is ready within OpenWait.
func TestQuickServersAreNotKeptWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		began := time.Now()
		broken := serving("broken").slowly(3 * time.Second)
		ts := open(t, &Options{Policy: Policy{Start: StartAvailable}, OpenWait: time.Second, OnChange: e.hear},
			Server{Name: "quick", Transport: serving("quick", newListener(t, "a")).slowly(200 * time.Millisecond)},
			Server{Name: "slow", Transport: serving("slow", newListener(t, "b")).slowly(8 * time.Second)},
			Server{Name: "next", Transport: serving("next", newListener(t, "c")).slowly(900 * time.Millisecond)},
			Server{Name: "broken", Transport: broken})
		check.Equal(t, "until it is open", time.Since(began), 1200*time.Millisecond)
		wantTools(t, ts, "a", "c")
		check.Is(t, ts.Servers()[1].Err, ErrConnecting)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		wantTools(t, ts, "a", "b", "c")
		wantEvents(t, &e, Event{Server: "slow", Kind: ServerAdded, Added: []string{"b"}})
		check.Is(t, ts.Servers()[3].Err, errNoDial)
		check.That(t, broken.dials.Load() >= 2, "got %d connections, want that it is tried again", broken.dials.Load())
		check.Equal(t, "", callTool(t, ts, "b", "").Text, "done")
	})
}

// TestSlowServerAtTheEnd closes the toolset, or cancels Open, while a server is still connecting.
// Nothing is left behind.
func TestSlowServerAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := func() []Server {
			return []Server{
				{Name: "quick", Transport: serving("quick", newListener(t, "a"))},
				{Name: "slow", Transport: serving("slow", newListener(t, "b")).slowly(time.Hour)},
			}
		}
		opts := &Options{Policy: Policy{Start: StartAvailable, ConnectTimeout: 2 * time.Hour}, OpenWait: time.Second}
		_ = open(t, opts, servers()...).Close()
		opts.OpenWait = time.Minute
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		check.Is(t, check.Err(Open(ctx, servers(), opts)), context.DeadlineExceeded, "the end of the context")
	})
}

// TestServersComeBack checks that the toolset connects again, after growing waits, to servers that
// are not there at first or end.
func TestServersComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		var log bytes.Buffer
		a, b := newListener(t, "a"), newListener(t, "b")
		way := serving("x", a, b)
		ts := open(t, &Options{Policy: Policy{Start: StartAvailable}, OnChange: e.hear, Logger: slog.New(slog.NewTextHandler(&log, nil))},
			Server{Name: "p", Transport: way})
		_ = a.conn.Close()
		synctest.Wait()
		check.Contains(t, "a server that is lost", callTool(t, ts, "a", "").Text, "Nothing was done")
		time.Sleep(time.Second)
		synctest.Wait()
		wantTools(t, ts, "b")
		check.NoError(t, ts.Servers()[0].Ended)
		_ = b.conn.Close()
		time.Sleep(10 * time.Minute) // 1, 2, 4, … 60 s, less up to a half
		n := way.dials.Load()
		check.That(t, n >= 14 && n <= 32, "got %d connections in 10 minutes, want waits of up to a minute", n)
		var kinds []EventKind
		for _, event := range e.take() {
			if event.Kind != WatchEnded {
				kinds = append(kinds, event.Kind)
			}
		}
		check.Same(t, "events", kinds, []EventKind{ServerLost, ServerReturned, ServerLost})
		text := log.String()
		check.That(t, strings.Count(text, "a server is lost") == 2 && strings.Count(text, "a server is there again") == 1, "got the log:\n%s", text)
	})
}

// TestServerThatComesLate has a server that joins when it can be reached and lists its tools: one
// connection is useless.
func TestServerThatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		dials, deaf, late := 0, newListener(t), newListener(t, "a")
		deaf.listless = true
		way := transportFunc(func(ctx context.Context) (mcpclient.Conn, error) {
			check.Equal(t, fmt.Sprint("a person may be asked to sign in after dials: ", dials), !backoff.IsUnattended(ctx), dials == 0)
			switch dials++; dials {
			case 1, 2:
				return nil, errNoDial
			case 3:
				return deaf.way.Dial(ctx)
			}
			return late.way.Dial(ctx)
		})
		ts := open(t, &Options{Policy: Policy{Start: StartAvailable}, OnChange: e.hear}, Server{Name: "p", Transport: way})
		time.Sleep(time.Minute)
		synctest.Wait()
		wantEvents(t, &e, Event{Server: "p", Kind: ServerAdded, Added: []string{"a"}})
		wantTools(t, ts, "a")
	})
}

// TestPipesAreNotDialedAgain checks that a connection that cannot be made again, and a removed server, are left alone.
func TestPipesAreNotDialedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newListener(t, "a")
		ts := open(t, nil, Server{Name: "p", Transport: l.way})
		_ = l.conn.Close()
		time.Sleep(time.Hour)
		check.Text(t, ts.Servers()[0].Ended, "", "a connection")
		check.NoError(t, ts.Remove("p"))
	})
}
