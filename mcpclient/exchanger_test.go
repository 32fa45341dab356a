package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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

// errand is a session.
type errand struct {
	id   string
	over atomic.Bool
}

func (e *errand) ID() string        { return e.id }
func (e *errand) Over() bool        { return e.over.Load() }
func (e *errand) SetOver(over bool) { e.over.Store(over) }

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

// letter has the members of a client's message.
type letter struct {
	ID     json.RawMessage
	Method string
	Params struct{ Name string }
	Result json.RawMessage
}

// take delivers a message to the server, in its session.
func (c *courier) take(m *wire.Message) (r letter, err error) {
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
	if s.Over() {
		return r, wire.ErrSessionOver
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

// A client uses a host's own Exchanger like HTTP: questions are answered in their session, a
// lost session is replaced, only requests that are safe to repeat are sent again, and Close
// ends the session.
func TestExchangerOfAHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &courier{notices: make(chan string), answers: make(chan string, 1)}
		noticed := make(chan string, 1)
		o := legacy()
		o.Roots = []mcp.Root{{URI: "file:///a"}}
		o.OnNotification = func(n *mcp.Notification) { noticed <- n.Method }
		c := connected(t, server, o)
		if r, err := c.CallTool(t.Context(), "ask", nil); err != nil || string(r.StructuredContent) != `{"roots":[{"uri":"file:///a"}]}` {
			t.Errorf("ask: got %+v, %v, want the roots", r, err)
		}
		server.notices <- "notifications/acme"
		equal(t, "notification", <-noticed, "notifications/acme")
		var broken *transport.BrokenError
		if _, err := c.CallTool(t.Context(), "cut", nil); !errors.As(err, &broken) {
			t.Errorf("cut: got %v, want a BrokenError", err)
		}
		server.mu.Lock()
		server.forgetful = true
		server.mu.Unlock()
		if _, err := listTools(t.Context(), c); err != nil || c.SessionID() != "s-2" {
			t.Errorf("got session %q, %v, want s-2", c.SessionID(), err)
		}
		ctx := withTimeout(t, time.Second)
		wantIs(t, errOf(c.CallTool(ctx, "hang", nil)), context.DeadlineExceeded, "hang")
		synctest.Wait()
		noError(t, c.Close())
		<-c.Done()
		want := []string{
			"initialize s-1", "notifications/initialized s-1", "tools/callask s-1", " s-1", "tools/callcut s-1",
			"tools/list s-1", "initialize s-2", "notifications/initialized s-2", "tools/list s-2",
			"tools/callhang s-2", "notifications/cancelled s-2", "end s-2",
		}
		same(t, "", server.seen, want)
	})
}
