package mcpclient_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/internal/mcptest"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// peerTransport is a transport whose connections each have their own peer.
type peerTransport struct {
	t     *testing.T
	peers chan *peer
	greet func(p *peer) // does the peer's part of the handshake

	mu    sync.Mutex
	dials int
	most  int // successful dials, 0 for any number
}

func newPeerTransport(t *testing.T) *peerTransport {
	return &peerTransport{t: t, peers: make(chan *peer, 100), greet: (*peer).handshake}
}

func (f *peerTransport) Dial(ctx context.Context) (transport.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dials++; f.most > 0 && f.dials > f.most {
		return nil, fmt.Errorf("dial %d: no such program", f.dials)
	}
	transport, conn := mcpclient.Pipe()
	p := &peer{t: f.t, conn: conn, inbox: make(chan message, 100)}
	f.t.Cleanup(func() { _ = conn.Close() })
	go p.read()
	go func() {
		f.greet(p)
		f.peers <- p
	}()
	return transport.Dial(ctx)
}

// greetLogging does the handshake of a legacy server with logging.
func (p *peer) greetLogging() { p.greetWith(mcp.Revision20251125, `{"tools":{},"logging":{}}`) }

// greetWith does the handshake of a legacy server with these capabilities.
func (p *peer) greetWith(revision, capabilities string) {
	p.reply(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":%s,"serverInfo":{"name":"peer","version":"1"}}}`, revision, capabilities)
	p.next()
}

func (f *peerTransport) dialed() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dials
}

type events struct{ diary }

// add writes the attempt, with "+" if it succeeded.
func (e *events) add(attempt int, err error) {
	end := ""
	if err == nil {
		end = "+"
	}
	e.write("%d%s", attempt, end)
}

// hooked is a transport with functions instead of methods of its connections.
type hooked struct {
	mcpclient.Transport
	send  func(ctx context.Context, conn transport.Conn, message []byte) error
	recv  func(conn transport.Conn) ([]byte, error)
	close func(conn transport.Conn) error
}

type hookedConn struct {
	transport.Conn
	hooks *hooked
}

func (h *hooked) Dial(ctx context.Context) (transport.Conn, error) {
	conn, err := h.Transport.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return hookedConn{conn, h}, nil
}

func (c hookedConn) Send(ctx context.Context, message []byte) error {
	if c.hooks.send == nil {
		return c.Conn.Send(ctx, message)
	}
	return c.hooks.send(ctx, c.Conn, message)
}

func (c hookedConn) Recv() ([]byte, error) {
	if c.hooks.recv == nil {
		return c.Conn.Recv()
	}
	return c.hooks.recv(c.Conn)
}

func (c hookedConn) Close() error {
	if c.hooks.close == nil {
		return c.Conn.Close()
	}
	return c.hooks.close(c.Conn)
}

// restarting runs f with a client that restarts, and with its first peer.
func restarting(t *testing.T, o mcpclient.Options, told func(int, error), f func(t *testing.T, c *mcpclient.Client, transport *peerTransport, p *peer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		transport := newPeerTransport(t)
		if o.Protocol.Revision == mcp.Revision20251125 {
			transport.greet = (*peer).greetLogging
		}
		o.Limits.Restarts, o.OnRestart = 5, told
		c := connected(t, transport, o)
		f(t, c, transport, <-transport.peers)
		_ = c.Close() // before its connections end
	})
}

func wantEvents(t *testing.T, e *events, want ...string) {
	t.Helper()
	check.Same(t, "attempts", e.read(), want)
}

// Current calls fail at once or are repeated, and later ones wait.
func TestRestart(t *testing.T) {
	eachEra(t, func(t *testing.T, name string, opts mcpclient.Options) {
		var told events
		restarting(t, opts, told.add, func(t *testing.T, c *mcpclient.Client, transport *peerTransport, p *peer) {
			start := time.Now()
			var calls sync.WaitGroup
			calls.Go(func() {
				_, err := c.CallTool(t.Context(), "a", nil)
				check.That(t, errors.Is(err, mcpclient.ErrConnectionLost) && !errors.Is(err, mcpclient.ErrClosed) && strings.Contains(err.Error(), "server closed the connection"), "tool call under way: got %v, want a lost connection and the cause", err)
				within(t, "the failure of the tool call", start, 0)
			})
			calls.Go(func() { wantTools(t, t.Context(), c, "a") })
			synctest.Wait()
			_ = p.conn.Close()
			synctest.Wait()
			check.NoError(t, c.Err(), "a client that continues")
			calls.Go(func() {
				callText(t, t.Context(), c, "b", "b")
				took := time.Since(start)
				check.That(t, took >= 250*time.Millisecond && took <= 500*time.Millisecond, "the restart took %v, want 250 ms to 500 ms", took)
			})
			calls.Go(func() { check.NoError(t, c.Notify(t.Context(), "acme/later", nil), "notification") })
			calls.Go(func() {
				ctx := withTimeout(t, 100*time.Millisecond)
				check.Is(t, check.Err(c.CallTool(ctx, "c", nil)), context.DeadlineExceeded, "a call that cannot wait")
			})
			p = <-transport.peers
			got := map[string]int{}
			for range 3 {
				m := p.next()
				switch got[m.Method]++; m.Method {
				case "tools/list":
					p.send(toolPage, m.ID, "a", "")
				case "tools/call":
					p.answer(m)
				}
			}
			calls.Wait()
			check.Same(t, "the new connection got", got, map[string]int{"tools/list": 1, "tools/call": 1, "acme/later": 1})
			p.quiet()
			wantEvents(t, &told, "1", "1+")
		})
	})
}

// Consecutive attempts are bounded and wait ever longer; the client ends with the last failure.
func TestRestartGivesUp(t *testing.T) {
	var told events
	restarting(t, legacy(), told.add, func(t *testing.T, c *mcpclient.Client, transport *peerTransport, p *peer) {
		transport.mu.Lock()
		transport.most = 1
		transport.mu.Unlock()
		start := time.Now()
		_ = p.conn.Close()
		synctest.Wait()
		ping := background(func() error { return c.Ping(t.Context()) })
		call := goCall(t.Context(), c, "a")
		<-c.Done()
		took, longest := time.Since(start), 15500*time.Millisecond // 0.5, 1, 2, 4 and 8 s
		check.That(t, took >= longest/2 && took <= longest, "gave up after %v, want %v to %v", took, longest/2, longest)
		for _, err := range []error{<-ping, (<-call).err, c.Err(), c.Ping(t.Context())} {
			wantBoth(t, err, mcpclient.ErrClosed, "server closed the connection; restarted 5 times in a row")
			check.Text(t, err, "dial 6: no such program")
		}
		wantEvents(t, &told, "1", "2", "3", "4", "5")
	})
}

// A server that dies after each start is given up, too. One that ran for a while gets all attempts again.
func TestRestartCountsShortLives(t *testing.T) {
	var told events
	restarting(t, legacy(), told.add, func(t *testing.T, c *mcpclient.Client, transport *peerTransport, p *peer) {
		_ = p.conn.Close()
		p = <-transport.peers
		time.Sleep(time.Minute)
		for range 5 {
			_ = p.conn.Close()
			p = <-transport.peers
			synctest.Wait()
		}
		_ = p.conn.Close()
		<-c.Done()
		check.Text(t, c.Err(), "the connection did not last after 5 restarts in a row")
		wantEvents(t, &told, "1", "1+", "1", "1+", "2", "2+", "3", "3+", "4", "4+", "5", "5+")
	})
}

// An end and the restart after it are reported either to Notify or to the log.
func TestRestartIsToldOnce(t *testing.T) {
	records := []string{"WARN", "INFO", "WARN", "INFO"}
	for name, opts := range eras() {
		var told events
		for _, notify := range []func(int, error){nil, told.add} {
			var log bytes.Buffer
			o := kept(opts)
			o.Logger = slog.New(slog.NewTextHandler(&log, nil))
			restarting(t, o, notify, func(t *testing.T, _ *mcpclient.Client, transport *peerTransport, p *peer) {
				_ = p.conn.Close()
				<-transport.peers // and no further report later
				<-transport.peers
				synctest.Wait()
				var logged []string
				for _, level := range regexp.MustCompile(`level=(\w+)`).FindAllStringSubmatch(log.String(), -1) {
					logged = append(logged, level[1])
				}
				check.That(t, (notify != nil || slices.Equal(logged, records)) && (notify == nil || logged == nil), "%s: the log has\n%s", name, log.String())
			})
		}
		check.Equal(t, name, len(told.lines), len(records))
	}
}

// A connection that ends during its handshake, or while the session is restored, is a failed attempt.
func TestRestartFails(t *testing.T) {
	for name, test := range map[string]struct {
		opts  mcpclient.Options
		level mcp.LogLevel // to restore
		begin func(p *peer)
		last  string // the request that is not answered
	}{
		"handshake, legacy": {legacy(), "", func(*peer) {}, "initialize"},
		"handshake, modern": {modern(), "", func(*peer) {}, "server/discover"},
		"restoring":         {legacy(), "error", (*peer).greetLogging, "logging/setLevel"},
	} {
		var told events
		restarting(t, test.opts, told.add, func(t *testing.T, c *mcpclient.Client, transport *peerTransport, p *peer) {
			if test.level != "" {
				go p.reply(`{"jsonrpc":"2.0","id":%s,"result":{}}`)
				check.Must(t, c.SetLogLevel(t.Context(), test.level))
			}
			deaths := 2
			transport.greet = func(p *peer) {
				test.begin(p)
				m := p.expect(test.last)
				if deaths > 0 {
					deaths--
					_ = p.conn.Close()
					return
				}
				if p.send("%s", handshakeAnswer(m)); m.Method == "initialize" {
					p.next()
				}
			}
			_ = p.conn.Close()
			for range 3 {
				p = <-transport.peers
			}
			go p.echo()
			callText(t, t.Context(), c, "a", "a")
			wantEvents(t, &told, "1", "2", "3", "3+")
			check.Equal(t, name+": dials", transport.dialed(), 4)
		})
	}
}

// slowToClose returns a transport whose connections take a minute to close.
func slowToClose(way mcpclient.Transport) mcpclient.Transport {
	return &hooked{Transport: way, close: func(conn transport.Conn) error {
		time.Sleep(time.Minute)
		return conn.Close()
	}}
}

// listens is a program that prints a line and waits.
func listens(t *testing.T) *mcpclient.IO {
	fromServer, said := io.Pipe()
	t.Cleanup(func() { _ = said.Close() })
	go func() { _, _ = io.WriteString(said, "Listening on port 8080\n") }()
	return &mcpclient.IO{Reader: fromServer, Writer: io.Discard}
}

// The error for a program that prints a line and waits differs from that for a silent one, at first and after a restart.
func TestMuteServer(t *testing.T) {
	said := `the last: "Listening on port 8080"`
	synctest.Test(t, func(t *testing.T) {
		wantBoth(t, check.Err(mcpclient.Connect(withTimeout(t, time.Minute), listens(t), nil)), context.DeadlineExceeded, said)
	})
	synctest.Test(t, func(t *testing.T) {
		o := modern()
		o.Limits.Restarts = 5
		way := newPeerTransport(t)
		c := connected(t, dialer(func(ctx context.Context) (transport.Conn, error) {
			if way.dialed() == 0 {
				return way.Dial(ctx)
			}
			return listens(t).Dial(ctx)
		}), o)
		_ = (<-way.peers).conn.Close()
		<-c.Done()
		check.Text(t, c.Err(), said)
	})
}

// A call that waits for the restart returns at Close: during the wait before an attempt, while the old connection
// is still closing, and even if the server does not answer the handshake.
func TestRestartClosed(t *testing.T) {
	for name, test := range map[string]struct {
		begins bool          // the handshake
		took   time.Duration // that the end of a connection takes
	}{
		"wait":           {false, 0},
		"old connection": {false, time.Minute},
		"handshake":      {true, 0},
	} {
		bubble(t, name, func(t *testing.T) {
			peers, o := newPeerTransport(t), legacy()
			o.Limits.Restarts = 5
			c := connected(t, &hooked{Transport: peers, close: func(conn transport.Conn) error {
				time.Sleep(test.took)
				return conn.Close()
			}}, o)
			peers.greet = func(p *peer) { p.next() }
			_ = (<-peers.peers).conn.Close()
			if test.begins {
				<-peers.peers
			}
			synctest.Wait()
			waiting := background(func() error { return c.Ping(t.Context()) })
			synctest.Wait()
			start, closed := time.Now(), background(c.Close)
			check.Is(t, <-waiting, mcpclient.ErrClosed)
			within(t, "the end of the wait", start, 0)
			check.NoError(t, <-closed)
			within(t, "Close", start, test.took)
			<-c.Done()
		})
	}
}

// The end of a connection cancels the handlers of its requests, and their answers are not sent on the next one.
func TestRestartEndsHandlers(t *testing.T) {
	var asked chan bool // created in the bubble
	o := samples(legacy(), func(ctx context.Context, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		asked <- true
		<-ctx.Done()
		asked <- false
		return tea(), nil
	})
	synctest.Test(t, func(t *testing.T) {
		asked = make(chan bool)
		transport := newPeerTransport(t)
		o.Limits.Restarts = 5
		connected(t, transport, o)
		p := <-transport.peers
		p.ask("1")
		<-asked
		start := time.Now()
		_ = p.conn.Close()
		<-asked
		within(t, "the end of the handler", start, 0)
		(<-transport.peers).quiet()
	})
}

// A transport that can only be dialed once is not dialed again.
func TestRestartOfAPipe(t *testing.T) {
	var told events
	o := legacy()
	o.Limits.Restarts, o.OnRestart = 5, told.add
	inBubble(t, o, func(t *testing.T, c *mcpclient.Client, p *peer) {
		_ = p.conn.Close()
		<-c.Done()
		wantBoth(t, c.Err(), mcpclient.ErrClosed, "dialed only once")
		wantEvents(t, &told, "1")
	})
}

// OnRestart may use the client, whose calls wait.
func TestRestartCallbackCalls(t *testing.T) {
	var c *mcpclient.Client
	pinged := make(chan error, 2)
	ping := func(int, error) { pinged <- c.Ping(context.Background()) }
	restarting(t, legacy(), ping, func(t *testing.T, client *mcpclient.Client, transport *peerTransport, p *peer) {
		c = client
		_ = p.conn.Close()
		p = <-transport.peers
		for range 2 {
			p.reply(`{"jsonrpc":"2.0","id":%s,"result":{}}`)
			check.NoError(t, <-pinged)
		}
	})
}

// The log level and subscriptions are restored, and subscriptions report that changes may be missing.
func TestRestartRestores(t *testing.T) {
	inEras(t, func(t *testing.T, era string, o mcpclient.Options) {
		o.ClientInfo = mcp.Implementation{Name: "test", Version: "1"}
		o.Limits.Restarts = 5
		c := connected(t, mcptest.Read(t, "testdata/restart_"+era+".txtar"), o)
		defer func() { synctest.Wait(); _ = c.Close() }()
		if era == "legacy" {
			check.Must(t, c.SetLogLevel(t.Context(), "error"))
		}
		s := subscribed(t, t.Context(), c, mcp.SubscriptionFilter{ToolsListChanged: true, Resources: []string{"file:///a"}})
		wantRead(t, t.Context(), c, "one", "file:///a")
		check.Is(t, check.Err(c.CallTool(t.Context(), "die", nil)), mcpclient.ErrConnectionLost)
		wantChanges(t, s, stale)
		wantRead(t, t.Context(), c, "two", "file:///a")
		wantChanges(t, s, toolsChanged)
	})
}

// answerCall does the server's part of the handshake, and answers one call.
func (s *oldServer) answerCall() {
	s.shake()
	s.say <- answerTo(<-s.got)
}

// An event stream of HTTP+SSE that has ended is opened again, even if HTTP fell back to it, and with the previous token.
func TestRestartOverSSE(t *testing.T) {
	for name, recipeOf := range map[string]func(string, *http.Client) *mcpclient.HTTP{"direct": direct, "fallback": fallingBack} {
		bubble(t, name, func(t *testing.T) {
			first, second := newOldServer(t), newOldServer(t)
			var current atomic.Pointer[oldServer]
			current.Store(first)
			server := served(t, func(w http.ResponseWriter, r *http.Request, _ message) {
				s, got := current.Load(), r.Header.Get("Authorization")
				check.That(t, s != second || got == "Bearer token", "%s %s: got authorization %q", r.Method, r.URL.Path, got)
				s.ServeHTTP(w, r)
			})
			go first.shake()
			o := mcpclient.Options{Limits: mcpclient.Limits{Restarts: 5}}
			if name == "direct" {
				o.Protocol.Revision = mcp.Revision20241105
			}
			token := new(transport.Bearer)
			recipe := recipeOf(server.URL()+"/sse", server.Client())
			recipe.Token = token
			c := connected(t, recipe, o)
			check.Must(t, token.ChangeUser("token"))
			synctest.Wait()
			current.Store(second)
			close(first.say)
			<-first.left
			synctest.Wait()
			synctest.Wait() // until its end is noticed
			go second.answerCall()
			callText(t, t.Context(), c, "a", "a")
		})
	}
}
