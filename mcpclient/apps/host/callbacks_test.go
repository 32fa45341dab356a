package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A function of the host may wait for the view: to close it, for one.
func TestCallbacksMayCallTheSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s *host.Session
		said := make(chan error, 1)
		answered := func(v *view, result string) {
			v.send(`{"jsonrpc":"2.0","id":` + string(v.next().ID) + `,"result":` + result + `}`)
		}
		s, v := begun(t, &scripted{}, &host.Options{OnCloseRequest: func() { said <- s.Close(t.Context(), "as it asks") }}, `{}`)
		start := time.Now()
		v.notify("ui/notifications/request-teardown", `{}`)
		answered(v, `{}`)
		check.NoError(t, <-said, "close")
		took := time.Since(start)
		check.That(t, took <= 0, "it took %v, want no wait for a limit", took)
	})
}

// A function that is slow hears the last size, and so many log messages.
func TestSlowCallbacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, heights, logged := make(chan bool), []float64{}, 0
		_, v := begun(t, &scripted{}, &host.Options{
			OnSize: func(_, h *float64) { <-release; heights = append(heights, *h) },
			OnLog:  func(*mcp.LogMessage) { logged++ },
		}, `{}`)
		v.notify("ui/notifications/size-changed", `{"height":-0}`)
		synctest.Wait()
		for i := range 1000 {
			v.notify("ui/notifications/size-changed", fmt.Sprintf(`{"height":%d}`, i))
			v.notify("notifications/message", `{"level":"info","data":1}`)
		}
		v.silent("after notifications")
		close(release)
		synctest.Wait()
		diff := cmp.Diff(heights, []float64{0, 999})
		check.That(t, diff == "" && logged <= 256 && logged >= 200, "logged %d, heights got (-) want (+):\n%s", logged, diff)
	})
}

// What a view does without a rate of its own fills no log.
func TestNotificationsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var written bytes.Buffer
		var logged atomic.Int64
		_, v := begun(t, &scripted{}, &host.Options{
			OnLog: func(*mcp.LogMessage) { logged.Add(1) }, Limits: host.Limits{Rate: 10},
			Logger: slog.New(slog.NewTextHandler(&written, nil)),
		}, `{}`) // which takes one
		for range 1000 {
			v.notify("notifications/message", `{"level":"info","data":1}`)
			v.send("malformed")
			v.ask("1", "no/such/method", `{}`)
			synctest.Wait()
		}
		check.Equal(t, "the host heard messages", logged.Load(), 99)
		n := strings.Count(written.String(), "\n")
		check.That(t, n <= 70, "got %d lines, want a few", n)
		time.Sleep(time.Minute)
		v.send("malformed")
		v.notify("notifications/message", `{"level":"info","data":1}`)
		v.silent("after a minute")
		if n := logged.Load(); n != 100 || !strings.Contains(written.String(), "were left out") {
			t.Errorf("a minute later: the host heard %d messages, the log says %s", n, &written)
		}
		v.notify("notifications/message", `{"level":"info","data":"`+strings.Repeat("x", 64<<10)+`"}`)
		v.silent("after a large notification")
		check.Equal(t, "with a notification over 64 KiB", logged.Load(), 100)
	})
}

// What the host echoes is small: ids and progress tokens.
func TestIDsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, v := begun(t, &scripted{call: func(context.Context, string, json.RawMessage) (*mcp.CallToolResult, error) {
			return result("x"), nil
		}}, nil, `{}`)
		long := `"` + strings.Repeat("x", 1<<10) + `"`
		for _, message := range []string{
			`{"jsonrpc":"2.0","id":` + long + `,"method":"ping"}`,
			`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 50<<20) + `","method":"tools/call","params":{"name":"app"}}`,
		} {
			v.send(message)
			v.silent("after a long id")
		}
		for _, token := range []string{long, `{"x":1}`, `[1]`, `true`} {
			got := v.ask("1", "tools/call", `{"name":"app","_meta":{"progressToken":`+token+`}}`)
			check.That(t, strings.HasPrefix(got, "error -32602 the progress token"), "token %.20s: got %.100s", token, got)
		}
	})
}

// Results that a view does not read take twice the size of the largest, and no more.
func TestWaitingBytesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 10_000
		release := make(chan struct{})
		_, v := begun(t, &scripted{call: func(context.Context, string, json.RawMessage) (*mcp.CallToolResult, error) {
			<-release
			return result(strings.Repeat("x", most*9/10)), nil
		}}, &host.Options{Limits: host.Limits{Outgoing: most}}, `{}`)
		const pings, calls = 100, 16 // pings fill the pipe
		for i := range pings + calls {
			if i < pings {
				v.request(fmt.Sprint(i), "ping", `{}`)
			} else {
				v.request(fmt.Sprint(i), "tools/call", `{"name":"app"}`)
			}
		}
		synctest.Wait()
		close(release)
		synctest.Wait()
		large, refused := 0, map[string]int{}
		for range pings + calls {
			m := v.next()
			if len(m.Result) > most/2 {
				large++
			}
			if m.Error == nil {
				continue
			}
			var e mcp.RPCError
			check.Must(t, json.Unmarshal(m.Error, &e))
			refused[e.Message]++
		}
		check.That(t, refused["too much waits for the view to read it"] == calls-2 && large == 2,
			"got %d results, refused %v, want two results", large, refused)
	})
}

// A context with a theme alone leaves the mode, and the modes, as they are.
func TestSetContextKeepsTheMode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, v := begun(t, &scripted{}, &host.Options{
			Context:     host.HostContext{AvailableDisplayModes: []string{"inline", "fullscreen"}, DisplayMode: "fullscreen"},
			DisplayMode: func(_ context.Context, mode string) (string, error) { return mode, nil },
		}, `{}`)
		<-s.Ready()
		check.NoError(t, s.SetContext(host.HostContext{Theme: "light"}))
		v.want(`ui/notifications/host-context-changed {"theme":"light"}`)
		v.request("1", "ui/request-display-mode", `{"mode":"inline"}`)
		got := map[string]bool{v.said(): true, v.said(): true}
		check.That(t, got[`{"mode":"inline"}`], "got %v, want the mode to change", got)
	})
}
