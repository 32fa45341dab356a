package mcpclient_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
)

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
			go func() {
				for m := range p.inbox {
					switch n := asked.Load(); {
					case m.Method == "tools/call":
						called <- m
						continue
					case n%2 == 0:
						p.send(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"what?"}}`, m.ID)
					default:
						p.send(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
					}
					asked.Add(1)
				}
			}()
			time.Sleep(10*time.Minute + time.Second)
			if n := asked.Load(); n != 20 || c.Err() != nil {
				t.Errorf("asked %d times in 10 min, and then %v", n, c.Err())
			}
			go func() {
				m := <-called
				time.Sleep(time.Hour)
				p.answer(m)
			}()
			callText(t, t.Context(), c, "slow", "slow", mcpclient.WithTimeout(0))
			if n := asked.Load(); n != 20 || c.Err() != nil {
				t.Errorf("asked %d times in all during a call, and then %v", n, c.Err())
			}
		})
	})
}

// The connection to a server that does not answer pings is ended, or replaced.
func TestKeepAliveOfTheMute(t *testing.T) {
	eachEra(t, func(t *testing.T, name string, opts mcpclient.Options) {
		inBubble(t, kept(opts), func(t *testing.T, c *mcpclient.Client, p *peer) {
			start := time.Now()
			<-c.Done()
			equal(t, "it took", time.Since(start), time.Minute)
			wantBoth(t, c.Err(), mcpclient.ErrClosed, "no sign of life: no answer to")
			_ = p.next() // the ping
			p.expect("")
			wantIs(t, c.Ping(t.Context()), mcpclient.ErrClosed, "call afterwards")
		})
		restarting(t, kept(opts), mcpclient.Restart{}, func(t *testing.T, c *mcpclient.Client, transport *peerTransport, _ *peer) {
			time.Sleep(59 * time.Second)
			equal(t, "dialed times before the time was over", transport.dialed(), 1)
			time.Sleep(5 * time.Second)
			go (<-transport.peers).echo()
			callText(t, t.Context(), c, "a", "a")
			equal(t, "dialed times", transport.dialed(), 2)
		})
	})
}

// If the ping was sent just before a call, a server that processes requests in sequence is not
// considered dead.
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
	synctest.Test(t, func(t *testing.T) {
		s := httpServer(t, func(_ http.ResponseWriter, r *http.Request, m message) {
			t.Errorf("got %s %s", r.Method, m.Method)
		})
		connectTo(t, s, kept(legacy()))
		time.Sleep(time.Hour)
	})
}
