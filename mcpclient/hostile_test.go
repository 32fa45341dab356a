package mcpclient_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
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

// TestHostilePeers bounds the time, memory and goroutines that a peer can cost its client.
func TestHostilePeers(t *testing.T) {
	million()
	for _, h := range []struct {
		name   string        // what a peer does to a client between Connect and Close
		lasts  time.Duration // by the clock of the bubble
		memory uint64        // allocated bytes, including the peer's
		meet   func(t *testing.T)
	}{
		{"handshakes of the client's own beside a large call", 0, 128 << 20, handshakesBesideLargeCall},
		{"a server that reads no more and lives on", lateEnd, 8 << 20, closedInput(0)},
		{"a server that reads no more and is to be restarted", lateEnd + 500*time.Millisecond, 8 << 20, closedInput(5)},
		{"a status 503 whose body does not end", 4 * time.Second, 8 << 20, endlessStatus(503)},
		{"a status 404 whose body does not end", time.Second, 8 << 20, endlessStatus(404)},
		{"a status 401 whose body does not end", time.Second, 8 << 20, endlessStatus(401)},
		{"a page whose body does not end", time.Second, 8 << 20, endlessPage},
		{"a refusal of server/discover whose body does not end", time.Second, 8 << 20, endlessProbe},
		{"a server with a million capabilities", 0, 192 << 20, millionCapabilities},
		{"a question with a million entries in _meta", 0, 192 << 20, millionEntries},
		{"an error that asks for a million visits", 0, 192 << 20, millionVisits},
		{"a server that sends 50 clients away for the same time", 2 * time.Second, 32 << 20, sentAway},
	} {
		bubble(t, h.name, func(t *testing.T) {
			goroutines, start := runtime.NumGoroutine(), time.Now()
			got := check.Allocated(func() { h.meet(t) })
			within(t, "the client", start, h.lasts)
			check.That(t, got <= h.memory, "got %d MiB of memory, want at most %d", got>>20, h.memory>>20)
			synctest.Wait()
			for i := 0; i < 10_000_000 && runtime.NumGoroutine() > goroutines; i++ {
				runtime.Gosched() // a goroutine that has returned counts until its thread gets a processor
			}
			left := runtime.NumGoroutine()
			check.That(t, left <= goroutines, "got %d goroutines after Close, want %d", left, goroutines)
		})
	}
}

// metBy runs f with a client that is connected to a peer by a pipe, and closes the client.
func metBy(t *testing.T, opts mcpclient.Options, f func(c *mcpclient.Client, p *peer)) {
	t.Helper()
	c, p := connectedPeer(t, opts)
	f(c, p)
	check.NoError(t, c.Close())
}

// Messages that look like the client's own handshake must not make it encode its current calls.
func handshakesBesideLargeCall(t *testing.T) {
	metBy(t, legacy(), func(c *mcpclient.Client, p *peer) {
		args := map[string]string{"text": strings.Repeat("x", 8<<20)}
		done := background(func() error { return check.Err(c.CallTool(t.Context(), "a", args)) })
		call := p.next()
		for range 500 {
			for _, method := range []string{"initialize", "server/discover"} {
				p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q}`, call.ID, method))
			}
		}
		synctest.Wait()
		p.answer(call)
		check.NoError(t, <-done)
	})
}

// lateEnd is how long a server's output stays open after the server has closed its input.
const lateEnd = 2500 * time.Millisecond

// halfClosedTransport is a transport whose first server closes its input after the handshake,
// and ends some time after its client has noticed. Later servers work.
type halfClosedTransport struct{ dials int }

// slowToEnd is a reader that ends some time after Close.
type slowToEnd struct{ *io.PipeReader }

func (l slowToEnd) SetReadDeadline(time.Time) error { return nil }

func (l slowToEnd) Close() error {
	time.AfterFunc(lateEnd, func() { _ = l.PipeReader.Close() })
	return nil
}

func (d *halfClosedTransport) Dial(ctx context.Context) (transport.Conn, error) {
	d.dials++
	first := d.dials == 1
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	var reader io.Reader = fromServer
	if first {
		reader = slowToEnd{fromServer}
	}
	go func() {
		for in := bufio.NewScanner(fromClient); in.Scan(); {
			var m message
			_ = json.Unmarshal(in.Bytes(), &m)
			switch {
			case m.Method == "initialize":
				_, _ = fmt.Fprintln(toClient, handshakeAnswer(m))
			case m.Method == "tools/call":
				_, _ = fmt.Fprintln(toClient, answerTo(m))
			case first:
				_ = fromClient.Close()
				return
			}
		}
	}()
	return (&mcpclient.IO{Reader: reader, Writer: toServer}).Dial(ctx)
}

// A call that an ending connection does not accept waits for the next connection if there will be one, and else fails at once.
func closedInput(restarts int) func(t *testing.T) {
	return func(t *testing.T) {
		opts := legacy()
		opts.Limits.Restarts = restarts
		c := connected(t, &halfClosedTransport{}, opts)
		synctest.Wait()
		first := goCall(t.Context(), c, "first")
		time.Sleep(time.Second)
		next := goCall(t.Context(), c, "next")
		synctest.Wait()
		if restarts == 0 {
			check.Require(t, len(next) == 1, "the next call waits")
			check.Is(t, (<-next).err, mcpclient.ErrClosed, "next call")
			check.Is(t, c.Notify(t.Context(), "x", nil), mcpclient.ErrClosed)
			check.Is(t, (<-first).err, mcpclient.ErrClosed, "first call")
		} else { // nothing of the first call was written
			check.Equal(t, "next call", <-next, outcome{text: "next"})
			check.Equal(t, "first call", <-first, outcome{text: "first"})
		}
		check.NoError(t, c.Close())
	}
}

// million has the members of an object, without braces.
var million = sync.OnceValue(func() string {
	b := make([]byte, 0, 14e6)
	for i := range 1_000_000 {
		b = fmt.Appendf(b, `"m%d":{},`, i)
	}
	return strings.TrimSuffix(string(b), ",")
})

func millionCapabilities(t *testing.T) {
	for _, kind := range []string{"experimental", "extensions"} {
		transport := newPeerTransport(t)
		transport.greet = func(p *peer) {
			answer := []byte(`{"id":` + string(p.next().ID) + `,"result":{"protocolVersion":"2025-11-25","serverInfo":{"name":"p","version":"1"},"capabilities":{"` + kind + `":{`)
			_ = p.conn.Send(context.Background(), append(append(answer, million()...), "}}}}"...))
		}
		opts := legacy()
		c, err := mcpclient.Connect(t.Context(), transport, &opts)
		check.That(t, c == nil, "%s: got a client", kind)
		wantBoth(t, err, mcp.ErrInvalidResult, "more than 10000 members", kind)
	}
}

func millionEntries(t *testing.T) {
	opts := samples(legacy(), answersTea)
	opts.ServerMiddleware = []mcpclient.Middleware{func(next mcpclient.Handler) mcpclient.Handler { return next }}
	metBy(t, opts, func(c *mcpclient.Client, p *peer) {
		p.send("%s", `{"id":1,"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1,"_meta":{`+million()+`}}}`)
		p.refused(mcp.CodeInvalidParams)
	})
}

func millionVisits(t *testing.T) {
	opts := legacy()
	opts.Elicitation = &visitor{}
	metBy(t, opts, func(c *mcpclient.Client, p *peer) {
		call := goCall(t.Context(), c, "a")
		p.send("%s", `{"id":`+string(p.next().ID)+`,"error":{"code":-32042,"message":"visit","data":{"elicitations":[`+strings.Repeat("{},", 4e6)+`{}]}}}`)
		check.Fails(t, (<-call).err)
	})
}

// neverEnds returns a status with a body that does not end.
func neverEnds(w http.ResponseWriter, r *http.Request, status int) {
	w.Header().Set("Content-Length", "100")
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "the reason is")
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// endlessStatus returns a test that lists the tools of a server whose first response never ends. For 401 there is another token.
func endlessStatus(status int) func(t *testing.T) {
	return func(t *testing.T) {
		var lists, asked atomic.Int32
		server := new(sessionServer)
		server.on("tools/list", func(w http.ResponseWriter, r *http.Request, _ message) bool {
			first := lists.Add(1) == 1
			if first {
				neverEnds(w, r, status)
			}
			return first
		})
		s := serve(t, server)
		defer s.Close()
		c := connected(t, &mcpclient.HTTP{
			URL: s.URL(), Client: s.Client(),
			Token: tokenFunc(func(_ context.Context, refused *transport.Refusal) (transport.Token, error) {
				if refused != nil {
					asked.Add(1)
				}
				return transport.Token{Value: fmt.Sprint("token", asked.Load())}, nil
			}),
		}, legacy())
		check.NoError(t, check.Err(mcpclient.ListPage[mcp.Tool](t.Context(), c, nil)))
		began := server.times("initialize")
		check.That(t, (began == 2) == (status == http.StatusNotFound), "got %d sessions", began)
		check.That(t, (asked.Load() == 1) == (status == http.StatusUnauthorized), "got %d calls of the hook", asked.Load())
		check.NoError(t, c.Close())
	}
}

// A response with status 200 and a wrong header fails at once.
func endlessPage(t *testing.T) {
	s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
		w.Header().Set("Content-Type", "text/html")
		neverEnds(w, r, http.StatusOK)
	})
	defer s.Close()
	c := connectTo(t, s, legacy())
	wantBoth(t, check.Err(mcpclient.ListPage[mcp.Tool](t.Context(), c, nil)), mcp.ErrInvalidResult, "the reason is")
	check.NoError(t, c.Close())
}

// Connect continues with the next revision.
func endlessProbe(t *testing.T) {
	s := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
		switch m.Method {
		case "server/discover":
			neverEnds(w, r, http.StatusNotFound)
		case "initialize":
			_, _ = io.WriteString(jsonWriter(w), handshakeAnswer(m))
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})
	defer s.Close()
	check.NoError(t, connectTo(t, s, mcpclient.Options{}).Close())
}

// Clients that were told to wait equally long do not return at the same time.
func sentAway(t *testing.T) {
	var mu sync.Mutex
	var back []time.Time
	const clients = 50
	sent := 0
	s := httpServer(t, func(w http.ResponseWriter, _ *http.Request, m message) {
		mu.Lock()
		defer mu.Unlock()
		if sent++; sent <= clients { // the first request of each
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		back = append(back, time.Now())
		_, _ = fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}`, m.ID)
	})
	defer s.Close()
	start := time.Now()
	together(clients, func() {
		o := modern()
		c, err := mcpclient.Connect(t.Context(), &mcpclient.HTTP{URL: s.URL(), Client: s.Client()}, &o)
		if check.NoError(t, err); err == nil {
			check.NoError(t, listOnce(t.Context(), c))
			check.NoError(t, c.Close())
		}
	})
	check.Require(t, len(back) == clients, "got %d of %d back", len(back), clients)
	slices.SortFunc(back, time.Time.Compare)
	from, to := back[0].Sub(start), back[clients-1].Sub(start)
	check.That(t, from >= time.Second && to-from >= 250*time.Millisecond, "got them back from %v to %v, want more than 250 ms after 1 s", from, to)
}
