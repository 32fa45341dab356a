package mcpclient_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// A list that ends the connection is sent once more, not again on every later connection.
func TestRestartRepeatsOnce(t *testing.T) {
	eachEra(t, func(t *testing.T, name string, opts mcpclient.Options) {
		restarting(t, opts, mcpclient.Restart{}, func(t *testing.T, c *mcpclient.Client, transport *peerTransport, p *peer) {
			var lists atomic.Int32
			serve := func(p *peer) {
				for m := range p.inbox {
					switch {
					case m.Method == "tools/list":
						lists.Add(1)
						_ = p.conn.Close()
					case m.ID != nil:
						p.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
					}
				}
			}
			go serve(p)
			go func() {
				for p := range transport.peers {
					go serve(p)
				}
			}()
			defer close(transport.peers)
			wantIs(t, listOnce(t.Context(), c), mcpclient.ErrConnectionLost)
			equal(t, "tools/list", lists.Load(), 2)
			noError(t, c.Ping(t.Context()), "after that")
		})
	})
}

// A connection whose handshake fails has ended before the next one is dialed.
func TestRestartEndsFailedAttempts(t *testing.T) {
	restarting(t, legacy(), mcpclient.Restart{}, func(t *testing.T, c *mcpclient.Client, transport *peerTransport, p *peer) {
		refused := make(chan *peer, 1)
		transport.greet = func(p *peer) {
			if len(refused) == 0 && transport.dialed() == 2 {
				p.reply(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"not yet"}}`)
				refused <- p
				return
			}
			p.greetLogging()
		}
		_ = p.conn.Close()
		fails(t, c.Ping(withinMinute(t)), "nobody answered, and the ping succeeded")
		select {
		case _, more := <-(<-refused).inbox:
			if more {
				t.Error("the client kept talking on the connection that failed")
			}
		case <-time.After(time.Hour):
			t.Error("the connection that failed continues")
		}
	})
}

// withinMinute returns a context with a timeout of a minute.
func withinMinute(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// endsLate is a transport whose connections end 5 s after they are closed.
type endsLate struct{ *peerTransport }

func (l endsLate) Dial(ctx context.Context) (mcpclient.Conn, error) {
	conn, err := l.peerTransport.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return &endsLateConn{Conn: conn}, nil
}

type endsLateConn struct {
	mcpclient.Conn
	closed atomic.Bool
}

func (l *endsLateConn) Close() error {
	l.closed.Store(true)
	return l.Conn.Close()
}

func (l *endsLateConn) Recv() ([]byte, error) {
	data, err := l.Conn.Recv()
	if err != nil && l.closed.Load() {
		time.Sleep(5 * time.Second)
		err = io.ErrUnexpectedEOF // like a connection that ends by itself
	}
	return data, err
}

// The late end of a replaced connection does not begin a restart.
func TestRestartIgnoresLateEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := newPeerTransport(t)
		transport.greet = func(p *peer) {
			if transport.dialed() == 2 {
				p.reply(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"not yet"}}`)
				return
			}
			p.greetLogging()
			go p.answers()
		}
		o := legacy()
		o.Restart = new(mcpclient.Restart)
		c := connected(t, endsLate{transport}, o)
		_ = (<-transport.peers).conn.Close()
		time.Sleep(time.Minute)
		noError(t, c.Ping(withinMinute(t)))
		equal(t, "dials", transport.dialed(), 3)
	})
}

// onceSaid is a log that calls fn once when a line contains the text.
type onceSaid struct {
	slog.Handler
	text string
	once *sync.Once
	fn   func()
}

func (o onceSaid) Enabled(context.Context, slog.Level) bool { return true }
func (o onceSaid) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, o.text) {
		o.once.Do(o.fn)
	}
	return nil
}

// A connection that ends just as the restart completes is replaced, too.
func TestRestartedConnectionEndsAtOnce(t *testing.T) {
	var transport *peerTransport
	o := legacy()
	o.Logger = slog.New(onceSaid{slog.DiscardHandler, "up again", new(sync.Once), func() {
		p := <-transport.peers
		_ = p.conn.Close()
		time.Sleep(time.Millisecond) // the client notices the end
	}})
	restarting(t, o, mcpclient.Restart{}, func(t *testing.T, c *mcpclient.Client, peerTransport *peerTransport, p *peer) {
		transport = peerTransport
		peerTransport.greet = func(p *peer) {
			p.greetLogging()
			if peerTransport.dialed() == 3 {
				go p.answers()
			}
		}
		_ = p.conn.Close()
		synctest.Wait()
		noError(t, c.Ping(withinMinute(t)))
		equal(t, "dials", peerTransport.dialed(), 3)
	})
}
