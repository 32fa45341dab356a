package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// AfterEnd runs at once, even if the transport closes slowly. Done waits for the transport, which is
// closed even without Close, and so does Close.
func TestDoneAfterTheConnection(t *testing.T) {
	for _, byItself := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			transport := newPeerTransport(t)
			c := connected(t, slowToClose(transport), legacy())
			start := time.Now()
			after, closed := make(chan time.Duration, 1), make(chan time.Duration, 1)
			c.AfterEnd(func(error) { after <- time.Since(start) })
			if byItself {
				_ = (<-transport.peers).conn.Close()
			} else {
				go func() { _ = c.Close(); closed <- time.Since(start) }()
			}
			<-c.Done()
			check.Equal(t, "Done after", time.Since(start), time.Minute)
			if !byItself {
				check.Equal(t, "Close took", <-closed, time.Minute)
			}
			check.Equal(t, "AfterEnd after", <-after, 0)
		})
	}
}

// While a handler does not return, only Done does not report the end of the connection.
func TestEndIsToldDespiteHandlers(t *testing.T) {
	for name, end := range map[string]func(c *mcpclient.Client, p *peer){
		"by itself": func(_ *mcpclient.Client, p *peer) { _ = p.conn.Close() },
		"by Close":  func(c *mcpclient.Client, _ *peer) { _ = c.Close() },
	} {
		bubble(t, name, func(t *testing.T) {
			release := make(chan bool)
			c, p := connectedPeer(t, closingSampler(legacy(), func() { <-release }))
			told := make(chan error, 1)
			c.AfterEnd(func(err error) { told <- err })
			p.ask("1")
			synctest.Wait()
			start := time.Now()
			end(c, p)
			err := <-told
			check.That(t, errors.Is(err, mcpclient.ErrClosed) && err == c.Err(), "told %v, want %v", err, c.Err())
			check.NoError(t, c.Close())
			within(t, "the end", start, 0)
			time.Sleep(time.Hour)
			check.Equal(t, "done", isDone(c), false)
			close(release)
			<-c.Done()
		})
	}
}

// The end of the connection ends the wait between two polls of a task, whether that has begun or not.
func TestConnectionEndsTheWaitForATask(t *testing.T) {
	const working = `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","taskId":"k","status":"working","createdAt":"2026-01-01T00:00:00Z","lastUpdatedAt":"2026-01-01T00:00:00Z","ttlMs":null,"pollIntervalMs":3000000}}`
	for _, late := range []bool{false, true} {
		o := modern()
		if late {
			o.Middleware = append(o.Middleware, handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
				raw, err := next(ctx, r)
				if r.Method == "tasks/get" {
					<-r.Client.Done()
				}
				return raw, err
			}))
		}
		inBubble(t, o, func(t *testing.T, c *mcpclient.Client, p *peer) {
			waiting := background(func() error { return check.Err(c.Task("k", "slow").Wait(t.Context())) })
			p.reply(working)
			synctest.Wait()
			start := time.Now()
			_ = p.conn.Close()
			check.Is(t, <-waiting, mcpclient.ErrClosed, "late", late)
			within(t, "the wait", start, 0)
		})
	}
}

// Notifications that wait for a slow observer are dropped when the client closes.
func TestCloseDropsNotifications(t *testing.T) {
	told, o := 0, legacy()
	o.OnNotification = func(*mcp.Notification) {
		told++
		time.Sleep(time.Second)
	}
	inBubble(t, o, func(t *testing.T, c *mcpclient.Client, p *peer) {
		for range 100 {
			p.send(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`)
		}
		synctest.Wait()
		start := time.Now()
		check.NoError(t, c.Close())
		within(t, "Close", start, 0)
		<-c.Done()
		within(t, "Done", start, time.Second)
		check.Equal(t, "the observer was told times", told, 1)
	})
}

// slowError takes a second to compare itself with [mcpclient.ErrClosed], the first time.
type slowError struct{ asked atomic.Bool }

func (s *slowError) Error() string { return "slow" }

func (s *slowError) Is(target error) bool {
	if target == mcpclient.ErrClosed && !s.asked.Swap(true) {
		time.Sleep(time.Second)
	}
	return false
}

// If a connection ends just before Connect returns, either Connect fails or the client has ended.
func TestConnectionEndsBeforeConnectReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := legacy()
		transport := &hooked{Transport: newPeerTransport(t), send: func(ctx context.Context, conn transport.Conn, data []byte) error {
			err := conn.Send(ctx, data)
			if strings.Contains(string(data), "notifications/initialized") {
				_ = conn.Close()
				synctest.Wait() // the client has begun to handle the end
			}
			return err
		}, recv: func(conn transport.Conn) ([]byte, error) {
			data, err := conn.Recv()
			if err != nil {
				err = new(slowError)
			}
			return data, err
		}}
		if c, err := mcpclient.Connect(t.Context(), transport, &o); err == nil {
			time.Sleep(time.Minute)
			check.That(t, c.Err() != nil, "the connection has ended, and the client has not")
			_ = c.Close()
		}
	})
}

func kept(o mcpclient.Options) mcpclient.Options {
	o.Timeouts.KeepAlive = 30 * time.Second
	return o
}

// Any answer proves that the server is alive. During a call there are no pings.
func TestKeepAlive(t *testing.T) {
	eachEra(t, func(t *testing.T, name string, opts mcpclient.Options) {
		inBubble(t, kept(opts), func(t *testing.T, c *mcpclient.Client, p *peer) {
			var asked atomic.Int32
			called := make(chan message, 1)
			go p.each(func(m message) {
				if m.Method == "tools/call" {
					called <- m
					return
				}
				p.send(`{"jsonrpc":"2.0","id":%s,%s}`, m.ID, []string{`"result":{}`, `"error":{"code":-32601,"message":"what?"}`}[asked.Add(1)%2])
			})
			time.Sleep(10*time.Minute + time.Second)
			check.That(t, asked.Load() == 20 && c.Err() == nil, "asked %d times in 10 min, and then %v", asked.Load(), c.Err())
			go func() {
				m := <-called
				time.Sleep(time.Hour)
				p.answer(m)
			}()
			callText(t, t.Context(), c, "slow", "slow", mcpclient.WithTimeout(0))
			check.That(t, asked.Load() == 20 && c.Err() == nil, "asked %d times in all during a call, and then %v", asked.Load(), c.Err())
		})
	})
}

// The connection to a server that does not answer pings is ended, or replaced.
func TestKeepAliveOfTheMute(t *testing.T) {
	eachEra(t, func(t *testing.T, name string, opts mcpclient.Options) {
		inBubble(t, kept(opts), func(t *testing.T, c *mcpclient.Client, p *peer) {
			start := time.Now()
			<-c.Done()
			check.Equal(t, "it took", time.Since(start), time.Minute)
			wantBoth(t, c.Err(), mcpclient.ErrClosed, "server does not respond: no answer to")
			_ = p.next() // the ping
			p.expect("")
			check.Is(t, c.Ping(t.Context()), mcpclient.ErrClosed, "call afterwards")
		})
		restarting(t, kept(opts), nil, func(t *testing.T, c *mcpclient.Client, transport *peerTransport, _ *peer) {
			time.Sleep(59 * time.Second)
			check.Equal(t, "dialed times before the time was over", transport.dialed(), 1)
			time.Sleep(5 * time.Second)
			go (<-transport.peers).echo()
			callText(t, t.Context(), c, "a", "a")
			check.Equal(t, "dialed times", transport.dialed(), 2)
		})
	})
}

// If the ping was sent just before a call, a server that processes requests in sequence is not considered dead.
func TestKeepAliveOfTheBusy(t *testing.T) {
	inBubble(t, kept(legacy()), func(t *testing.T, c *mcpclient.Client, p *peer) {
		go func() {
			asked, m := p.next(), p.next()
			time.Sleep(10 * time.Minute)
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, asked.ID)
			p.answer(m)
		}()
		time.Sleep(31 * time.Second)
		callText(t, t.Context(), c, "slow", "slow", mcpclient.WithTimeout(0))
	})
}

// Over HTTP there are no pings, because no connection could be lost unnoticed.
func TestKeepAliveOverHTTP(t *testing.T) {
	overHTTP(t, kept(legacy()), func(_ http.ResponseWriter, r *http.Request, m message) {
		t.Errorf("got %s %s", r.Method, m.Method)
	}, func(*testing.T, *mcpclient.Client) { time.Sleep(time.Hour) })
}
