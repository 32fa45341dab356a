package mcpclient_test

import (
	"bytes"
	"context"
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

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

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
	killed chan struct{}
	once   sync.Once
}

func (c *killable) Kill() { c.once.Do(func() { close(c.killed) }) }

func (c *killable) Close() error {
	select {
	case <-c.killed:
	case <-time.After(time.Hour):
	}
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

type redacting struct{ plain }

func (redacting) Redact(text string) string { return strings.ReplaceAll(text, "hunter2", "[secret]") }

type skipping struct{ plain }

func (skipping) OnSkip(skipped func(string)) { skipped("hello") }

// A client uses the optional methods of any connection, also inside a wrapper.
func TestOptionalMethodsOfConnections(t *testing.T) {
	type attempt struct {
		*testing.T
		peer *peer
		log  logged
	}
	connect := func(a *attempt, conn transport.Conn) *mcpclient.Client {
		go a.peer.handshake()
		o := legacy()
		o.Logger = slog.New(slog.NewTextHandler(&a.log, nil))
		return connected(a, &foreign{conn}, o)
	}
	call := func(a *attempt, c *mcpclient.Client) error {
		ctx, cancel := context.WithTimeout(a.Context(), time.Second)
		defer cancel()
		_, err := c.CallTool(ctx, "a", nil)
		return err
	}
	silence := func(a *attempt, conn transport.Conn) error {
		ctx, cancel := context.WithTimeout(a.Context(), time.Second)
		defer cancel()
		_, err := mcpclient.Connect(ctx, &foreign{conn}, nil)
		return err
	}
	for name, test := range map[string]struct {
		conn func(plain) transport.Conn
		used func(a *attempt, conn, inner transport.Conn) bool
	}{
		"Kill": {
			func(p plain) transport.Conn { return &killable{plain: p, killed: make(chan struct{})} },
			func(a *attempt, conn, inner transport.Conn) bool {
				_ = silence(a, conn)
				defer time.Sleep(time.Hour) // for the Close that waits
				select {
				case <-inner.(*killable).killed:
					return true
				default:
					return false
				}
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
				c := connect(a, conn)
				_ = call(a, c)
				synctest.Wait()
				select {
				case m := <-a.peer.inbox:
					return m.Method == "notifications/cancelled"
				default:
					return false
				}
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
				go func() {
					a.peer.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":1,"message":"wrong: hunter2"}}`, a.peer.next().ID)
				}()
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
				pipe, server := mcpclient.Pipe()
				defer func() { _ = server.Close() }()
				a := &attempt{T: t, peer: &peer{t: t, conn: server, inbox: make(chan message, 100)}}
				go a.peer.read()
				client, err := pipe.Dial(t.Context())
				must(t, err)
				inner := test.conn(plain{client})
				got, want := test.used(a, wrap(inner), inner), form != "none"
				wrong(t, got != want, "used: got %t, want %t", got, want)
			})
		}
	}
}

type hasty struct{ foreign }

func (*hasty) ConnectTimeout() time.Duration { return 3 * time.Second }

// A host's own transport may bound Connect.
func TestTransportBoundsConnecting(t *testing.T) {
	for want, form := range map[string]func(transport.Conn) transport.Transport{
		"no connection within 3s (":    func(c transport.Conn) transport.Transport { return &hasty{foreign{c}} },
		"no connection within 10m0s (": func(c transport.Conn) transport.Transport { return &foreign{c} },
	} {
		synctest.Test(t, func(t *testing.T) {
			pipe, server := mcpclient.Pipe()
			defer func() { _ = server.Close() }()
			conn, err := pipe.Dial(t.Context())
			must(t, err)
			o := legacy()
			o.Protocol.Revision = mcp.Revision20251125
			wantText(t, errOf(mcpclient.Connect(t.Context(), form(conn), &o)), want)
		})
	}
}
