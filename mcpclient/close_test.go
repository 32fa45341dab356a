package mcpclient_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
	noError(k.t, c.Close(), "Close in a callback")
	k.took <- time.Since(start)
	time.Sleep(time.Second)
	k.closed.Store(true)
}

// ended checks that Close in a callback ends everything in time. If the callback runs on a
// goroutine of the client, Done waits for it, and Close elsewhere does not.
func (k *closer) ended(c *mcpclient.Client, onClient bool, want time.Duration) {
	k.t.Helper()
	equal(k.t, "Close in the callback took", <-k.took, want)
	start := time.Now()
	noError(k.t, c.Close())
	if onClient && k.closed.Load() {
		k.t.Error("Close elsewhere waited for the callback")
	}
	equal(k.t, "Err", c.Err(), mcpclient.ErrClosed)
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
			called := background(func() error { return errOf(c.CallTool(t.Context(), "a", nil)) })
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
			wantIs(t, err, mcpclient.ErrClosed)
			k.ended(c, false, 0)
		})
	})
	bubble(t, "subscription", func(t *testing.T) {
		transport := newPeerTransport(t)
		transport.greet = func(p *peer) {
			p.reply(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"peer","version":"1"}}}`)
		}
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
		wantIs(t, last, mcpclient.ErrClosed)
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

// hooked runs f with a client over HTTP. Once it is connected, before sees its requests.
func hooked(t *testing.T, o mcpclient.Options, before func(k *closer, method string), f func(t *testing.T, k *closer, s *sessionServer)) {
	synctest.Test(t, func(t *testing.T) { hookedIn(t, o, before, f) })
}

// hookedIn is hooked for the current bubble.
func hookedIn(t *testing.T, o mcpclient.Options, before func(k *closer, method string), f func(t *testing.T, k *closer, s *sessionServer)) {
	s := new(sessionServer)
	server := serve(t, s)
	k := newCloser(t)
	c := connected(t, &mcpclient.HTTP{URL: server.URL(), Client: server.Client(), RoundTripper: watched(func(r *http.Request) {
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
			hooked(t, o, before, func(t *testing.T, k *closer, s *sessionServer) {
				c, want := k.client.Load(), o.Timeouts.Close
				switch in {
				case http.MethodPost:
					want = 0
					wantIs(t, errOf(c.CallTool(t.Context(), "a", nil)), mcpclient.ErrClosed)
				case http.MethodGet:
					close(s.says("s-1")) // the client requests the stream again
				case http.MethodDelete:
					noError(t, c.Close())
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
	hooked(t, o, before, func(t *testing.T, k *closer, s *sessionServer) {
		close(s.says("s-1")) // the client requests the stream again
		equal(t, "Close took", <-k.took, 3*time.Second)
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
				noError(t, clients[1-i].Load().Close())
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

// lingering is a transport whose connections end on the first message and take a minute to
// close.
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
		wantIs(t, errOf(mcpclient.Connect(ctx, lingering{}, nil)), context.DeadlineExceeded)
		within(t, "Connect", start, 1500*time.Millisecond)
		time.Sleep(2 * time.Minute)
	})
}
