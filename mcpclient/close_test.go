package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
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
func (k *closer) callback() { k.once.Do(k.close) }

func (k *closer) close() {
	c := k.client.Load()
	start := time.Now()
	check.NoError(k.t, c.Close(), "Close in a callback")
	k.took <- time.Since(start)
	time.Sleep(time.Second)
	k.closed.Store(true)
}

// ended checks that Close in a callback ends everything in time. If the callback runs on a
// goroutine of the client, Done waits for it, and Close elsewhere does not.
func (k *closer) ended(c *mcpclient.Client, onClient bool, want time.Duration) {
	k.t.Helper()
	check.Equal(k.t, "Close in the callback took", <-k.took, want)
	start := time.Now()
	check.NoError(k.t, c.Close())
	if onClient && k.closed.Load() {
		k.t.Error("Close elsewhere waited for the callback")
	}
	check.Equal(k.t, "Err", c.Err(), mcpclient.ErrClosed)
	<-c.Done()
	if onClient && !k.closed.Load() {
		k.t.Error("Done did not wait for the callback")
	}
	within(k.t, "all that", start, time.Second)
}

// A handler or callback that runs on a goroutine of the client may close it.
func TestHandlerCloses(t *testing.T) {
	ask := func(p *peer, m message, question string) {
		if m.Method == "tools/call" && question != "" {
			p.send(`{"id":%s,"result":{"resultType":"input_required","inputRequests":{"1":%s}}}`, m.ID, question)
		}
	}
	const form = `{"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}`
	for name, test := range map[string]struct {
		opts    func(close func()) mcpclient.Options
		provoke func(c *mcpclient.Client, p *peer)
	}{
		"sampling, legacy": {
			func(f func()) mcpclient.Options { return closingSampler(legacy(), f) },
			func(_ *mcpclient.Client, p *peer) { p.ask("1") },
		},
		"sampling, modern": {
			func(f func()) mcpclient.Options { return closingSampler(modern(), f) },
			func(_ *mcpclient.Client, p *peer) { ask(p, p.next(), samplingQuestion) },
		},
		"elicitation, legacy": {
			func(f func()) mcpclient.Options { return closingElicitor(legacy(), f) },
			func(_ *mcpclient.Client, p *peer) {
				p.send(`{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{}}}}`)
			},
		},
		"elicitation, modern": {
			func(f func()) mcpclient.Options { return closingElicitor(modern(), f) },
			func(_ *mcpclient.Client, p *peer) { ask(p, p.next(), form) },
		},
		"OnNotification": {
			func(f func()) mcpclient.Options {
				o := legacy()
				o.OnNotification = func(*mcp.Notification) { f() }
				return o
			},
			func(_ *mcpclient.Client, p *peer) { p.send(`{"method":"n"}`) },
		},
		"Restart.Notify": {
			func(f func()) mcpclient.Options {
				o := legacy()
				o.Restart = &mcpclient.Restart{Notify: func(int, error) { f() }}
				return o
			},
			func(_ *mcpclient.Client, p *peer) { _ = p.conn.Close() },
		},
	} {
		bubble(t, name, func(t *testing.T) {
			k := newCloser(t)
			transport := newPeerTransport(t)
			o := test.opts(k.callback)
			c := connected(t, transport, o)
			k.client.Store(c)
			start := time.Now()
			called := background(func() error { return check.Err(c.CallTool(t.Context(), "a", nil)) })
			p := <-transport.peers
			synctest.Wait()
			test.provoke(c, p)
			err := <-called
			wrong(t, !errors.Is(err, mcpclient.ErrClosed) && !errors.Is(err, mcpclient.ErrConnectionLost), "the call under way: got %v", err)
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
	t.Run("progress", func(t *testing.T) {
		inBubble(t, legacy(), func(t *testing.T, c *mcpclient.Client, p *peer) {
			k := newCloser(t)
			k.client.Store(c)
			go p.reply(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":1}}`)
			_, err := c.CallTool(t.Context(), "a", nil, mcpclient.WithProgress(func(mcp.Progress) { k.callback() }))
			check.Is(t, err, mcpclient.ErrClosed)
			k.ended(c, false, 0)
		})
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
	bubble(t, "OnInvalidTool", func(t *testing.T) {
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			_, _ = jsonWriter(w).Write([]byte(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"object","x-mcp-header":"X"}}}}]}}`))
		})
		k := newCloser(t)
		o := modern()
		o.Schemas.OnInvalidTool = func(*mcp.Tool, error) { k.callback() }
		c := connectTo(t, s, o)
		k.client.Store(c)
		_, _ = collect(c.Tools(t.Context()), toolName)
		k.ended(c, false, 0)
	})
}

// hookedHTTP runs f with a client over HTTP. Once it is connected, before sees its requests.
func hookedHTTP(t *testing.T, o mcpclient.Options, before func(k *closer, method string), f func(t *testing.T, k *closer, s *sessionServer)) {
	synctest.Test(t, func(t *testing.T) { hookedIn(t, o, before, f) })
}

// hookedIn is hookedHTTP for the current bubble.
func hookedIn(t *testing.T, o mcpclient.Options, before func(k *closer, method string), f func(t *testing.T, k *closer, s *sessionServer)) {
	s := new(sessionServer)
	server := serve(t, s)
	k := newCloser(t)
	c := connected(t, &mcpclient.HTTP{URL: server.URL(), Client: server.Client(), WrapTransport: watched(func(r *http.Request) {
		if k.client.Load() != nil {
			before(k, r.Method)
		}
	})}, o)
	synctest.Wait()
	k.client.Store(c)
	f(t, k, s)
}

// A hook may close the client during the request of a call, a request of the client itself, or
// the last request. The client's own goroutines wait for the hook, and Close for them, up to
// its timeout.
func TestHookCloses(t *testing.T) {
	for _, in := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		t.Run(in, func(t *testing.T) {
			before := func(k *closer, method string) {
				if method == in {
					k.callback()
				}
			}
			o := heeding(legacy())
			o.Timeouts.Close = 3 * time.Second
			hookedHTTP(t, o, before, func(t *testing.T, k *closer, s *sessionServer) {
				c, want := k.client.Load(), o.Timeouts.Close
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
		})
	}
}

// If a hook waits for another goroutine that closes the client, Close waits for the hook no
// longer than Options.Timeouts.Close.
func TestHookThatWaitsForClose(t *testing.T) {
	o := heeding(legacy())
	o.Timeouts.Close = 3 * time.Second
	before := func(k *closer, method string) {
		if method != http.MethodGet {
			return
		}
		start := time.Now()
		closed := make(chan bool)
		go func() { _ = k.client.Load().Close(); close(closed) }()
		<-closed
		k.took <- time.Since(start)
	}
	hookedHTTP(t, o, before, func(t *testing.T, k *closer, s *sessionServer) {
		close(s.says("s-1")) // the client requests the stream again
		check.Equal(t, "Close took", <-k.took, 3*time.Second)
	})
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

// lingering is a transport whose connections end on the first message and take a minute to close.
type lingering struct{}

func (lingering) Dial(context.Context) (mcpclient.Conn, error) {
	return &lingerer{hit: make(chan struct{})}, nil
}

type lingerer struct {
	hit chan struct{}
	die sync.Once
}

func (l *lingerer) Send(context.Context, []byte) error {
	l.die.Do(func() { close(l.hit) })
	return nil
}

func (l *lingerer) Recv() ([]byte, error) {
	<-l.hit
	return nil, io.EOF
}

func (l *lingerer) Close() error {
	time.Sleep(time.Minute)
	l.die.Do(func() { close(l.hit) })
	return nil
}

// Connect waits only once after its context, however many connections have to end.
func TestConnectEndsSoonAfterItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := withTimeout(t, time.Second)
		start := time.Now()
		check.Is(t, check.Err(mcpclient.Connect(ctx, lingering{}, nil)), context.DeadlineExceeded)
		within(t, "Connect", start, 1500*time.Millisecond)
		time.Sleep(2 * time.Minute)
	})
}

// endsAtOnce checks that a pending call fails with ErrClosed as soon as the client is closed.
func endsAtOnce(t *testing.T, c *mcpclient.Client, wait func() error) {
	t.Helper()
	type end struct {
		err error
		at  time.Time
	}
	ended := make(chan end, 1)
	go func() {
		err := wait()
		ended <- end{err, time.Now()}
	}()
	synctest.Wait()
	select {
	case e := <-ended:
		t.Fatalf("it ended before Close: %v", e.err)
	default:
	}
	start := time.Now()
	check.NoError(t, c.Close())
	e := <-ended
	took := e.at.Sub(start)
	wrong(t, took != 0 || !errors.Is(e.err, mcpclient.ErrClosed), "got %v after %v, want ErrClosed at once", e.err, took)
}

// Waiting for a task or a deferred request involves no pending request: Close ends these waits, too.
func TestCloseEndsPauses(t *testing.T) {
	t.Run("task", func(t *testing.T) {
		inBubble(t, undeclared(modern()), func(t *testing.T, c *mcpclient.Client, p *peer) {
			go p.reply(`{"jsonrpc":"2.0","id":%s,"result":{"taskId":"1","status":"working","pollIntervalMs":3600000}}`)
			endsAtOnce(t, c, func() error { return check.Err(c.Task("1", "a").Wait(t.Context())) })
		})
	})
	t.Run("put off", func(t *testing.T) {
		inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
			go p.reply(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","requestState":"s"}}`)
			endsAtOnce(t, c, func() error { return check.Err(c.CallTool(t.Context(), "a", nil)) })
		})
	})
}

// Messages to the server that are still pending do not delay the end of current calls.
func TestCloseEndsCallsBeforeTelling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := connectTo(t, serve(t, &sessionServer{instead: func(_ http.ResponseWriter, r *http.Request, m message) bool {
			waits := m.Method == "tools/call" || m.Method == "notifications/cancelled"
			if waits {
				<-r.Context().Done()
			}
			return waits
		}}), legacy())
		cancelled(t, c)
		endsAtOnce(t, c, func() error { return check.Err(c.CallTool(context.WithoutCancel(t.Context()), "b", nil)) })
	})
}

// Close may be called from anywhere, also from middleware around a subscription.
func TestMiddlewareCloses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took := make(chan time.Duration, 1)
		o := mcpclient.Options{Protocol: mcpclient.Protocol{Revision: mcp.Revision20260728}}
		o.Middleware = []mcpclient.Middleware{handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
			if r.Method == "subscriptions/listen" {
				start := time.Now()
				_ = r.Client.Close()
				took <- time.Since(start)
			}
			return next(ctx, r)
		})}
		c, _ := connectedPeer(t, o)
		_, _ = c.Subscribe(t.Context(), onTools)
		d := <-took
		wrong(t, d > time.Second, "Close took %v", d)
	})
}

// Current calls fail at once, even one whose handler is running, while an answer to a ping is
// still being sent to a server that does not read.
func TestCloseFailsCallsThatAsk(t *testing.T) {
	asked := make(chan struct{})
	o := mcpclient.Options{Protocol: mcpclient.Protocol{Revision: mcp.Revision20260728}}
	o.Sampling = mcp.SamplingFunc(func(ctx context.Context, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		close(asked)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	synctest.Test(t, func(t *testing.T) {
		asked = make(chan struct{})
		transport, conn := mcpclient.Pipe()
		p := &peer{t: t, conn: conn, inbox: make(chan message)} // reads only when the test does
		go p.read()
		go p.handshake()
		c := connected(t, transport, o)
		failed := make(chan time.Time, 1)
		go func() {
			check.Is(t, check.Err(c.CallTool(t.Context(), "asks", nil)), mcpclient.ErrClosed)
			failed <- time.Now()
		}()
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"sampling/createMessage","params":`+samplingParams+`}}}}`, p.next().ID)
		<-asked
		for range 200 { // more than a pipe takes
			p.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
		}
		synctest.Wait()
		start := time.Now()
		go func() { _ = c.Close() }()
		d := (<-failed).Sub(start)
		wrong(t, d > 0, "the call failed after %v, want at once", d)
		go func() {
			for range p.inbox {
			}
		}()
		_ = c.Close()
	})
}

// cancelled makes a call and cancels it after a second.
func cancelled(t *testing.T, c *mcpclient.Client) {
	t.Helper()
	ctx := withTimeout(t, time.Second)
	check.Is(t, check.Err(c.CallTool(ctx, "a", nil)), context.DeadlineExceeded)
}

// The server is notified of cancelled calls even if the client is closed right afterwards.
func TestCloseAfterCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport, p := newPeer(t)
		go p.handshake()
		tardy := &hooked{Transport: transport, send: func(ctx context.Context, conn mcpclient.Conn, message []byte) error {
			select {
			case <-time.After(time.Second):
				return conn.Send(ctx, message)
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		c := connected(t, tardy, legacy())
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		for range 20 {
			calls.Go(func() { _, _ = c.CallTool(ctx, "a", nil) })
		}
		time.Sleep(2 * time.Second)
		cancel()
		calls.Wait()
		start := time.Now()
		check.NoError(t, c.Close())
		if took := time.Since(start); took != 2*time.Second { // two batches of concurrent sends
			t.Errorf("Close took %v, want 2 s", took)
		}
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

// A server that takes no more messages delays Close by half of Options.Timeouts.Close, whatever
// it sends meanwhile.
func TestCloseWithStuckPeer(t *testing.T) {
	o := legacy()
	o.Timeouts.Close = 6 * time.Second
	stuckPeer(t, o, "notifications/cancelled", func(c *mcpclient.Client, p *peer) {
		cancelled(p.t, c)
		go func() {
			time.Sleep(time.Second)
			p.send(`{"id":1,"method":"ping"}`)
		}()
		start := time.Now()
		check.NoError(p.t, c.Close())
		check.Equal(p.t, "Close took", time.Since(start), 3*time.Second)
	})
}
