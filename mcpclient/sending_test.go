package mcpclient_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// At most 4 KiB after the answer are read, within a second, so that the connection can be used
// again.
func TestDrainIsBounded(t *testing.T) {
	for name, test := range map[string]struct {
		more []byte
		want time.Duration
	}{
		"open":      {nil, time.Second},
		"at most":   {bytes.Repeat([]byte(":\n"), 1<<10), time.Second},
		"talkative": {bytes.Repeat([]byte(":\n"), 1<<20), 0},
	} {
		t.Run(name, func(t *testing.T) {
			var lasted time.Duration
			h := func(w http.ResponseWriter, r *http.Request, m message) {
				if r.Method == http.MethodGet {
					w.WriteHeader(http.StatusMethodNotAllowed)
					return
				}
				start := time.Now()
				stream(w)(answerTo(m))
				_, _ = w.Write(test.more)
				<-r.Context().Done()
				lasted = time.Since(start)
			}
			overLegacyHTTP(t, h, func(t *testing.T, c *mcpclient.Client) {
				callText(t, t.Context(), c, "a", "a")
				time.Sleep(time.Minute)
				synctest.Wait()
				equal(t, "the exchange was ended after", lasted, test.want)
			})
		})
	}
}

// A server without a session that answers 404 has no standalone stream, which is not logged.
func TestNoStandaloneStream(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusMethodNotAllowed} {
		synctest.Test(t, func(t *testing.T) {
			var asked atomic.Int32
			s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
				if r.Method == http.MethodGet {
					asked.Add(1)
					w.WriteHeader(status)
					return
				}
				stream(w)(answerTo(m))
			})
			var log bytes.Buffer
			opts := heeding(legacy())
			opts.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
			c := connectTo(t, s, opts)
			time.Sleep(time.Hour)
			callText(t, t.Context(), c, "a", "a")
			_ = c.Close()
			if asked.Load() != 1 || log.Len() > 0 {
				t.Errorf("status %d: asked %d times and logged %q, want once and nothing", status, asked.Load(), log.String())
			}
		})
	}
}

// stuck is a transport whose connections do not accept messages that contain a text.
type stuck struct {
	mcpclient.Transport
	text string
}

type stuckConn struct {
	mcpclient.Conn
	text string
}

func (s stuck) Dial(ctx context.Context) (mcpclient.Conn, error) {
	conn, err := s.Transport.Dial(ctx)
	return stuckConn{conn, s.text}, err
}

func (s stuckConn) Send(ctx context.Context, message []byte) error {
	if strings.Contains(string(message), s.text) {
		<-ctx.Done()
		return ctx.Err()
	}
	return s.Conn.Send(ctx, message)
}

// stuckPeer runs f with a client whose messages with a text get stuck.
func stuckPeer(t *testing.T, opts mcpclient.Options, text string, f func(c *mcpclient.Client, p *peer)) {
	synctest.Test(t, func(t *testing.T) {
		transport, p := newPeer(t)
		go p.handshake()
		c := connected(t, stuck{transport, text}, opts)
		synctest.Wait()
		f(c, p)
	})
}

// A call that was never sent is not cancelled at the server.
func TestUnsentIsNotCancelled(t *testing.T) {
	stuckPeer(t, legacy(), "tools/call", func(c *mcpclient.Client, p *peer) {
		ctx, cancel := context.WithTimeout(p.t.Context(), time.Second)
		defer cancel()
		wantIs(p.t, errOf(c.CallTool(ctx, "a", nil)), context.DeadlineExceeded)
		time.Sleep(time.Minute)
		p.quiet()
	})
}

// An answer that cannot be sent is dropped after 30 s, and the log says so.
func TestSendingAnAnswerIsBounded(t *testing.T) {
	var log bytes.Buffer
	var mu sync.Mutex
	lost := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return strings.Contains(log.String(), "answer to the server lost")
	}
	opts := samples(legacy(), answersTea)
	opts.Logger = slog.New(slog.NewTextHandler(writerFunc(func(b []byte) (int, error) {
		mu.Lock()
		defer mu.Unlock()
		return log.Write(b)
	}), nil))
	stuckPeer(t, opts, `"tea"`, func(_ *mcpclient.Client, p *peer) {
		p.ask("1")
		time.Sleep(30*time.Second - time.Millisecond)
		synctest.Wait()
		if lost() {
			p.t.Error("the answer was given up before 30 s")
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if !lost() {
			p.t.Error("the answer was not given up after 30 s")
		}
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// A message without an answer is dropped after 5 s; at most 16 are being sent, and 1,024 wait.
func TestTellingIsBounded(t *testing.T) {
	var log logged
	opts := legacy()
	opts.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	stuckPeer(t, opts, `"result":{}`, func(_ *mcpclient.Client, p *peer) {
		lost := func(want int) {
			p.t.Helper()
			synctest.Wait()
			equal(p.t, "messages given up", strings.Count(log.String(), "message to the server lost"), want)
		}
		for i := range 2000 {
			p.send(`{"id":%d,"method":"ping"}`, i)
			if i == 15 {
				synctest.Wait() // until they are being sent
			}
		}
		time.Sleep(5*time.Second - time.Millisecond)
		lost(0)
		time.Sleep(time.Millisecond)
		lost(16)
		time.Sleep(time.Hour)
		lost(100) // the log has at most 100; later ones were dropped, too
		if text := log.String(); !strings.Contains(text, "count=960") || strings.Count(text, "dropped messages") != 1 {
			p.t.Errorf("the log does not say once that 960 messages were dropped")
		}
	})
}
