package mcpclient_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// Unsent distinguishes calls that the server cannot have accepted from those that may have run. A closed client sends nothing.
func TestUnsent(t *testing.T) {
	const round = `{"resultType":"input_required","requestState":"s"}`
	const task = `{"resultType":"task","taskId":"k","status":"working"}`
	dial := &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	reset := &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	for name, tt := range map[string]struct {
		first  string // result of the first request, "" if it fails
		status int    // of the last request
		err    error  // of the last request, instead of a status; with one, of the probe after it
		want   bool
	}{
		"not reached": {"", 0, dial, true}, "reset": {"", 0, reset, false}, "unauthorized": {"", 401, nil, true},
		"forbidden": {"", 403, nil, true}, "too many": {"", 429, nil, true}, "broken": {"", 500, nil, false},
		"unavailable": {"", 503, nil, false}, "a round before": {round, 0, dial, false},
		"a task before": {task, 0, dial, false}, "a round, forbidden": {round, 403, nil, false},
		"a task, not allowed": {task, 401, nil, false}, "another era": {"", 400, dial, false},
	} {
		bubble(t, name, func(t *testing.T) {
			var failure error
			first := tt.first
			s := httpServer(t, func(w http.ResponseWriter, _ *http.Request, m message) {
				if first == "" {
					failure = tt.err
					w.WriteHeader(tt.status)
					return
				}
				_, _ = io.WriteString(jsonWriter(w), `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+first+`}`)
				first, failure = "", tt.err
			})
			client := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				if failure != nil {
					return nil, failure
				}
				return s.Transport().RoundTrip(r)
			})}
			opts := modern()
			opts.Limits.Retries, opts.Protocol.AllowUndeclared, opts.Protocol.Revision = -1, true, ""
			c := connectedBy(t, s.URL(), client, opts)
			if first == "" && tt.status == 0 {
				failure = tt.err
			}
			_, err := c.CallTool(t.Context(), "a", nil, mcpclient.WithTask(new(mcp.Tool)))
			check.That(t, err != nil && mcpclient.Unsent(err) == tt.want, "got %v, unsent %v, want %v", err, !tt.want, tt.want)
			check.Must(t, c.Close())
			check.Equal(t, "unsent after the end", mcpclient.Unsent(check.Err(c.CallTool(t.Context(), "a", nil))), true)
		})
	}
}

// A call whose response broke off was accepted, even if the server refuses to resume the response.
func TestResumptionIsRefused(t *testing.T) {
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests} {
		synctest.Test(t, func(t *testing.T) {
			s := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
				switch {
				case m.Method == "tools/call":
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, "id: 1\ndata:\n\n")
				case r.Method == http.MethodGet:
					w.WriteHeader(status)
				case m.ID == nil:
					w.WriteHeader(http.StatusAccepted)
				default:
					_, _ = io.WriteString(jsonWriter(w), handshakeAnswer(m))
				}
			})
			_, err := connectTo(t, s, legacy()).CallTool(t.Context(), "a", nil)
			check.That(t, err != nil && !mcpclient.Unsent(err), "status %d: got %v, unsent %v, want that it was sent", status, err, mcpclient.Unsent(err))
		})
	}
}

// The check decides on each request of a call, and Unsent reports whether any was sent.
func TestSendCheck(t *testing.T) {
	for i := range 6 {
		allowed, busy := i/2, i%2 == 0
		synctest.Test(t, func(t *testing.T) {
			sent, refusal := 0, errors.New("not any more")
			s := httpServer(t, func(w http.ResponseWriter, _ *http.Request, m message) {
				if sent++; busy {
					w.WriteHeader(http.StatusServiceUnavailable)
					return
				}
				_, _ = io.WriteString(jsonWriter(w), `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"resultType":"input_required","requestState":"s"}}`)
			})
			c := connectTo(t, s, undeclared(modern()))
			asked := 0
			_, err := c.ReadResource(t.Context(), "a:b", mcpclient.WithSendCheck(func(context.Context) error {
				if asked++; asked > allowed {
					return refusal
				}
				return nil
			}))
			check.Is(t, err, refusal)
			check.Equal(t, "unsent", mcpclient.Unsent(err), allowed == 0)
			check.Equal(t, "requests", sent, allowed)
		})
	}
}

// While a call that reports progress waits for its task, the function runs on a goroutine of the client.
func TestSendCheckPanicsDuringATask(t *testing.T) {
	working(t, noChange, func(t *testing.T, c *mcpclient.Client, w *worker) {
		requests := 0
		_, err := c.CallTool(t.Context(), "slow", nil, mcpclient.WithTask(slow), mcpclient.WithProgress(func(mcp.Progress) {}),
			mcpclient.WithSendCheck(func(context.Context) error {
				if requests++; requests > 1 {
					panic("checked")
				}
				return nil
			}))
		check.Text(t, err, "function of WithSendCheck panicked")
		w.cancelled(t, true)
	})
}

// The connection knows whether part of a call was written to a server that has just died: if not, it is made on the next one.
func TestUnsentToADyingServer(t *testing.T) {
	for name, written := range map[string]int{"nothing": 0, "a part": 1} { // bytes of the call
		for restarting, restarts := range map[string]int{"": 0, " restarting": 5} {
			bubble(t, name+restarting, func(t *testing.T) {
				opts := legacy()
				opts.Limits.Restarts = restarts
				result, err := connected(t, &dyingTransport{written: written}, opts).CallTool(t.Context(), "a", nil)
				if written == 0 && restarts > 0 {
					check.Equal(t, "answer of the next server", textOf(result, err), "a")
				} else {
					check.That(t, err != nil && mcpclient.Unsent(err) == (written == 0), "got %v, unsent %t", err, mcpclient.Unsent(err))
				}
			})
		}
	}
}

// dyingTransport is a transport whose first server accepts a number of bytes of a call and dies.
type dyingTransport struct{ written, dials int }

func (d *dyingTransport) Dial(ctx context.Context) (transport.Conn, error) {
	server, output := program(func(m message) string {
		switch m.Method {
		case "initialize":
			return handshakeAnswer(m)
		case "tools/call":
			return answerTo(m)
		}
		return ""
	})
	if d.dials++; d.dials == 1 {
		input := server.Writer.(io.WriteCloser)
		server.Writer = struct {
			io.Writer
			io.Closer
		}{writerFunc(func(b []byte) (int, error) {
			if bytes.Contains(b, []byte("tools/call")) {
				_ = output.Close()
				return bytes.LastIndexByte(b[:len(b)-1], '\n') + 1 + d.written, io.ErrClosedPipe
			}
			return input.Write(b)
		}), input}
	}
	return server.Dial(ctx)
}

// At most 4 KiB after the answer are read, within a second, so that the connection can be used again.
func TestDrainIsBounded(t *testing.T) {
	for name, test := range map[string]struct {
		more int // comments behind the answer
		want time.Duration
	}{
		"open":      {0, time.Second},
		"at most":   {1 << 10, time.Second},
		"talkative": {1 << 20, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var lasted time.Duration
			overLegacyHTTP(t, func(w http.ResponseWriter, r *http.Request, m message) {
				if r.Method == http.MethodGet {
					w.WriteHeader(http.StatusMethodNotAllowed)
					return
				}
				start := time.Now()
				stream(w)(answerTo(m))
				_, _ = w.Write(bytes.Repeat([]byte(":\n"), test.more))
				<-r.Context().Done()
				lasted = time.Since(start)
			}, func(t *testing.T, c *mcpclient.Client) {
				callText(t, t.Context(), c, "a", "a")
				time.Sleep(time.Minute)
				synctest.Wait()
				check.Equal(t, "the exchange was ended after", lasted, test.want)
			})
		})
	}
}

// A server without a session that answers 404 has no standalone stream, which is not logged.
func TestNoStandaloneStream(t *testing.T) {
	for _, status := range []int{http.StatusNotFound, http.StatusMethodNotAllowed} {
		synctest.Test(t, func(t *testing.T) {
			asked := 0
			s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
				if r.Method == http.MethodGet {
					asked++
					w.WriteHeader(status)
					return
				}
				stream(w)(answerTo(m))
			})
			opts, log := logs(heeding(legacy()), slog.LevelWarn)
			c := connectTo(t, s, opts)
			time.Sleep(time.Hour)
			callText(t, t.Context(), c, "a", "a")
			_ = c.Close()
			check.Equal(t, "asked for the stream", asked, 1)
			check.Equal(t, status, log.String(), "")
		})
	}
}

// stuckPeer runs f with a client whose messages with a text get stuck.
func stuckPeer(t *testing.T, opts mcpclient.Options, text string, f func(c *mcpclient.Client, p *peer)) {
	synctest.Test(t, func(t *testing.T) {
		way, p := newPeer(t)
		go p.handshake()
		c := connected(t, &hooked{Transport: way, send: func(ctx context.Context, conn transport.Conn, message []byte) error {
			if strings.Contains(string(message), text) {
				<-ctx.Done()
				return ctx.Err()
			}
			return conn.Send(ctx, message)
		}}, opts)
		synctest.Wait()
		f(c, p)
	})
}

// A call that was never sent is not cancelled at the server.
func TestUnsentIsNotCancelled(t *testing.T) {
	stuckPeer(t, legacy(), "tools/call", func(c *mcpclient.Client, p *peer) {
		ctx, cancel := context.WithTimeout(p.t.Context(), time.Second)
		defer cancel()
		check.Is(p.t, check.Err(c.CallTool(ctx, "a", nil)), context.DeadlineExceeded)
		time.Sleep(time.Minute)
		p.quiet()
	})
}

// An answer that cannot be sent is dropped after 30 s, and the log says so.
func TestSendingAnAnswerIsBounded(t *testing.T) {
	opts, log := logs(samples(legacy(), answersTea), slog.LevelInfo)
	lost := func() bool { return strings.Contains(log.String(), "answer to the server lost") }
	stuckPeer(t, opts, `"tea"`, func(_ *mcpclient.Client, p *peer) {
		p.ask("1")
		time.Sleep(30*time.Second - time.Millisecond)
		synctest.Wait()
		check.That(p.t, !lost(), "the answer was given up before 30 s")
		time.Sleep(time.Millisecond)
		synctest.Wait()
		check.That(p.t, lost(), "the answer was not given up after 30 s")
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

// A message without an answer is dropped after 5 s; at most 16 are being sent, and 1,024 wait.
func TestTellingIsBounded(t *testing.T) {
	opts, log := logs(legacy(), slog.LevelWarn)
	stuckPeer(t, opts, `"result":{}`, func(_ *mcpclient.Client, p *peer) {
		lost := func(want int) {
			p.t.Helper()
			synctest.Wait()
			check.Equal(p.t, "messages given up", strings.Count(log.String(), "message to the server lost"), want)
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
		text := log.String()
		check.That(p.t, strings.Contains(text, "count=960") && strings.Count(text, "dropped messages") == 1,
			"the log does not say once that 960 messages were dropped")
	})
}
