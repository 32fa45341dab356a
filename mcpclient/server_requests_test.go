package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// blocks installs a sampling handler that runs until release is closed or its context ends.
func blocks(o mcpclient.Options, release chan bool) (opts mcpclient.Options, running *atomic.Int32) {
	running = new(atomic.Int32)
	return samples(o, func(ctx context.Context, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		running.Add(1)
		defer running.Add(-1)
		select {
		case <-release:
			return tea(), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}), running
}

// handlers checks how many handlers run.
func (p *peer) handlers(running *atomic.Int32, want int32) {
	p.t.Helper()
	synctest.Wait()
	check.Equal(p.t, "handlers", running.Load(), want)
}

func TestMaxServerRequests(t *testing.T) {
	opts, running := blocks(legacy(), nil)
	opts.Limits.ServerRequests = 2
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		for i := range 3 {
			p.ask(fmt.Sprint(i))
		}
		m := p.next()
		check.That(t, string(m.ID) == "2" && m.Error != nil && m.Error.Code == mcp.CodeInternalError && strings.Contains(m.Error.Message, "busy: 2 requests"),
			"got %+v, want a refusal of the third request", m)
		p.handlers(running, 2)
		p.send(`{"method":"notifications/cancelled","params":{"requestId":0}}`)
		p.handlers(running, 1)
		p.ask("3")
		p.handlers(running, 2)
		p.quiet()
	})
}

// A second request with an id that is being answered is refused and occupies no slot, because the
// first handler could no longer be cancelled. An id that the server cancelled is free.
func TestRequestIDUsedTwice(t *testing.T) {
	opts, running := blocks(legacy(), nil)
	opts.Limits.ServerRequests = 2
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		for range 4 {
			p.ask("1")
		}
		for range 3 {
			p.refused(mcp.CodeInvalidRequest)
		}
		p.ask("2")
		p.handlers(running, 2)
		p.send(`{"method":"notifications/cancelled","params":{"requestId":1}}`)
		p.handlers(running, 1)
		p.ask("1")
		p.handlers(running, 2)
		p.send(`{"method":"notifications/cancelled","params":{"requestId":1}}`)
		p.handlers(running, 1)
		p.quiet()
	})
}

// A waiting notification does not keep its batch in memory.
func TestWaitingNotificationsAreSmall(t *testing.T) {
	var block chan struct{}
	opts := modern()
	opts.OnNotification = func(*mcp.Notification) { <-block }
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		block = make(chan struct{})
		defer close(block)
		const n, size = 20, 4 << 20
		before := inUse()
		for range n {
			p.send(`[{"method":"notifications/x","params":{}},"` + strings.Repeat("x", size) + `"]`)
		}
		got := inUse() - before
		check.That(t, got <= 2*size, "got %d bytes for %d notifications, want less than that of two batches, %d", got, n, 2*size)
	})
}

// A flood of requests occupies no further goroutines and does not delay current calls.
func TestFloodOfRequests(t *testing.T) {
	const flood = 10_000
	opts, running := blocks(legacy(), nil)
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		call := goCall(t.Context(), c, "a")
		m, before := p.next(), runtime.NumGoroutine()
		for i := range flood {
			p.ask(fmt.Sprint(i))
		}
		p.answer(m)
		check.Equal(t, "call", <-call, outcome{text: "a"})
		n := runtime.NumGoroutine() - before
		check.That(t, n <= 100, "got %d more goroutines", n)
		p.handlers(running, 16)
		refused := 0
		for len(p.inbox) > 0 {
			m := p.next()
			check.That(t, m.Error != nil, "got %+v, want a refusal", m)
			refused++
		}
		check.That(t, refused != 0 && refused <= flood-16, "got %d refusals of %d requests", refused, flood)
	})
}

// A flood of requests in one response is bounded, too, and the handlers end with the call.
func TestFloodOfRequestsInAResponse(t *testing.T) {
	const flood = 2_000
	opts, running := blocks(legacy(), nil)
	synctest.Test(t, func(t *testing.T) {
		var most, refused atomic.Int32
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			if m.Method != "tools/call" {
				if m.Error != nil {
					refused.Add(1)
				}
				w.WriteHeader(http.StatusAccepted)
				return
			}
			before, say := runtime.NumGoroutine(), stream(w)
			for i := range flood {
				say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"sampling/createMessage","params":%s}`, i, samplingParams))
				most.Store(max(most.Load(), int32(runtime.NumGoroutine()-before)))
			}
			say(answerTo(m))
		})
		callText(t, t.Context(), connectTo(t, s, opts), "a", "a")
		synctest.Wait()
		check.Equal(t, "handlers after the call", running.Load(), 0)
		check.That(t, most.Load() <= 500, "got %d more goroutines", most.Load()) // each of the 33 connections has goroutines at both ends
		check.That(t, refused.Load() != 0, "got no refusal of %d requests", flood)
	})
}

// The number of messages without an answer is bounded, even if the server does not read.
func TestServerThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport, conn := mcpclient.Pipe()
		go func() {
			_, _ = conn.Recv()
			_ = conn.Send(t.Context(), []byte(handshakeAnswer(message{ID: []byte("1"), Method: "initialize"})))
			_, _ = conn.Recv()
		}()
		c := connected(t, transport, legacy())
		before := runtime.NumGoroutine()
		for i := range 10_000 {
			check.Must(t, conn.Send(t.Context(), fmt.Appendf(nil, `{"id":%d,"method":"ping"}`, i)))
		}
		synctest.Wait()
		n := runtime.NumGoroutine() - before
		check.That(t, n <= 50, "got %d more goroutines", n)
		start := time.Now()
		check.Fails(t, c.Ping(withTimeout(t, time.Second)), "ping")
		within(t, "a call", start, time.Second)
		check.NoError(t, c.Close())
		within(t, "the call and Close", start, 1500*time.Millisecond)
	})
}

func TestMaxNotifications(t *testing.T) {
	for size, want := range map[int]struct{ sent, kept, second int }{
		0:        {1030, 1025, 6},
		12 << 20: {6, 3, 4}, // two large ones fit in 32 MiB
	} {
		var got diary
		release, opts := make(chan bool), legacy()
		opts.OnNotification = func(n *mcp.Notification) {
			<-release
			got.write("%s", strings.ReplaceAll(string(n.Params), " ", ""))
		}
		inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
			release = make(chan bool)
			for i := range want.sent {
				p.send(`{"method":"n","params":{"i":%d%s}}`, i, strings.Repeat(" ", size))
				synctest.Wait()
			}
			close(release)
			kept := got.read()
			check.That(t, len(kept) == want.kept && kept[0] == `{"i":0}` && kept[1] == fmt.Sprintf(`{"i":%d}`, want.second),
				"messages of %d bytes: got %d, the first two %q, want %d, the second %d", size, len(kept), kept[:2], want.kept, want.second)
		})
	}
}

func TestProgressIsBounded(t *testing.T) {
	inBubble(t, legacy(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		var got []float64
		release := make(chan bool)
		go callText(t, t.Context(), c, "a", "a", mcpclient.WithProgress(func(p mcp.Progress) {
			<-release
			got = append(got, p.Progress)
		}))
		m := p.next()
		p.send(`{"method":"notifications/progress","params":{"progressToken":%s,"progress":9,"message":%q}}`, m.ID, strings.Repeat("x", 20<<10))
		for i := range 1030 {
			p.send(`{"method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, m.ID, i)
			synctest.Wait()
		}
		p.answer(m)
		close(release)
		synctest.Wait()
		check.That(t, len(got) == 1025 && got[0] == 0 && got[1] == 6, "got %d notices, the first %v, want the first and the last 1,024", len(got), got[:2])
	})
}

func TestLongID(t *testing.T) {
	inBubble(t, asks(legacy()), func(t *testing.T, c *mcpclient.Client, p *peer) {
		p.ask(`"` + strings.Repeat("x", 2000) + `"`)
		p.send(`{"method":"ping","id":"%s"}`, strings.Repeat("x", 2000))
		p.quiet()
	})
}

// The questions of all calls of a modern client share one bound. Further ones wait, except those of a handler's own calls.
func TestQuestionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan bool)
		opts, running := blocks(modern(), release)
		opts.Limits.ServerRequests = 3
		c, p := connectedPeer(t, opts)
		for range 3 {
			go callText(t, t.Context(), c, "a", "a")
		}
		for range 3 {
			p.reply(`{"id":%s,"result":{"resultType":"input_required","inputRequests":{"1":%s,"2":%[2]s}}}`, samplingQuestion)
		}
		p.handlers(running, 3)
		go p.echo()
		close(release)
		synctest.Wait() // for the answers
	})
}

// Questions that wait for a free slot end with the client, and with their call.
func TestQuestionsThatWaitForOthersEnd(t *testing.T) {
	for _, want := range []error{mcpclient.ErrClosed, context.Canceled} {
		opts, running := blocks(modern(), nil)
		opts.Limits.ServerRequests = 1
		inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			goCall(t.Context(), c, "first")
			p.asksModern()
			synctest.Wait()
			second := goCall(ctx, c, "second")
			p.asksModern()
			p.handlers(running, 1)
			if want == context.Canceled {
				cancel()
			} else {
				_ = c.Close()
			}
			check.Is(t, (<-second).err, want)
		})
	}
}

// asksModern answers the next request with a question.
func (p *peer) asksModern() {
	p.reply(`{"id":%s,"result":{"resultType":"input_required","inputRequests":{"1":%s}}}`, samplingQuestion)
}

const samplingQuestion = `{"method":"sampling/createMessage","params":` + samplingParams + `}`

// A handler may make a call that asks a question even if it holds the only slot.
func TestQuestionWithinQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := modern()
		opts.Limits.ServerRequests = 1
		var client atomic.Pointer[mcpclient.Client]
		depth := 0
		opts = samples(opts, func(ctx context.Context, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			if depth++; depth < 3 {
				callText(t, ctx, client.Load(), "a", "a")
			}
			return tea(), nil
		})
		c, p := connectedPeer(t, opts)
		client.Store(c)
		go func() {
			for range 3 {
				p.asksModern()
			}
			p.echo()
		}()
		callText(t, t.Context(), c, "a", "a")
		check.Equal(t, "questions", depth, 3)
	})
}

// Cursors are sent with requests and event ids in headers, so their sizes are bounded.
func TestCursorIsBounded(t *testing.T) {
	inBubble(t, legacy(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		var size atomic.Int64
		size.Store(64 << 10)
		go p.each(func(m message) {
			p.send(`{"id":%s,"result":{"tools":[],"nextCursor":"%s"}}`, m.ID, strings.Repeat("x", int(size.Load())))
		})
		check.NoError(t, check.Err(mcpclient.ListPage[mcp.Tool](t.Context(), c, nil)), "at the bound")
		for _, err := range c.Tools(t.Context()) {
			check.Text(t, err, "list does not end: cursor", "the same again")
		}
		size.Add(1)
		for _, err := range c.Tools(t.Context()) {
			check.That(t, errors.Is(err, mcp.ErrInvalidResult) && strings.Contains(err.Error(), "nextCursor: 65537 bytes") && len(err.Error()) <= 4<<10,
				"over the bound: got %.200v, want an error about its size", err)
		}
	})
}

func TestEventIDIsBounded(t *testing.T) {
	var resumed []string
	h := func(w http.ResponseWriter, r *http.Request, m message) {
		last := r.Header.Get("Last-Event-Id")
		switch {
		case r.Method == http.MethodGet && last == "":
			w.WriteHeader(http.StatusMethodNotAllowed) // no standalone stream
			return
		case r.Method == http.MethodGet:
			resumed = append(resumed, last)
			stream(w)(fmt.Sprintf(`{"id":%s,"error":{"code":1,"message":"end"}}`, "2"))
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "id: %s\ndata:\n\nid: %s\ndata:\n\nid: c\x01\ndata:\n\n", strings.Repeat("a", 1<<10), strings.Repeat("b", 1<<10+1))
	}
	synctest.Test(t, func(t *testing.T) {
		_, _ = connectTo(t, httpServer(t, h), legacy()).CallTool(t.Context(), "a", nil)
		check.That(t, len(resumed) == 1 && resumed[0] == strings.Repeat("a", 1<<10),
			"got %d connections after %.20q, want one after the id that fits", len(resumed), resumed)
	})
}

// A handler of one client that calls another holds no slot of the other.
func TestQuestionWithinOtherClientIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts, running := blocks(modern(), nil)
		opts.Limits.ServerRequests = 2
		b, pb := connectedPeer(t, opts)
		a, pa := connectedPeer(t, samples(modern(), func(ctx context.Context, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			return nil, check.Err(b.CallTool(ctx, "b", nil))
		}))
		for range 4 {
			goCall(t.Context(), a, "a")
			pa.asksModern()
			pb.asksModern()
		}
		pb.handlers(running, 2)
		_, _ = a.Close(), b.Close()
	})
}

// A stream that cannot be opened is requested again after 1 to 30 s.
func TestWaitsForStream(t *testing.T) {
	var tries []time.Time
	overModernHTTP(t, func(w http.ResponseWriter, r *http.Request, m message) {
		if tries = append(tries, time.Now()); len(tries) > 1 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		stream(w)(acknowledgement(m, ""))
	}, func(t *testing.T, c *mcpclient.Client) {
		s := subscribed(t, t.Context(), c, onTools)
		time.Sleep(10 * time.Minute)
		check.NoError(t, s.Close())
		longest := time.Second
		for i := 1; i < len(tries); i++ {
			wait := tries[i].Sub(tries[i-1])
			check.That(t, wait >= longest/2 && wait <= longest, "try %d came after %v, want half of %v to all of it", i, wait, longest)
			longest = min(2*longest, 30*time.Second)
		}
		check.That(t, len(tries) >= 20 && len(tries) <= 50, "got %d tries in 10 min", len(tries))
	})
}

// At most 1,024 results are cached, however small.
func TestCachedResultsAreBounded(t *testing.T) {
	inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		asked := 0
		go p.each(func(m message) {
			asked++
			p.send(`{"id":%s,"result":{"tools":[],"ttlMs":60000}}`, m.ID)
		})
		read := func(n int) {
			check.NoError(t, check.Err(mcpclient.ListPage[mcp.Tool](t.Context(), c, new(fmt.Sprint(n)))))
		}
		for n := range 1025 {
			read(n)
		}
		read(1)
		check.Equal(t, "asked times for what is kept", asked, 1025)
		read(0)
		check.Equal(t, "asked times", asked, 1026)
	})
}

// A server cannot fill the log with violations of the protocol.
func TestBreachesInLog(t *testing.T) {
	for name, test := range map[string]struct {
		opts   mcpclient.Options
		breach string
	}{
		"unreadable":           {legacy(), `{"broken`},
		"noise in a batch":     {legacy(), `[1]`},
		"an error without id":  {legacy(), `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`},
		"a long id":            {legacy(), `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 2000) + `","method":"ping"}`},
		"an id never sent":     {legacy(), `{"jsonrpc":"2.0","id":99,"result":{}}`},
		"an id of another":     {modern(), `{"jsonrpc":"2.0","id":"x","result":{}}`},
		"a request":            {modern(), `{"jsonrpc":"2.0","id":1,"method":"ping"}`},
		"without subscription": {modern(), `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`},
		"large progress":       {legacy(), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"message":"` + strings.Repeat("a", 16<<10) + `"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			wantBoundedLog(t, test.opts, func(_ *testing.T, _ *mcpclient.Client, p *peer) {
				for range 1000 {
					p.send("%s", test.breach)
				}
			})
		})
	}
	for name, question := range map[string]string{
		"a handler that fails": `"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}`,
		"a malformed form":     `"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"array"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			wantBoundedLog(t, samples(asks(legacy()), failing), func(_ *testing.T, _ *mcpclient.Client, p *peer) {
				for i := range 1000 {
					p.send(`{"jsonrpc":"2.0","id":%d,%s}`, i, question)
					p.next()
				}
			})
		})
	}
	t.Run("a quoted id", func(t *testing.T) {
		wantBoundedLog(t, legacy(), func(t *testing.T, c *mcpclient.Client, p *peer) {
			go p.replyAll(`{"jsonrpc":"2.0","id":"%s","result":{}}`)
			for range 1000 {
				check.Must(t, c.Ping(t.Context()))
			}
		})
	})
}

// A list of invalid tools cannot fill the log either.
func TestInvalidToolsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tools := strings.Repeat(`{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"object","x-mcp-header":"X"}}}},`, 1000)
		s := httpServer(t, func(w http.ResponseWriter, _ *http.Request, m message) {
			fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`, m.ID, strings.TrimSuffix(tools, ","))
		})
		o, log := logs(undeclared(modern()), slog.LevelWarn)
		wantTools(t, t.Context(), connectTo(t, s, o), "")
		check.Equal(t, "lines about 1,000 tools", strings.Count(log.String(), "\n"), 100)
	})
}

// The id of a session is sent with every request, so its size is bounded.
func TestSessionIDIsBounded(t *testing.T) {
	for size, fits := range map[int]bool{8 << 10: true, 8<<10 + 1: false} {
		synctest.Test(t, func(t *testing.T) {
			server := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
				if m.Method != "initialize" {
					w.WriteHeader(http.StatusAccepted)
					return
				}
				w.Header().Set("Mcp-Session-Id", strings.Repeat("s", size))
				_, _ = io.WriteString(jsonWriter(w), handshakeAnswer(m))
			})
			err := connectError(t, &mcpclient.HTTP{URL: server.URL(), Client: server.Client()}, legacy())
			check.That(t, (!fits || err == nil) && (fits || errors.Is(err, mcp.ErrInvalidResult)), "an id of %d bytes: got %v", size, err)
		})
	}
}

// wantBoundedLog checks that violations are logged 100 times, and that the last line says that no more follow.
func wantBoundedLog(t *testing.T, opts mcpclient.Options, breaches func(t *testing.T, c *mcpclient.Client, p *peer)) {
	t.Helper()
	opts, log := logs(opts, slog.LevelWarn)
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		breaches(t, c, p)
		synctest.Wait()
		check.Equal(t, "lines about 1,000 messages", strings.Count(log.String(), "\n"), 100)
		check.Contains(t, "the end of the log", log.String(), "later ones on this connection are logged at Debug")
	})
}

// The client keeps what the server says in the handshake, so its size is bounded.
func TestHandshakeIsBounded(t *testing.T) {
	icons := `[` + strings.Repeat(`{},`, 100_000) + `{}]`
	for name, answer := range map[string]string{
		mcp.Revision20251125: `{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","icons":` + icons + `}}`,
		mcp.Revision20260728: `{"supportedVersions":["2026-07-28"],"capabilities":{},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","icons":` + icons + `}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			transport, p := newPeer(t)
			go p.reply(`{"jsonrpc":"2.0","id":%s,"result":%s}`, answer)
			check.Is(t, connectError(t, transport, speaking(name)), mcp.ErrInvalidResult)
		})
	}
}
