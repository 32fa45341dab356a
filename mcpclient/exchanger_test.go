package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// courier is a host's own transport and its one connection, on which every request has an
// exchange of its own. It leads to a legacy server that can forget a session.
type courier struct {
	transport.Conn // nil: the client uses none of its methods
	notices        chan string
	answers        chan string // from the client

	mu        sync.Mutex
	seen      []string // messages and their sessions
	sessions  int
	current   *errand
	forgetful bool // the next message does not find its session
}

type errand struct {
	id   string
	over atomic.Bool
}

func (e *errand) ID() string          { return e.id }
func (e *errand) Ended() bool         { return e.over.Load() }
func (e *errand) SetEnded(ended bool) { e.over.Store(ended) }

// lostErrand is the error of a request whose session the server has forgotten.
type lostErrand struct{ id string }

func (e *lostErrand) Error() string       { return "no such errand" }
func (e *lostErrand) LostSession() string { return e.id }

func (c *courier) Dial(context.Context) (transport.Conn, error) { return c, nil }
func (c *courier) Close() error                                 { return nil }
func (c *courier) EndCalls()                                    {}
func (c *courier) EndSessions(context.Context)                  { c.note("end", c.Session().ID()) }
func (c *courier) HasSessions() bool                            { return c.Session() != nil }
func (c *courier) Owner(context.Context) (string, error)        { return "", nil }

func (c *courier) Session() wire.Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current == nil {
		return nil
	}
	return c.current
}

func (c *courier) note(what, session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, what+" "+session)
}

// take delivers a message to the server, in its session.
func (c *courier) take(m *wire.Message) (r message, err error) {
	if err := json.Unmarshal(m.Body, &r); err != nil {
		return r, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if m.Opens {
		c.sessions++
		c.current = &errand{id: fmt.Sprint("s-", c.sessions)}
	}
	s := c.current
	if m.In != nil {
		s = m.In.(*errand)
	}
	if s.Ended() {
		return r, wire.ErrSessionEnded
	}
	m.SetSession(s)
	c.seen = append(c.seen, r.Method+r.Params.Name+" "+s.id)
	if c.forgetful && !m.Opens {
		c.forgetful = false
		return r, &lostErrand{s.id}
	}
	return r, nil
}

func (c *courier) Post(_ context.Context, m *wire.Message) error {
	r, err := c.take(m)
	if err == nil && r.Result != nil {
		c.answers <- string(r.Result)
	}
	return err
}

func (c *courier) Exchange(ctx context.Context, m *wire.Message, deliver func([]byte) bool) error {
	r, err := c.take(m)
	if err != nil {
		return err
	}
	result := `{"tools":[],"content":[]}`
	switch r.Method + r.Params.Name {
	case "initialize":
		result = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}}}`
	case "tools/callask":
		deliver([]byte(`{"jsonrpc":"2.0","id":"q","method":"roots/list"}`))
		result = `{"content":[],"structuredContent":` + <-c.answers + `}`
	case "tools/callcut":
		return &transport.BrokenError{Err: errors.New("the van broke down")}
	case "tools/callhang":
		<-ctx.Done()
		return ctx.Err()
	}
	deliver(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, result))
	return nil
}

func (c *courier) Listen(ctx context.Context, m *wire.Message, open func(resumed bool), deliver func([]byte)) error {
	m.SetSession(c.Session())
	open(false)
	for {
		select {
		case method := <-c.notices:
			deliver(fmt.Appendf(nil, `{"jsonrpc":"2.0","method":%q}`, method))
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// A client uses a host's own Exchanger like HTTP: questions are answered in their session, a lost session is replaced,
// only requests that are safe to repeat are sent again, and Close ends the session.
func TestExchangerOfAHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &courier{notices: make(chan string), answers: make(chan string, 1)}
		noticed := make(chan string, 1)
		o := legacy()
		o.Roots = []mcp.Root{{URI: "file:///a"}}
		o.OnNotification = func(n *mcp.Notification) { noticed <- n.Method }
		c := connected(t, server, o)
		r, err := c.CallTool(t.Context(), "ask", nil)
		check.That(t, err == nil && string(r.StructuredContent) == `{"roots":[{"uri":"file:///a"}]}`, "ask: got %+v, %v, want the roots", r, err)
		server.notices <- "notifications/acme"
		check.Equal(t, "notification", <-noticed, "notifications/acme")
		wantError[*transport.BrokenError](t, check.Err(c.CallTool(t.Context(), "cut", nil)))
		server.mu.Lock()
		server.forgetful = true
		server.mu.Unlock()
		check.NoError(t, listOnce(t.Context(), c))
		check.Equal(t, "session", c.SessionID(), "s-2")
		check.Is(t, check.Err(c.CallTool(withTimeout(t, time.Second), "hang", nil)), context.DeadlineExceeded, "hang")
		synctest.Wait()
		check.NoError(t, c.Close())
		<-c.Done()
		check.Same(t, "", server.seen, []string{
			"initialize s-1", "notifications/initialized s-1", "tools/callask s-1", " s-1", "tools/callcut s-1",
			"tools/list s-1", "initialize s-2", "notifications/initialized s-2", "tools/list s-2",
			"tools/callhang s-2", "notifications/cancelled s-2", "end s-2",
		})
	})
}

// foreign is a host's own transport with one connection.
type foreign struct{ conn transport.Conn }

func (f *foreign) Dial(context.Context) (transport.Conn, error) { return f.conn, nil }

// plain hides the optional methods of a connection.
type plain struct{ transport.Conn }

// wrapping exposes the optional methods of a connection.
type wrapping struct{ plain }

func (w wrapping) Unwrap() transport.Conn { return w.Conn }

type killable struct {
	plain
	killed atomic.Bool
}

func (c *killable) Kill() { c.killed.Store(true) }

func (c *killable) Close() error {
	time.Sleep(time.Hour)
	return c.plain.Close()
}

type explaining struct{ plain }

func (explaining) Explain(err error) error { return fmt.Errorf("%w (the queue is empty)", err) }

type ended struct {
	plain
	over atomic.Bool
}

func (c *ended) Send(ctx context.Context, message []byte) error {
	if c.over.Load() {
		return errors.New("no more messages")
	}
	return c.plain.Send(ctx, message)
}

func (c *ended) Err() error {
	if c.over.Load() {
		return io.EOF
	}
	return nil
}

// droppingConn does not send messages that contain a text.
type droppingConn struct {
	plain
	text         string
	acknowledged bool
}

func (c *droppingConn) Send(ctx context.Context, message []byte) error {
	if bytes.Contains(message, []byte(c.text)) {
		<-ctx.Done()
		return ctx.Err()
	}
	return c.plain.Send(ctx, message)
}

func (c *droppingConn) Acknowledged() bool { return c.acknowledged }

// A notification that is given up has the error of its context and the cause, whatever the connection returns.
func TestNotifyGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipe, p := newPeer(t)
		go p.handshake()
		c := connected(t, &hooked{Transport: pipe, send: func(ctx context.Context, conn mcpclient.Conn, message []byte) error {
			if bytes.Contains(message, []byte("x/slow")) {
				<-ctx.Done()
				return errors.New("not sent")
			}
			return conn.Send(ctx, message)
		}}, legacy())
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errors.New("the person left")) })
		wantBoth(t, c.Notify(ctx, "x/slow", nil), context.Canceled, "the person left")
	})
}

type redacting struct{ plain }

func (redacting) Redact(text string) string { return strings.ReplaceAll(text, "hunter2", "[secret]") }

type skipping struct{ plain }

func (skipping) OnSkip(skipped func(string)) { skipped("hello") }

// A client uses the optional methods of any connection, also inside a wrapper.
func TestOptionalMethodsOfConnections(t *testing.T) {
	type attempt struct {
		*testing.T
		peer *peer
		log  *logged
	}
	connect := func(a *attempt, conn transport.Conn) (c *mcpclient.Client) {
		go a.peer.handshake()
		o, log := logs(legacy(), slog.LevelInfo)
		a.log = log
		return connected(a, &foreign{conn}, o)
	}
	call := func(a *attempt, c *mcpclient.Client) error {
		return check.Err(c.CallTool(withTimeout(a.T, time.Second), "a", nil))
	}
	silence := func(a *attempt, conn transport.Conn) error {
		return check.Err(mcpclient.Connect(withTimeout(a.T, time.Second), &foreign{conn}, nil))
	}
	for name, test := range map[string]struct {
		conn func(plain) transport.Conn
		used func(a *attempt, conn, inner transport.Conn) bool
	}{
		"Kill": {
			func(p plain) transport.Conn { return &killable{plain: p} },
			func(a *attempt, conn, inner transport.Conn) bool {
				_ = silence(a, conn)
				defer time.Sleep(time.Hour) // for the Close that waits
				return inner.(*killable).killed.Load()
			},
		},
		"Explain": {
			func(p plain) transport.Conn { return explaining{p} },
			func(a *attempt, conn, _ transport.Conn) bool {
				return strings.HasSuffix(silence(a, conn).Error(), "(the queue is empty)")
			},
		},
		"Err": {
			func(p plain) transport.Conn { return &ended{plain: p} },
			func(a *attempt, conn, inner transport.Conn) bool {
				c := connect(a, conn)
				inner.(*ended).over.Store(true)
				return errors.Is(call(a, c), mcpclient.ErrClosed)
			},
		},
		"Acknowledged: what was not confirmed is cancelled": {
			func(p plain) transport.Conn { return &droppingConn{p, "tools/call", true} },
			func(a *attempt, conn, _ transport.Conn) bool {
				_ = call(a, connect(a, conn))
				synctest.Wait()
				return len(a.peer.inbox) > 0 && a.peer.next().Method == "notifications/cancelled"
			},
		},
		"not Acknowledged: Close waits for no server that does not read": {
			func(p plain) transport.Conn { return &droppingConn{p, "notifications/cancelled", false} },
			func(a *attempt, conn, _ transport.Conn) bool {
				c := connect(a, conn)
				_ = call(a, c)
				start := time.Now()
				_ = c.Close()
				return time.Since(start) < time.Second
			},
		},
		"Redact": {
			func(p plain) transport.Conn { return redacting{p} },
			func(a *attempt, conn, _ transport.Conn) bool {
				c := connect(a, conn)
				go a.peer.reply(`{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"wrong: hunter2"}}`)
				return strings.HasSuffix(call(a, c).Error(), "wrong: [secret]")
			},
		},
		"OnSkip": {
			func(p plain) transport.Conn { return skipping{p} },
			func(a *attempt, conn, _ transport.Conn) bool {
				connect(a, conn)
				return strings.Contains(a.log.String(), "text=hello")
			},
		},
	} {
		for form, wrap := range map[string]func(transport.Conn) transport.Conn{
			"own":     func(c transport.Conn) transport.Conn { return c },
			"wrapped": func(c transport.Conn) transport.Conn { return wrapping{plain{wrapping{plain{c}}}} },
			"none":    func(c transport.Conn) transport.Conn { return plain{c} },
		} {
			bubble(t, name+"/"+form, func(t *testing.T) {
				pipe, p := newPeer(t)
				a := &attempt{T: t, peer: p}
				client := check.Value(pipe.Dial(t.Context()))(t)
				inner := test.conn(plain{client})
				got, want := test.used(a, wrap(inner), inner), form != "none"
				check.That(t, got == want, "used: got %t, want %t", got, want)
			})
		}
	}
}
