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
			kinds = append(kinds, event.Kind)
		}
		check.Same(t, "events", kinds, []EventKind{ServerLost, ServerAdded, ServerLost})
		text := log.String()
		check.That(t, strings.Count(text, "a server is lost") == 2 && strings.Count(text, "a server is connected") == 1, "got the log:\n%s", text)
	})
}

// TestServerThatComesLate has a server that joins when it can be reached and lists its tools: one connection is useless.
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
