package mcpclient_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
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
		c := connected(t, &hooked{Transport: pipe, send: func(ctx context.Context, conn transport.Conn, message []byte) error {
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
				inner := test.conn(plain{check.Value(pipe.Dial(t.Context()))(t)})
				got, want := test.used(a, wrap(inner), inner), form != "none"
				check.That(t, got == want, "used: got %t, want %t", got, want)
			})
		}
	}
}
