package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// A list that ends the connection is sent once more, not again on every later connection.
func TestRestartRepeatsOnce(t *testing.T) {
	eachEra(t, func(t *testing.T, name string, opts mcpclient.Options) {
		restarting(t, opts, nil, func(t *testing.T, c *mcpclient.Client, transport *peerTransport, p *peer) {
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
			transport.peers <- p
			go func() {
				for p := range transport.peers {
					go serve(p)
				}
			}()
			defer close(transport.peers)
			check.Is(t, listOnce(t.Context(), c), mcpclient.ErrConnectionLost)
			check.Equal(t, "tools/list", lists.Load(), 2)
			check.NoError(t, c.Ping(t.Context()), "after that")
		})
	})
}

// A connection whose handshake fails has ended before the next one is dialed.
func TestRestartEndsFailedAttempts(t *testing.T) {
	restarting(t, legacy(), nil, func(t *testing.T, c *mcpclient.Client, transport *peerTransport, p *peer) {
		refused := make(chan *peer, 1)
		transport.greet = func(p *peer) {
			if transport.dialed() > 2 {
				p.greetLogging()
				return
			}
			p.send("%s", refusal(p.next(), `-32603,"message":"not yet"`))
			refused <- p
		}
		_ = p.conn.Close()
		check.Fails(t, c.Ping(withTimeout(t, time.Minute)), "nobody answered, and the ping succeeded")
		select {
		case _, more := <-(<-refused).inbox:
			check.That(t, !more, "the client kept talking on the connection that failed")
		case <-time.After(time.Hour):
			t.Error("the connection that failed continues")
		}
	})
}

// The late end of a replaced connection does not begin a restart.
func TestRestartIgnoresLateEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		way := newPeerTransport(t)
		way.greet = func(p *peer) {
			if way.dialed() == 2 {
				p.reply(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"not yet"}}`)
				return
			}
			p.greetLogging()
			go p.answers()
		}
		o := legacy()
		o.Limits.Restarts = 5
		c := connected(t, &hooked{Transport: way, recv: func(conn transport.Conn) ([]byte, error) {
			data, err := conn.Recv()
			if err != nil {
				time.Sleep(5 * time.Second)
				err = io.ErrUnexpectedEOF // like a connection that ends by itself
			}
			return data, err
		}}, o)
		_ = (<-way.peers).conn.Close()
		time.Sleep(time.Minute)
		check.NoError(t, c.Ping(withTimeout(t, time.Minute)))
		check.Equal(t, "dials", way.dialed(), 3)
	})
}

// Middleware that ends the goroutine of a restart ends the client.
func TestRestartExits(t *testing.T) {
	o := legacy()
	o.Middleware = exitsOnSecond("initialize")
	restarting(t, o, nil, func(t *testing.T, c *mcpclient.Client, transport *peerTransport, p *peer) {
		transport.greet = func(*peer) {}
		_ = p.conn.Close()
		err := c.Ping(withTimeout(t, time.Hour))
		wantBoth(t, err, mcpclient.ErrClosed, "server closed the connection; the restart: middleware")
	})
}

// exitsOnSecond returns middleware that ends its goroutine on each request of a method but the first.
func exitsOnSecond(method string) []mcpclient.Middleware {
	var seen atomic.Bool
	return []mcpclient.Middleware{handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
		if r.Method == method && seen.Swap(true) {
			runtime.Goexit() // as t.FailNow does
		}
		return next(ctx, r)
	})}
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
	restarting(t, o, nil, func(t *testing.T, c *mcpclient.Client, peerTransport *peerTransport, p *peer) {
		transport = peerTransport
		peerTransport.greet = func(p *peer) {
			p.greetLogging()
			if peerTransport.dialed() == 3 {
				go p.answers()
			}
		}
		_ = p.conn.Close()
		synctest.Wait()
		check.NoError(t, c.Ping(withTimeout(t, time.Minute)))
		check.Equal(t, "dials", peerTransport.dialed(), 3)
	})
}

// A server that fails one attempt of a restart like a legacy server, and then returns unchanged, has not changed its era.
func TestFailedAttemptInAnotherEra(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := newPeerTransport(t)
		transport.greet = func(p *peer) {
			if transport.dialed() != 2 {
				p.handshake()
				return
			}
			p.send("%s", refusal(p.next(), `-32601,"message":"starting"`))
			p.next()
			_ = p.conn.Close()
		}
		c := connected(t, transport, mcpclient.Options{Limits: mcpclient.Limits{Restarts: 5}})
		p := <-transport.peers
		go p.acknowledge()
		s := subscribed(t, t.Context(), c, onTools)
		_ = p.conn.Close()
		<-transport.peers
		go (<-transport.peers).acknowledge()
		wantChanges(t, s, stale)
	})
}

func (p *peer) acknowledge() { p.send("%s", acknowledgement(p.next(), "")) }

// A server that returns in another era, also at the second attempt, is probed again. Subscriptions end: no more changes come.
func TestRestartInAnotherEra(t *testing.T) {
	for from, to := range map[string]string{"legacy": "modern", "modern": "legacy"} {
		for _, failures := range []int{0, 1} {
			bubble(t, fmt.Sprint(from, failures), func(t *testing.T) {
				transport := newChangeable(t, "", from)
				transport.greet = func(p *peer) {
					if n := transport.dialed(); n > 1 && n <= 1+failures {
						p.send("%s", refusal(p.next(), `-32601,"message":"no"`))
						p.next()
						_ = p.conn.Close()
						return
					}
					transport.answer(p)
				}
				c := connected(t, transport, mcpclient.Options{Limits: mcpclient.Limits{Restarts: 5}})
				p := <-transport.peers
				if from == "modern" {
					go p.acknowledge()
				}
				s := subscribed(t, t.Context(), c, onTools)
				transport.become(to)
				_ = p.conn.Close()
				synctest.Wait()
				pinged := background(func() error { return c.Ping(t.Context()) }) // while nobody knows the era
				for range 1 + failures {
					p = <-transport.peers
				}
				ping := p.next()
				check.Equal(t, "asked", ping.Method, map[string]string{"modern": "server/discover", "legacy": "ping"}[to])
				p.answer(ping)
				check.NoError(t, <-pinged)
				go p.echo()
				callText(t, t.Context(), c, "a", "a")
				check.Equal(t, "modern", c.Server().Revision == mcp.Revision20260728, to == "modern")
				wantBoth(t, end(s), mcpclient.ErrSubscriptionEnded, "another era")
			})
		}
	}
}

// A server that ends and returns updated or rolled back is used in its new era. The current call fails: it may have run.
func TestServerThatComesBackInAnotherEra(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran, transport := 0, newChangeable(t, "", "modern")
		c := connected(t, transport, mcpclient.Options{Limits: mcpclient.Limits{Restarts: 5}})
		for i := range 4 {
			p := <-transport.peers
			died := make(chan struct{})
			go func() {
				defer close(died)
				for m := range p.inbox {
					ran++
					if m.Params.Name == "die" {
						_ = p.conn.Close()
						return
					}
					p.answer(m)
				}
			}()
			callText(t, t.Context(), c, "a", "a")
			check.Equal(t, "speaks", c.Server().Revision, []string{mcp.Revision20260728, mcp.Revision20251125}[i%2])
			transport.become([]string{"legacy", "modern"}[i%2])
			_, err := c.CallTool(t.Context(), "die", nil)
			check.That(t, errors.Is(err, mcpclient.ErrConnectionLost) && !mcpclient.Unsent(err), "got %v, want %v", err, mcpclient.ErrConnectionLost)
			<-died
		}
		check.Equal(t, "calls ran", ran, 8)
	})
}
