package mcpclient_test

import (
	"context"
	"errors"
	"net/http"
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

// closer is a callback that closes its client and then takes a second.
type closer struct {
	t      *testing.T
	client atomic.Pointer[mcpclient.Client]
	once   sync.Once
	took   chan time.Duration
	closed atomic.Bool
}

func newCloser(t *testing.T) *closer { return &closer{t: t, took: make(chan time.Duration, 1)} }

// callback closes the client the first time.
func (k *closer) callback() {
	k.once.Do(func() {
		start := time.Now()
		check.NoError(k.t, k.client.Load().Close(), "Close in a callback")
		k.took <- time.Since(start)
		time.Sleep(time.Second)
		k.closed.Store(true)
	})
}

// ended checks that Close in a callback ends everything in time. If the callback runs on a
// goroutine of the client, Done waits for it, and Close elsewhere does not.
func (k *closer) ended(c *mcpclient.Client, onClient bool, want time.Duration) {
	k.t.Helper()
	check.Equal(k.t, "Close in the callback took", <-k.took, want)
	start := time.Now()
	check.NoError(k.t, c.Close())
	check.That(k.t, !onClient || !k.closed.Load(), "Close elsewhere waited for the callback")
	check.Equal(k.t, "Err", c.Err(), mcpclient.ErrClosed)
	<-c.Done()
	check.That(k.t, !onClient || k.closed.Load(), "Done did not wait for the callback")
	within(k.t, "all that", start, time.Second)
}

// A handler or callback that runs on a goroutine of the client may close it.
func TestHandlerCloses(t *testing.T) {
	askIn := func(era, method, params string) func(_ *mcpclient.Client, p *peer, m message) {
		return func(_ *mcpclient.Client, p *peer, m message) { p.askIn(m, era, method, params) }
	}
	sampling, form := "sampling/createMessage", "elicitation/create"
	for name, test := range map[string]struct {
		opts    func(close func()) mcpclient.Options
		provoke func(c *mcpclient.Client, p *peer, m message)
	}{
		"sampling, legacy":    {func(f func()) mcpclient.Options { return closingSampler(legacy(), f) }, askIn("legacy", sampling, samplingParams)},
		"sampling, modern":    {func(f func()) mcpclient.Options { return closingSampler(modern(), f) }, askIn("modern", sampling, samplingParams)},
		"elicitation, legacy": {func(f func()) mcpclient.Options { return closingElicitor(legacy(), f) }, askIn("legacy", form, askedForm)},
		"elicitation, modern": {func(f func()) mcpclient.Options { return closingElicitor(modern(), f) }, askIn("modern", form, askedForm)},
		"OnNotification": {
			func(f func()) mcpclient.Options {
				return mcpclient.Options{OnNotification: func(*mcp.Notification) { f() }, Protocol: legacy().Protocol}
			},
			func(_ *mcpclient.Client, p *peer, _ message) { p.send(`{"method":"n"}`) },
		},
		"middleware of a subscription": {
			func(f func()) mcpclient.Options {
				return mcpclient.Options{Protocol: modern().Protocol, Middleware: []mcpclient.Middleware{changing(func(r *mcpclient.Request) {
					if r.Method == "subscriptions/listen" {
						f()
					}
				})}}
			},
			func(c *mcpclient.Client, p *peer, _ message) {
				go func() { _, _ = c.Subscribe(p.t.Context(), onTools) }()
			},
		},
		"OnRestart": {
			func(f func()) mcpclient.Options {
				return mcpclient.Options{Limits: mcpclient.Limits{Restarts: 5}, OnRestart: func(int, error) { f() }, Protocol: legacy().Protocol}
			},
			func(_ *mcpclient.Client, p *peer, _ message) { _ = p.conn.Close() },
		},
	} {
		bubble(t, name, func(t *testing.T) {
			k, transport := newCloser(t), newPeerTransport(t)
			c := connected(t, transport, test.opts(k.callback))
			k.client.Store(c)
			start := time.Now()
			called := background(func() error { return check.Err(c.CallTool(t.Context(), "a", nil)) })
			p := <-transport.peers
			test.provoke(c, p, p.next())
			err := <-called
			check.That(t, errors.Is(err, mcpclient.ErrClosed) || errors.Is(err, mcpclient.ErrConnectionLost), "the call under way: got %v", err)
			within(t, "the call under way", start, 0)
			k.ended(c, true, 0)
		})
	}
}

func closingSampler(o mcpclient.Options, f func()) mcpclient.Options {
	return samples(o, func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		f()
		return tea(), nil
	})
}

func closingElicitor(o mcpclient.Options, f func()) mcpclient.Options {
	o.Elicitation = mcp.ElicitationFunc(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		f()
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	})
	return o
}

// A callback that runs on the caller's goroutine may close the client, too.
func TestCallbackOfACallCloses(t *testing.T) {
	peerBubble(t, "progress", legacy(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		k := newCloser(t)
		k.client.Store(c)
		go p.reply(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`)
		_, err := c.CallTool(t.Context(), "a", nil, mcpclient.WithProgress(func(mcp.Progress) { k.callback() }))
		check.Is(t, err, mcpclient.ErrClosed)
		k.ended(c, false, 0)
	})
	bubble(t, "subscription", func(t *testing.T) {
		transport := newPeerTransport(t)
		c := connected(t, transport, legacy())
		k := newCloser(t)
		k.client.Store(c)
		s := subscribed(t, t.Context(), c, onTools)
		(<-transport.peers).send(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		var last error
		for _, err := range s.Changes(t.Context()) {
			if last = err; err == nil {
				k.callback()
			}
		}
		check.Is(t, last, mcpclient.ErrClosed)
		k.ended(c, false, 0)
	})
}

// A hook may close the client during the request of a call, a request of the client itself, or the last request, itself or by
// another goroutine that it waits for. The client's own goroutines wait for the hook, and Close for them, up to its timeout.
func TestHookCloses(t *testing.T) {
	for name, elsewhere := range map[string]bool{http.MethodPost: false, http.MethodGet: false, http.MethodDelete: false, "GET, elsewhere": true} {
		bubble(t, name, func(t *testing.T) {
			in, _, _ := strings.Cut(name, ",")
			o := heeding(legacy())
			s, k := new(sessionServer), newCloser(t)
			server := serve(t, s)
			c := connected(t, &mcpclient.HTTP{URL: server.URL(), Client: server.Client(), WrapTransport: watched(func(r *http.Request) {
				switch {
				case k.client.Load() == nil || r.Method != in:
				case elsewhere:
					together(1, k.callback)
				default:
					k.callback()
				}
			})}, o)
			synctest.Wait()
			k.client.Store(c)
			want := 5 * time.Second
			switch in {
			case http.MethodPost:
				want = 0
				check.Is(t, check.Err(c.CallTool(t.Context(), "a", nil)), mcpclient.ErrClosed)
			case http.MethodGet:
				close(s.says("s-1")) // the client requests the stream again
			case http.MethodDelete:
				check.NoError(t, c.Close())
			}
			k.ended(c, in != http.MethodPost, want)
		})
	}
}

// Two handlers may close each other's clients without waiting.
func TestHandlersCloseEachOthersClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var clients [2]atomic.Pointer[mcpclient.Client]
		var both sync.WaitGroup
		both.Add(2)
		var peers [2]*peer
		for i := range clients {
			c, p := connectedPeer(t, closingSampler(legacy(), func() {
				both.Done()
				both.Wait()
				check.NoError(t, clients[1-i].Load().Close())
			}))
			clients[i].Store(c)
			peers[i] = p
		}
		start := time.Now()
		for _, p := range peers {
			p.ask("1")
		}
		for i := range clients {
			<-clients[i].Load().Done()
		}
		within(t, "both", start, 0)
	})
}

// Connect waits only once after its context, however many connections have to end.
func TestConnectEndsSoonAfterItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := newPeerTransport(t)
		transport.greet = func(p *peer) { p.next(); _ = p.conn.Close() }
		start := time.Now()
		check.Is(t, check.Err(mcpclient.Connect(withTimeout(t, time.Second), slowToClose(transport), nil)), context.DeadlineExceeded)
		within(t, "Connect", start, 1500*time.Millisecond)
		time.Sleep(2 * time.Minute) // until the connections are closed
	})
}

// endsAtOnce checks that a pending call fails with ErrClosed as soon as the client is closed.
func endsAtOnce(t *testing.T, c *mcpclient.Client, wait func() error) {
	t.Helper()
	ended := background(wait)
	synctest.Wait()
	if len(ended) > 0 {
		t.Fatalf("it ended before Close: %v", <-ended)
	}
	start, closed := time.Now(), background(c.Close)
	check.Is(t, <-ended, mcpclient.ErrClosed)
	within(t, "the end", start, 0)
	check.NoError(t, <-closed)
}

// Waiting for a task or a deferred request involves no pending request: Close ends these waits, too.
func TestCloseEndsPauses(t *testing.T) {
	peerBubble(t, "task", undeclared(modern()), func(t *testing.T, c *mcpclient.Client, p *peer) {
		go p.reply(`{"jsonrpc":"2.0","id":%s,"result":{"taskId":"1","status":"working","pollIntervalMs":3600000}}`)
		endsAtOnce(t, c, func() error { return check.Err(c.Task("1", "a").Wait(t.Context())) })
	})
	peerBubble(t, "put off", modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		go p.reply(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","requestState":"s"}}`)
		endsAtOnce(t, c, func() error { return check.Err(c.CallTool(t.Context(), "a", nil)) })
	})
}

// Messages to the server that are pending do not delay the end of current calls, also of one that waits before it is repeated.
func TestCloseEndsCallsBeforeTelling(t *testing.T) {
	for _, retried := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			c := connectTo(t, serve(t, &sessionServer{instead: func(w http.ResponseWriter, r *http.Request, m message) bool {
				switch m.Method {
				case "tools/call", "notifications/cancelled":
					<-r.Context().Done()
				case "tools/list":
					w.Header().Set("Retry-After", "20")
					w.WriteHeader(http.StatusServiceUnavailable)
				default:
					return false
				}
				return true
			}}), legacy())
			cancelled(t, c)
			endsAtOnce(t, c, func() error {
				if retried {
					return listOnce(t.Context(), c)
				}
				return check.Err(c.CallTool(context.WithoutCancel(t.Context()), "b", nil))
			})
		})
	}
}

// Current calls fail at once, even one whose handler runs, while an answer to a ping is sent to a server that does not read.
func TestCloseFailsCallsThatAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := make(chan struct{})
		transport, conn := mcpclient.Pipe()
		p := &peer{t: t, conn: conn, inbox: make(chan message)} // reads only when the test does
		go p.read()
		go p.handshake()
		c := connected(t, transport, samples(modern(), func(ctx context.Context, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			close(asked)
			<-ctx.Done()
			return nil, ctx.Err()
		}))
		failed := background(func() error { return check.Err(c.CallTool(t.Context(), "asks", nil)) })
		p.asksModern()
		<-asked
		for range 200 { // more than a pipe takes
			p.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		}
		synctest.Wait()
		start, closed := time.Now(), background(c.Close)
		check.Is(t, <-failed, mcpclient.ErrClosed)
		within(t, "the call", start, 0)
		go p.each(func(message) {})
		<-closed
	})
}

// cancelled makes a call and cancels it after a second.
func cancelled(t *testing.T, c *mcpclient.Client) {
	t.Helper()
	check.Is(t, check.Err(c.CallTool(withTimeout(t, time.Second), "a", nil)), context.DeadlineExceeded)
}

// The server is notified of cancelled calls even if the client is closed right afterwards.
func TestCloseAfterCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		way, p := newPeer(t)
		go p.handshake()
		tardy := &hooked{Transport: way, send: func(ctx context.Context, conn transport.Conn, message []byte) error {
			select {
			case <-time.After(time.Second):
				return conn.Send(ctx, message)
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		c := connected(t, tardy, legacy())
		ctx := withTimeout(t, 2*time.Second)
		together(20, func() { _, _ = c.CallTool(ctx, "a", nil) })
		start := time.Now()
		check.NoError(t, c.Close())
		check.Equal(t, "Close took", time.Since(start), 2*time.Second) // two batches of concurrent sends
		told := 0
		for m := range p.inbox {
			if m.Method == "notifications/cancelled" {
				told++
			}
		}
		check.Equal(t, "the server heard of calls that were given up", told, 20)
	})
}

// It is notified of them before its session ends.
func TestCloseAfterCancelHTTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got diary
		c := connectTo(t, serve(t, &sessionServer{instead: func(_ http.ResponseWriter, r *http.Request, m message) bool {
			switch {
			case m.Method == "tools/call":
				<-r.Context().Done()
				return true
			case m.Method == "notifications/cancelled":
				time.Sleep(time.Second)
				if r.Context().Err() != nil {
					return true
				}
				fallthrough
			case r.Method == http.MethodDelete:
				got.write("%s", strings.TrimSpace(m.Method+" "+r.Header.Get("Mcp-Session-Id")))
			}
			return false
		}}), legacy())
		cancelled(t, c)
		check.NoError(t, c.Close())
		check.Same(t, "what the server heard last", got.read(), []string{"notifications/cancelled s-1", "s-1"})
	})
}

// A server that takes no more messages delays Close by 2.5 s, whatever it sends meanwhile.
func TestCloseWithStuckPeer(t *testing.T) {
	stuckPeer(t, legacy(), "notifications/cancelled", func(c *mcpclient.Client, p *peer) {
		cancelled(p.t, c)
		go func() {
			time.Sleep(time.Second)
			p.send(`{"id":1,"method":"ping"}`)
		}()
		start := time.Now()
		check.NoError(p.t, c.Close())
		check.Equal(p.t, "Close took", time.Since(start), 2500*time.Millisecond)
	})
}
