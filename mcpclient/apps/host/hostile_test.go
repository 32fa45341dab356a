package host_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// 10,000 calls at once: a few reach the server, each has an answer.
func TestFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const all = 10_000
		var under, most, called atomic.Int64
		s, v := begun(t, &scripted{call: func(context.Context, string, json.RawMessage) (*mcp.CallToolResult, error) {
			if n := under.Add(1); n > most.Load() {
				most.Store(n)
			}
			called.Add(1)
			time.Sleep(time.Millisecond)
			under.Add(-1)
			return result("x"), nil
		}}, nil, `{}`)
		go func() {
			for i := range all {
				v.request(fmt.Sprint(i+1), "tools/call", `{"name":"app"}`)
			}
		}()
		answered, refused := map[string]bool{}, 0
		for range all {
			m := v.next()
			answered[string(m.ID)] = true
			if m.Error != nil {
				refused++
			}
		}
		if n := called.Load(); len(answered) != all || n+int64(refused) != all || n == 0 || n > 600 || most.Load() > 16 {
			t.Errorf("got %d answers, %d calls, %d at once, %d refused", len(answered), n, most.Load(), refused)
		}
		check.NoError(t, s.Err())
		time.Sleep(time.Minute)
		check.Equal(t, "a minute later", v.ask("1", "ping", `{}`), "{}")
	})
}

func TestRequestsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		_, v := begun(t, &scripted{call: func(context.Context, string, json.RawMessage) (*mcp.CallToolResult, error) {
			<-release
			return result("x"), nil
		}}, nil, `{}`)
		for i := range 16 {
			v.request(fmt.Sprint(i+1), "tools/call", `{"name":"app"}`)
		}
		synctest.Wait()
		check.Equal(t, "the same id", v.ask("1", "resources/read", `{"uri":"x"}`), "error -32600 another request has this id")
		check.Equal(t, "one more", v.ask("17", "tools/call", `{"name":"app"}`), "error -32000 more than 16 requests at once")
		close(release)
		for range 16 {
			m := v.next()
			check.That(t, m.Error == nil, "got %s, want the calls before to end well", m.Error)
		}
	})
}

func TestRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, v := begun(t, &scripted{}, &host.Options{Limits: host.Limits{Rate: 10}}, `{}`) // which takes one
		for range 9 {
			got := v.ask("1", "resources/read", `{"uri":"x"}`)
			check.That(t, !strings.HasPrefix(got, "error"), "got %s", got)
		}
		check.Equal(t, "", v.ask("1", "resources/read", `{"uri":"x"}`), "error -32000 more than 10 requests in a minute")
		time.Sleep(time.Minute)
		got := v.ask("1", "resources/read", `{"uri":"x"}`)
		check.That(t, !strings.HasPrefix(got, "error"), "a minute later: got %s", got)
	})
}

// A message of 50 MB is refused, and the session continues.
func TestLargeMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		large := `"` + strings.Repeat("x", 50<<20) + `"`
		s, v := begun(t, &scripted{call: func(context.Context, string, json.RawMessage) (*mcp.CallToolResult, error) {
			t.Error("the server was called")
			return nil, nil
		}}, &host.Options{OnLog: func(*mcp.LogMessage) { t.Error("the host was told") }}, `{"tools":{}}`)
		<-s.Ready()
		check.Equal(t, "", v.ask("1", "tools/call", `{"name":"app","arguments":{"x":`+large+`}}`), "error -32000 a message over 4194304 bytes")
		v.notify("notifications/message", `{"level":"info","data":`+large+`}`)
		v.silent("after large messages")
	})
}

// A result that is too large for the view does not end the session.
func TestLargeResults(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, v := begun(t, &scripted{call: func(_ context.Context, name string, _ json.RawMessage) (*mcp.CallToolResult, error) {
			if name == "plain" {
				return nil, &mcp.RPCError{Code: -1, Message: strings.Repeat("x", 2000)}
			}
			return result(strings.Repeat("x", 2000)), nil
		}}, &host.Options{Limits: host.Limits{Outgoing: 1000}}, `{}`)
		check.Equal(t, "", v.ask("1", "tools/call", `{"name":"app"}`), "error -32000 the result is over 1000 bytes")
		check.Equal(t, "", v.ask("1", "tools/call", `{"name":"plain"}`), "error -32000 failed")
	})
}

// A view that does not read its messages is given up.
func TestViewDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, v := begun(t, &scripted{}, nil, `{}`)
		var sent atomic.Int64
		go func() {
			for i := range 5000 {
				if v.conn.Send(context.Background(), fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i)) != nil {
					return
				}
				sent.Add(1)
			}
		}()
		start := time.Now()
		synctest.Wait()
		if n := sent.Load(); n > 600 { // 256 wait in the session, and 64 in each direction of the pipe
			t.Errorf("the session has read %d messages of a view that reads none", n)
		}
		<-s.Done()
		took := time.Since(start)
		check.That(t, took == 30*time.Second && errors.Is(s.Err(), context.DeadlineExceeded), "got %v after %v, want the end after 30 s", s.Err(), took)
	})
}

// What is not a message is left out.
func TestMalformedMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, v := begun(t, &scripted{}, &host.Options{
			OnSize: func(w, h *float64) { t.Errorf("got the size %v %v", w, h) }, OnLog: func(m *mcp.LogMessage) { t.Errorf("got the message %v", m) },
		}, `{}`)
		deep := strings.Repeat("[", 100_000)
		for _, message := range []string{``, `{`, `null`, `7`, `"x"`, `[]`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `{}`, `{"id":1}`, `{"jsonrpc":"2.0","id":99,"result":{}}`,
			`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"method":"ping"}`, `{"jsonrpc":"2.0","method":7}`, `{"x":` + deep,
			`{"jsonrpc":"2.0","method":"ui/notifications/sandbox-proxy-ready","params":{}}`, `{"jsonrpc":"2.0","method":"ui/notifications/sandbox-resource-ready","params":{"html":"x"}}`,
			`{"jsonrpc":"2.0","method":"ui/notifications/size-changed","params":{"height":-1}}`, `{"jsonrpc":"2.0","method":"ui/notifications/size-changed","params":{"width":1e300}}`, `{"jsonrpc":"2.0","method":"ui/notifications/size-changed","params":{"height":100001}}`,
			`{"jsonrpc":"2.0","method":"ui/notifications/size-changed","params":{"width":"1"}}`, `{"jsonrpc":"2.0","method":"ui/notifications/size-changed"}`,
			`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"shout","data":1}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":7}`} {
			v.send(message)
			v.silent(message[:min(len(message), 80)])
		}
		elements := `{"name":"app","arguments":{"x":[` + strings.Repeat("1,", 200_000) + `1]}}`
		for _, params := range []string{`[]`, `7`, elements} {
			got := v.ask("1", "tools/call", params)
			check.That(t, strings.HasPrefix(got, "error -32602"), "params %.20s: got %.100s", params, got)
		}
	})
}

// damaged is a connection whose first message cannot be received.
type damaged struct {
	transport.Conn
	begun bool
}

func (d *damaged) Recv() ([]byte, error) {
	if !d.begun {
		d.begun = true
		return nil, &transport.MessageError{Err: transport.ErrMessageTooLarge}
	}
	return d.Conn.Recv()
}

// A message that cannot be received does not end the session.
func TestDamagedMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe, conn := mcpclient.Pipe()
		_, v := openOver(t, &damaged{Conn: conn}, check.Value(pipe.Dial(t.Context()))(t), &scripted{}, nil)
		check.Equal(t, "", v.ask("1", "ping", `{}`), "{}")
	})
}

func TestNotificationsOfTheView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := make(chan string, 1)
		_, v := begun(t, &scripted{}, &host.Options{
			OnSize:         func(w, h *float64) { said <- fmt.Sprint(w != nil && *w == 1.5, h == nil) },
			OnLog:          func(m *mcp.LogMessage) { said <- string(m.Level) + m.Logger + string(m.Data) },
			OnCloseRequest: func() { said <- "teardown" },
		}, `{}`)
		for _, tt := range [][3]string{
			{"ui/notifications/size-changed", `{"width":1.5}`, "true true"},
			{"notifications/message", `{"level":"error","logger":"l","data":{"x":1}}`, `errorl{"x":1}`},
			{"ui/notifications/request-teardown", `{}`, "teardown"},
		} {
			v.notify(tt[0], tt[1])
			check.Equal(t, tt[0], <-said, tt[2])
		}
	})
}

// FuzzMessages has views say anything: what comes of it is an answer, or nothing.
func FuzzMessages(f *testing.F) {
	for _, method := range []string{"ui/initialize", "tools/call", "ui/message", "ui/update-model-context", "ui/request-display-mode", "sampling/createMessage", "resources/read"} {
		f.Add(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"name":"app","uri":"x","role":"user","content":[{"type":"text","text":"x"}],"mode":"pip","messages":[]}}`)
	}
	f.Add(`{"jsonrpc":"2.0","method":"ui/notifications/size-changed","params":{"width":1}}`)
	f.Fuzz(func(t *testing.T, message string) {
		pipe, conn := mcpclient.Pipe()
		end := check.Value(pipe.Dial(t.Context()))(t)
		s, err := host.Open(t.Context(), conn, &scripted{}, &host.Options{
			OpenLink: func(context.Context, string) error { return nil }, Message: func(context.Context, []mcp.Content) error { return nil },
			OnModelContext: func([]mcp.Content, json.RawMessage) error { return nil },
		})
		check.Must(t, err)
		v := &view{conn: end}
		for _, m := range []string{`{"jsonrpc":"2.0","id":"i","method":"ui/initialize","params":{"protocolVersion":"1","appCapabilities":{}}}`, `{"jsonrpc":"2.0","method":"ui/notifications/initialized"}`, message, `{"jsonrpc":"2.0","id":"end","method":"ping"}`} {
			check.Must(t, v.conn.Send(t.Context(), []byte(m)))
		}
		for {
			raw, err := end.Recv()
			check.Require(t, err == nil, "got %v, %v, want an answer to ping", err, s.Err())
			if strings.Contains(string(raw), `"id":"end"`) {
				break
			}
		}
		_ = end.Close()
		<-s.Done()
	})
}
