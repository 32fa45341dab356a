package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"slices"
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

const overJSON = "json" // for conversations about HTTP itself

func TestHTTPHeaders(t *testing.T) {
	inSession := func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		check.Equal(t, "session", c.SessionID(), "s-1")
		callText(t, ctx, c, "a", "done")
	}
	playAll(t, []conversation{
		{name: "http_legacy", way: overJSON, opts: heeding(legacy()), play: inSession},
		{name: "http_2025-03-26", way: overJSON, opts: heeding(speaking(mcp.Revision20250326)), play: inSession},
		{name: "http_modern", way: overJSON, opts: modern(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			check.Equal(t, "session", c.SessionID(), "")
			for _, name := range []string{"us west 1", "Hello, 世界", " padded ", "line1\nline2", "\tindented", "=?base64?literal?=", "日本語", ""} {
				callText(t, ctx, c, name, "done")
			}
			_, prompt := c.GetPrompt(ctx, "p", nil)
			_, read := c.ReadResource(ctx, "file:///ä")
			_, list := collect(c.Tools(ctx), toolName)
			_, custom := c.Call(ctx, "tasks/get", map[string]string{"taskId": "t 1"})
			check.NoError(t, errors.Join(prompt, read, list, custom, c.Notify(ctx, "acme/happened", nil)))
		}},
	})
}

// The Mcp-Name header names the target of a request.
func TestNameHeader(t *testing.T) {
	var got []string
	overHTTP(t, undeclared(modern()), func(w http.ResponseWriter, r *http.Request, m message) {
		got = r.Header["Mcp-Name"]
		answerCall(w, r, m)
	}, func(t *testing.T, c *mcpclient.Client) {
		params := map[string]string{"name": "n", "uri": "u", "taskId": "ä"}
		for method, want := range map[string][]string{
			"tools/call": {"n"}, "prompts/get": {"n"}, "resources/read": {"u"},
			"tasks/get": {"=?base64?w6Q=?="}, "tasks/update": {"=?base64?w6Q=?="}, "tasks/cancel": {"=?base64?w6Q=?="},
			"tools/list": nil, "completion/complete": nil, "resources/subscribe": nil,
		} {
			check.NoError(t, check.Err(c.Call(t.Context(), method, params)), method)
			check.Same(t, method, got, want)
		}
	})
}

// Requests after initialize have the revision in a header, if their revision defines one.
func TestVersionHeader(t *testing.T) {
	for revision, want := range map[string]string{
		mcp.Revision20251125: "2025-11-25", mcp.Revision20250618: "2025-06-18",
		mcp.Revision20250326: "", mcp.Revision20241105: "",
	} {
		synctest.Test(t, func(t *testing.T) {
			var got []string
			s := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
				got = append(got, r.Header.Get("Mcp-Protocol-Version"))
				switch m.Method {
				case "initialize":
					w.Header().Set("Mcp-Session-Id", "s-1")
					_, _ = io.WriteString(jsonWriter(w), strings.Replace(handshakeAnswer(m), "2025-11-25", revision, 1))
				case "tools/call":
					answerCall(w, r, m)
				}
			})
			c := connectTo(t, s, speaking(revision))
			callText(t, t.Context(), c, "a", "a")
			_ = c.Close()
			check.Same(t, revision, got, []string{"", want, want, want}) // initialize, initialized, tools/call, DELETE
		})
	}
}

func TestHTTPListen(t *testing.T) {
	var seen observed
	opts := legacy()
	opts.OnNotification = seen.add
	later := func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		time.Sleep(20 * time.Second)
		callText(t, ctx, c, "a", "done")
	}
	playAll(t, []conversation{
		{name: "http_listen", way: overJSON, opts: opts, maxMessage: 500, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			later(t, ctx, c)
			seen.check(t, "notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed")
		}},
		{name: "http_listen_page", way: overJSON, opts: heeding(legacy()), play: later},
		{name: "http_listen_missing", way: overJSON, opts: heeding(legacy()), play: later},
		{name: "http_listen_forbidden", way: overJSON, opts: heeding(legacy()), play: later},
		{name: "http_listen_trouble", way: overJSON, opts: heeding(legacy()), play: later},
	})
}

func TestHTTPResume(t *testing.T) {
	playAll(t, []conversation{
		{name: "http_resume", way: overJSON, opts: heeding(legacy()), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			start := time.Now()
			callText(t, ctx, c, "slow", "done")
			// 1.5 s, then 2 s after an event, 2 s after the failure, and 2 s as requested.
			check.Equal(t, "waits", time.Since(start), 1500*time.Millisecond+2*time.Second+2*time.Second+2*time.Second)
		}},
		{name: "http_resume_fails", way: overJSON, opts: heeding(legacy()), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			for i, want := range []string{"HTTP status 400", "5 attempts brought nothing", "event stream broke", "event stream ended"} {
				err := check.Err(c.CallTool(ctx, "slow", nil))
				check.Text(t, err, want, "call", i)
				check.That(t, !errors.Is(err, mcpclient.ErrClosed), "call %d: got %v", i, err)
			}
			callText(t, ctx, c, "a", "done")
		}},
	})
}

func TestHTTPCutFailsOneCall(t *testing.T) {
	playAll(t, []conversation{{name: "http_cut_modern", way: overJSON, opts: modern(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		failed := background(func() error { return check.Err(c.CallTool(ctx, "a", nil)) })
		synctest.Wait()
		start := time.Now()
		callText(t, ctx, c, "b", "done")
		check.Text(t, <-failed, "answer to the request did not come")
		check.Equal(t, "the calls took", time.Since(start), time.Second)
	}}})
}

func TestHTTPBodies(t *testing.T) {
	playAll(t, []conversation{{name: "http_bodies", way: overJSON, opts: heeding(legacy()), maxMessage: 500, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		for i, want := range slices.Concat(slices.Repeat([]error{transport.ErrMessageTooLarge}, 2), slices.Repeat([]error{mcp.ErrInvalidResult}, 8)) {
			check.Is(t, check.Err(c.CallTool(ctx, "a", nil)), want, "call", i)
		}
		check.Text(t, check.Err(c.CallTool(ctx, "a", nil)), "event stream ended", "stream with the answer to another request")
		for _, status := range []int{http.StatusNotFound, http.StatusRequestEntityTooLarge, http.StatusServiceUnavailable} {
			err := check.Err(c.CallTool(ctx, "a", nil))
			wantStatus(t, err, status)
			if status == http.StatusServiceUnavailable {
				e, rpc := wantError[*transport.HTTPError](t, err), wantError[*mcp.RPCError](t, err)
				check.That(t, e.RetryAfter == 7*time.Second && rpc.Message == "overloaded", "got %v", err)
			}
		}
		callText(t, ctx, c, "a", "done")
		callText(t, ctx, c, "a", "done")
		wantCode(t, check.Err(c.CallTool(ctx, "a", nil)), mcp.CodeInvalidParams)
		check.Is(t, check.Err(c.CallTool(ctx, "a", nil)), transport.ErrMessageTooLarge, "body of unknown length")
	}}})
}

func TestHTTPPosts(t *testing.T) {
	playAll(t, []conversation{
		{name: "http_initialized_refused", way: overJSON, opts: legacy(), refused: func(t *testing.T, err error) { wantStatus(t, err, 400) }},
		{name: "http_answer_refused", way: overJSON, opts: heeding(legacy()), play: calls("ask")},
		{name: "http_stream_kept_open", way: overJSON, opts: heeding(legacy()), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			start := time.Now()
			callText(t, ctx, c, "a", "done")
			callText(t, ctx, c, "a", "done")
			check.NoError(t, c.Notify(ctx, "acme/happened", nil))
			check.Equal(t, "waited for the server", time.Since(start), 0)
			time.Sleep(2 * time.Second)
		}},
	})
}

// A connection without a client can send, and Recv waits for its end.
func TestHTTPConn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := httpServer(t, func(w http.ResponseWriter, _ *http.Request, m message) {
			if m.Method == "refused" {
				w.WriteHeader(http.StatusBadRequest)
			}
		})
		conn := check.Value((&mcpclient.HTTP{URL: s.URL(), Client: s.Client()}).Dial(t.Context()))(t)
		check.NoError(t, conn.Send(t.Context(), []byte(`{"method":"taken"}`)))
		wantStatus(t, conn.Send(t.Context(), []byte(`{"method":"refused"}`)), http.StatusBadRequest)
		received := background(func() error { return check.Err(conn.Recv()) })
		synctest.Wait()
		check.NoError(t, errors.Join(conn.Close(), conn.Close()))
		check.Equal(t, "from Recv", <-received, io.EOF)
		check.Is(t, conn.Send(t.Context(), []byte(`{}`)), mcpclient.ErrClosed)
	})
}

// If Connect fails, a session that had begun is ended, even after Connect has returned.
func TestConnectFailsInSession(t *testing.T) {
	accepts := func(http.ResponseWriter, *http.Request) {}
	refuses := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }
	hangs := func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
	for name, test := range map[string]struct {
		initialized, deleted http.HandlerFunc
		want                 time.Duration
	}{
		"refused":           {refuses, accepts, 0},
		"silent":            {hangs, accepts, time.Second},
		"silent to the end": {hangs, hangs, 1500 * time.Millisecond},
	} {
		bubble(t, name, func(t *testing.T) {
			var ended diary
			s := serve(t, &sessionServer{instead: func(w http.ResponseWriter, r *http.Request, m message) bool {
				switch {
				case r.Method == http.MethodDelete:
					ended.write("%s", r.Header.Get("Mcp-Session-Id"))
					test.deleted(w, r)
				case m.Method == "initialize":
					return false
				default:
					test.initialized(w, r)
				}
				return true
			}})
			o, start := legacy(), time.Now()
			check.Fails(t, check.Err(mcpclient.Connect(withTimeout(t, time.Second), &mcpclient.HTTP{URL: s.URL(), Client: s.Client()}, &o)), "")
			check.Equal(t, "Connect took", time.Since(start), test.want)
			check.Same(t, "ended sessions", ended.read(), []string{"s-1"})
		})
	}
}

// callHere calls a tool that reports progress. note gets each notification with the stack of the callback.
//
//go:noinline
func callHere(t *testing.T, c *mcpclient.Client, note func(p mcp.Progress, stack string)) {
	callText(t, t.Context(), c, "slow", "slow", mcpclient.WithProgress(func(p mcp.Progress) { note(p, string(debug.Stack())) }))
}

// Progress over the standalone stream is reported during the call, on its goroutine, in order with progress from the response.
func TestProgressOverStandaloneStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		standalone, told := make(chan string), make(chan float64)
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			say := stream(w)
			if r.Method == http.MethodGet {
				for notice := range standalone {
					say(notice)
				}
				return
			}
			for i := 1; i <= 9; i++ { // from 7 after everything that the call waits for
				notice := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`, m.ID, i)
				if i%2 == 0 || i > 6 {
					say(notice)
				} else {
					standalone <- notice
				}
				if i <= 6 {
					check.Equal(t, "progress before the answer", <-told, float64(i))
				}
			}
			say(answerTo(m))
		})
		defer close(standalone)
		c := connectTo(t, s, heeding(legacy())) // Connect waits for the stream
		var got []float64
		callHere(t, c, func(p mcp.Progress, stack string) {
			got = append(got, p.Progress)
			check.That(t, strings.Contains(stack, "callHere"), "told on another goroutine:\n%s", stack)
			if p.Progress <= 6 {
				told <- p.Progress
			}
		})
		check.Same(t, "progress", got, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9})
	})
}

// A request whose answer was over the limit is not sent again.
func TestLargeAnswerIsNotAskedForAgain(t *testing.T) {
	for media, begin := range map[string]string{"text/event-stream": "data: ", "application/json": ""} {
		var asked atomic.Int32
		overHTTP(t, modern(), func(w http.ResponseWriter, _ *http.Request, m message) {
			asked.Add(1)
			w.Header().Set("Content-Type", media)
			fmt.Fprintf(w, "%s"+`{"jsonrpc":"2.0","id":%s,"result":{"tools":[],"x":%q}}`+"\n\n", begin, m.ID, strings.Repeat("x", 5000))
		}, func(t *testing.T, c *mcpclient.Client) {
			check.Is(t, listOnce(t.Context(), c), transport.ErrMessageTooLarge, media)
			check.Equal(t, media, asked.Load(), 1)
		}, func(h *mcpclient.HTTP) { h.MaxMessage = 4000 })
	}
}
