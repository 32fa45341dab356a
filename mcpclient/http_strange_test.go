package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
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

func status(code int, header ...string) func(http.ResponseWriter, message) {
	return func(w http.ResponseWriter, _ message) {
		for i := 0; i < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(code)
		_, _ = io.WriteString(w, "the reason")
	}
}

// body returns a handler that answers with text, in which ANSWER stands for the right answer.
func body(media, text string) func(http.ResponseWriter, message) {
	return func(w http.ResponseWriter, m message) {
		w.Header().Set("Content-Type", media)
		_, _ = io.WriteString(w, strings.ReplaceAll(text, "ANSWER", answerTo(m)))
	}
}

func otherID(text string) string {
	return strings.ReplaceAll(text, "ANSWER", `{"jsonrpc":"2.0","id":99,"result":{"content":[]}}`)
}

const asJSON, asStream = "application/json", "text/event-stream"

// A strange response fails at most its own call, at once and with the reason. It is not repeated, and the next call succeeds.
func TestStrangeResponses(t *testing.T) {
	type response struct {
		answer func(http.ResponseWriter, message)
		want   string // in the error; "" for the right answer
		status int    // of the *HTTPError
		after  time.Duration
	}
	cutBody := func(w http.ResponseWriter, _ message) {
		w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(jsonWriter(w), `{"jsonrpc`)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	all := map[string]response{
		"429":                         {answer: status(429, "Retry-After", "3"), want: "retry after 3s", status: 429, after: 3 * time.Second},
		"500":                         {answer: status(500, "Retry-After", "3"), want: "retry after 3s", status: 500, after: 3 * time.Second},
		"503":                         {answer: status(503, "Retry-After", "3"), want: "retry after 3s", status: 503, after: 3 * time.Second},
		"302":                         {answer: status(302, "Location", "/elsewhere"), want: "would turn POST into GET"},
		"302 to none":                 {answer: status(302), want: "the reason", status: 302},
		"cut JSON":                    {answer: body(asJSON, `{"jsonrpc":"2.0","id":2,"result":{"content":[`), want: "invalid result"},
		"cut body":                    {answer: cutBody, want: "was cut after 9 bytes"},
		"no headers":                  {answer: func(http.ResponseWriter, message) { panic(http.ErrAbortHandler) }, want: "EOF"},
		"HTML":                        {answer: body("text/html", "<html>welcome"), want: `content type "text/html"`},
		"two types":                   {answer: body("application/json, text/event-stream", "ANSWER"), want: `content type "application/json, text/event-stream"`},
		"no type":                     {answer: body("nonsense/", "ANSWER"), want: `content type "nonsense/"`},
		"empty 200":                   {answer: body(asJSON, ""), want: "without a body"},
		"empty 202":                   {answer: func(w http.ResponseWriter, _ message) { w.WriteHeader(202) }, want: "HTTP status 202 without a body"},
		"204":                         {answer: func(w http.ResponseWriter, _ message) { w.WriteHeader(204) }, want: "HTTP status 204 without a body"},
		"other id":                    {answer: body(asJSON, otherID("ANSWER")), want: "without an answer"},
		"null":                        {answer: body(asJSON, "null"), want: "invalid result"},
		"error of no request":         {answer: body(asJSON, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`), want: "parse error"},
		"empty batch":                 {answer: body(asJSON, "[]"), want: "without an answer"},
		"batch":                       {answer: body(asJSON, otherID(`[{"jsonrpc":"2.0","method":"x"},ANSWER,`)+"ANSWER]")},
		"JSON twice":                  {answer: body(asJSON, "ANSWER\nANSWER"), want: "invalid result"},
		"JSON with a byte order mark": {answer: body(asJSON, "\xEF\xBB\xBFANSWER"), want: "invalid result"},
		"pretty JSON":                 {answer: body(asJSON, "\r\n ANSWER \r\n")},
		"charset":                     {answer: body("Application/JSON; charset=utf-8", "ANSWER")},

		"garbage event":    {answer: body(asStream, "data: garbage\n\ndata: ANSWER\n\n"), want: "invalid result"},
		"events of others": {answer: body(asStream, "event: ping\ndata: garbage\n\nevent: message\ndata: ANSWER\n\n")},
		"no colon":         {answer: body(asStream, "hello\nretry\nevent\ndata: ANSWER\n\n")},
		"byte order mark":  {answer: body(asStream, "\xEF\xBB\xBFdata: ANSWER\n\n")},
		"lone CR":          {answer: body(asStream, ": hi\r\rdata: ANSWER\r\r")},
		"no last line":     {answer: body(asStream, "data: ANSWER\n")},
		"no last newline":  {answer: body(asStream, "data: ANSWER")},
		"cut event":        {answer: body(asStream, `data: {"jsonrpc":"2.0","id":2,"resu`), want: "event stream broke"},
		"empty stream":     {answer: body(asStream, ""), want: "event stream ended"},
		"only comments":    {answer: body(asStream, ": hi\n\n"), want: "event stream ended"},
		"empty data":       {answer: body(asStream, "data\n\ndata:\n\ndata: ANSWER\n\n")},
		"answer of others": {answer: body(asStream, otherID("data: ANSWER\n\n")+"data: ANSWER\n\n")},
		"answer twice":     {answer: body(asStream, "data: ANSWER\n\ndata: ANSWER\n\n")},
	}
	for _, code := range []int{400, 401, 403, 404, 405, 408, 413, 415, 431} {
		all[fmt.Sprint(code)] = response{answer: status(code), want: "the reason", status: code}
	}
	for name, test := range all {
		for era, opts := range eras() {
			bubble(t, name+"/"+era, func(t *testing.T) {
				var strange, elsewhere atomic.Int32
				s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
					switch {
					case r.URL.Path == "/elsewhere":
						elsewhere.Add(1)
						w.WriteHeader(http.StatusMethodNotAllowed)
					case r.Method == http.MethodGet:
						w.WriteHeader(http.StatusMethodNotAllowed)
					case m.Params.Name == "strange":
						strange.Add(1)
						test.answer(w, m)
					default:
						answerCall(w, r, m)
					}
				})
				c, start := connectTo(t, s, opts), time.Now()
				res, err := c.CallTool(t.Context(), "strange", nil)
				if test.want == "" {
					check.Equal(t, "answer", textOf(res, err), "strange")
				} else {
					check.Text(t, err, test.want)
				}
				if test.status != 0 {
					e := wantError[*transport.HTTPError](t, err)
					check.That(t, e.Status == test.status && e.RetryAfter == test.after && e.Body == "the reason", "got %+v", e)
				}
				check.That(t, !errors.Is(err, mcpclient.ErrClosed), "the session ended: %v", err)
				within(t, "the call", start, 0)
				n := strange.Load()
				check.That(t, n == 1 && elsewhere.Load() == 0, "got %d calls, and %d elsewhere", n, elsewhere.Load())
				callText(t, t.Context(), c, "next", "next")
			})
		}
	}
}

// A body or an event of 64 MiB fails at the limit, and takes no more memory than a message within it.
func TestHugeResponses(t *testing.T) {
	const size = 64 << 20
	block := bytes.Repeat([]byte("x"), 64<<10)
	for name, head := range map[string]struct{ media, begin, length string }{
		"JSON of known length": {asJSON, "", strconv.Itoa(size)},
		"JSON":                 {asJSON, "", ""},
		"event":                {asStream, "data: ", ""},
	} {
		t.Run(name, func(t *testing.T) {
			overModernHTTP(t, func(w http.ResponseWriter, r *http.Request, m message) {
				if m.Params.Name != "huge" {
					answerCall(w, r, m)
					return
				}
				w.Header().Set("Content-Type", head.media)
				if head.length != "" {
					w.Header().Set("Content-Length", head.length)
				}
				_, err := io.WriteString(w, head.begin)
				for sent := 0; sent < size && err == nil; sent += len(block) {
					_, err = w.Write(block)
				}
			}, func(t *testing.T, c *mcpclient.Client) {
				var err error
				used := check.Allocated(func() { _, err = c.CallTool(t.Context(), "huge", nil) })
				wantBoth(t, err, transport.ErrMessageTooLarge, "HTTP.MaxMessage")
				check.That(t, used>>20 <= 5*32, "got %d MiB allocated, want five times the bound of 32 MiB at most", used>>20) // the race detector doubles it
				callText(t, t.Context(), c, "next", "next")
			})
		})
	}
}

// A server that accepts everything and sends nothing delays a call or a notification only until its deadline, and
// Connect, whose error names the server.
func TestBlackHole(t *testing.T) {
	inEras(t, func(t *testing.T, era string, opts mcpclient.Options) {
		var ended atomic.Int32
		silent := func(_ http.ResponseWriter, r *http.Request, _ message) {
			<-r.Context().Done()
			ended.Add(1)
		}
		c := connectTo(t, httpServer(t, silent), opts)
		start := time.Now()
		check.Is(t, check.Err(c.CallTool(withTimeout(t, time.Second), "a", nil)), context.DeadlineExceeded)
		within(t, "the call", start, time.Second)
		synctest.Wait()
		check.That(t, ended.Load() != 0, "the request continues")
		check.Is(t, c.Notify(withTimeout(t, time.Second), "x/slow", nil), context.DeadlineExceeded)
		_ = c.Close()
		all := served(t, func(_ http.ResponseWriter, r *http.Request, _ message) {
			_, _ = io.Copy(io.Discard, r.Body) // otherwise the end of the connection is not noticed
			<-r.Context().Done()
		})
		start = time.Now()
		err := check.Err(mcpclient.Connect(withTimeout(t, time.Second), &mcpclient.HTTP{URL: all.URL() + "?key=hidden", Client: all.Client()}, &opts))
		wantBoth(t, err, context.DeadlineExceeded, "("+all.URL()+" gave no answer)", "connect")
		within(t, "connecting", start, time.Second)
	})
}

// dials counts the connections that a client opens.
func dials(client *http.Client, idle int) *atomic.Int32 {
	n := new(atomic.Int32)
	t := client.Transport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = idle
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		n.Add(1)
		return dial(ctx, network, addr)
	}
	client.Transport = t
	return n
}

// A response that the server keeps open after the answer occupies no goroutine and no connection after a second, or after Close.
func TestServerKeepsResponsesOpen(t *testing.T) {
	inEras(t, func(t *testing.T, era string, opts mcpclient.Options) {
		var open atomic.Int32
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			if r.Method != http.MethodPost {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			open.Add(1)
			defer open.Add(-1)
			stream(w)(answerTo(m))
			<-r.Context().Done()
		})
		c, start := connectTo(t, s, opts), time.Now()
		for range 50 {
			callText(t, t.Context(), c, "a", "a")
		}
		within(t, "50 calls", start, 0)
		time.Sleep(time.Second)
		synctest.Wait()
		check.Equal(t, "responses open a second after the answers", open.Load(), 0)
		for range 50 {
			callText(t, t.Context(), c, "a", "a")
		}
		start = time.Now()
		_ = c.Close()
		within(t, "Close", start, 10*time.Millisecond)
		synctest.Wait()
		check.Equal(t, "responses open after Close", open.Load(), 0)
	})
}

// Sequential calls share one connection, and concurrent calls use at most one each, whether the server flushes the answer or not.
func TestCallsShareConnections(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter, m message){
		"json":    func(w http.ResponseWriter, m message) { _, _ = io.WriteString(jsonWriter(w), answerTo(m)) },
		"stream":  body(asStream, "data: ANSWER\n\n"),
		"flushed": func(w http.ResponseWriter, m message) { stream(w)(answerTo(m)) },
	} {
		bubble(t, name, func(t *testing.T) {
			c, dialed := counted(t, httpServer(t, func(w http.ResponseWriter, _ *http.Request, m message) { answer(w, m) }), nil)
			call := func(n int) {
				for range n {
					ctx, cancel := context.WithCancel(t.Context())
					callText(t, ctx, c, "a", "a")
					cancel() // does not cut the rest of the response
					synctest.Wait()
				}
			}
			call(100)
			check.Equal(t, "connections for 100 calls", dialed.Load(), 1)
			const callers, calls = 64, 20
			together(callers, func() {
				for range calls {
					callText(t, t.Context(), c, "a", "a")
					time.Sleep(time.Millisecond) // until all responses have ended
				}
			})
			n := dialed.Load()
			check.That(t, n <= callers+1, "got %d connections for %d calls of %d callers, want at most %d", n, callers*calls, callers, callers+1)
		})
	}
}

// A person may take ten minutes to answer a question that arrives in a response or on the standalone stream.
func TestSlowHumanOverHTTP(t *testing.T) {
	for _, standalone := range []bool{false, true} {
		bubble(t, fmt.Sprint("standalone ", standalone), func(t *testing.T) {
			question := `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":` + samplingParams + `}`
			ask, answered := make(chan bool), make(chan string)
			s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
				switch {
				case r.Method == http.MethodGet:
					say := stream(w)
					select {
					case <-ask:
						say(question)
					case <-r.Context().Done():
					}
					<-r.Context().Done()
				case m.Method == "":
					w.WriteHeader(http.StatusAccepted)
					answered <- string(m.Result)
				default:
					say := stream(w)
					if standalone {
						ask <- true
					} else {
						say(question)
					}
					check.Contains(t, "answer", <-answered, "tea")
					say(answerTo(m))
				}
			})
			o := samples(legacy(), func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
				time.Sleep(10 * time.Minute)
				return tea(), nil
			})
			start := time.Now()
			callText(t, t.Context(), connectTo(t, s, o), "a", "a")
			within(t, "the call", start, 10*time.Minute)
		})
	}
}

// A host whose only handler is for a method of an extension gets the server's requests on the standalone stream.
func TestHandlerReadsTheStandaloneStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answered := make(chan string, 1)
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			switch {
			case r.Method == http.MethodGet:
				stream(w)(`{"jsonrpc":"2.0","id":"q","method":"acme/ask"}`)
				<-r.Context().Done()
			case m.Method == "":
				w.WriteHeader(http.StatusAccepted)
				answered <- string(m.Result)
			}
		})
		o := legacy()
		o.Handlers = map[string]mcpclient.Handler{"acme/ask": func(context.Context, *mcpclient.Request) (json.RawMessage, error) {
			return json.RawMessage(`{"a":1}`), nil
		}}
		connectTo(t, s, o)
		select {
		case got := <-answered:
			check.Equal(t, "answer", got, `{"a":1}`)
		case <-time.After(time.Minute):
			t.Error("got no answer")
		}
	})
}

// The connection, including its standalone stream, outlives the context of Connect.
func TestConnectContextEndsOverHTTP(t *testing.T) {
	inEras(t, func(t *testing.T, era string, opts mcpclient.Options) {
		say := make(chan string)
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			write := stream(w)
			if r.Method == http.MethodGet {
				write(<-say)
				<-r.Context().Done()
				return
			}
			write(answerTo(m))
		})
		var seen observed
		opts.OnNotification = seen.add
		ctx, cancel := context.WithCancel(t.Context())
		c := connectedIn(t, ctx, &mcpclient.HTTP{URL: s.URL(), Client: s.Client()}, opts)
		cancel()
		time.Sleep(time.Minute)
		callText(t, t.Context(), c, "a", "a")
		if era == "legacy" {
			say <- `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
			seen.check(t, "notifications/tools/list_changed")
		}
	})
}

// A caller's RoundTripper may modify a request, although it should not, without effects on other requests.
func TestRoundTripperChangesRequests(t *testing.T) {
	overHTTP(t, modern(), func(w http.ResponseWriter, r *http.Request, m message) {
		got := r.Header.Values("X-Key")
		check.That(t, len(got) == 2 && r.URL.RawQuery == "a=b&c=d", "got X-Key %q and query %q", got, r.URL.RawQuery)
		answerCall(w, r, m)
	}, func(t *testing.T, c *mcpclient.Client) {
		together(20, func() { callText(t, t.Context(), c, "a", "a") })
	}, func(h *mcpclient.HTTP) {
		h.URL, h.Header = h.URL+"?a=b", http.Header{"X-Key": {"mine"}}
		h.Client.Transport = watched(func(r *http.Request) {
			r.Header.Add("X-Key", "added")
			r.Header.Set("Accept", "nothing")
			r.URL.RawQuery += "&c=d"
		})(h.Client.Transport)
	})
}
