package mcpclient_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

func connectedBy(t *testing.T, url string, client *http.Client, o mcpclient.Options) *mcpclient.Client {
	t.Helper()
	return connected(t, &mcpclient.HTTP{URL: url, Client: client}, o)
}

// The cookies of the host's HTTP client are used.
func TestCookies(t *testing.T) {
	var got []string
	overHTTP(t, modern(), func(w http.ResponseWriter, r *http.Request, m message) {
		got = append(got, r.Header.Get("Cookie"))
		http.SetCookie(w, &http.Cookie{Name: "replica", Value: "7"})
		answerCall(w, r, m)
	}, func(t *testing.T, c *mcpclient.Client) {
		callText(t, t.Context(), c, "a", "a")
		callText(t, t.Context(), c, "b", "b")
	}, func(h *mcpclient.HTTP) { h.Client.Jar, _ = cookiejar.New(nil) })
	check.Same(t, "cookies", got, []string{"", "replica=7"})
}

// The timeout of the host's HTTP client applies.
func TestClientTimeout(t *testing.T) {
	overHTTP(t, modern(), func(_ http.ResponseWriter, r *http.Request, _ message) { <-r.Context().Done() }, func(t *testing.T, c *mcpclient.Client) {
		start := time.Now()
		err := check.Err(c.CallTool(t.Context(), "a", nil))
		check.That(t, wantError[net.Error](t, err).Timeout(), "got %v, want a timeout", err)
		within(t, "the call", start, 3*time.Second)
	}, func(h *mcpclient.HTTP) { h.Client.Timeout = 3 * time.Second })
}

// tunnelError is a host's own error with a cause.
type tunnelError struct{ cause error }

func (e *tunnelError) Error() string { return "tunnel: " + e.cause.Error() }
func (e *tunnelError) Unwrap() error { return e.cause }

// The error of a host's RoundTripper is in the error of a call, even if its text has a secret. The call's text does not have it.
func TestErrorsOfTheTransport(t *testing.T) {
	cause := &tunnelError{&url.Error{Op: "Get", URL: "http://broker.test", Err: errors.New("no secret-key")}}
	broken := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, cause }}
	for name, h := range map[string]*mcpclient.HTTP{
		"direct":        {Client: &http.Client{Transport: broken}},
		"by the client": {Client: &http.Client{Transport: broken, Timeout: time.Minute}},
		"wrapped":       {WrapTransport: wrapped(func(http.RoundTripper, *http.Request) (*http.Response, error) { return nil, cause })},
	} {
		t.Run(name, func(t *testing.T) {
			h.URL, h.Header = "http://a.test/mcp?key=secret-query", http.Header{"X-Key": {"secret-key"}}
			err := connectError(t, h, legacy())
			check.Equal(t, "", wantError[*tunnelError](t, err), cause)
			check.Text(t, err, "tunnel: ")
			check.Text(t, err, "no [secret]")
			check.That(t, !strings.Contains(err.Error(), "secret-"), "got %v", err)
		})
	}
}

// Registered round trippers may return incomplete responses.
func TestHalfResponses(t *testing.T) {
	for name, test := range map[string]struct {
		resp *http.Response
		want string
	}{
		"none":            {nil, "nil *Response"},
		"without a body":  {&http.Response{StatusCode: http.StatusAccepted}, "without a body"},
		"a failure":       {&http.Response{StatusCode: http.StatusTeapot}, "418"},
		"of some length":  {&http.Response{StatusCode: http.StatusOK, ContentLength: 5}, "nil Body"},
		"a half redirect": {&http.Response{StatusCode: http.StatusFound}, "302"},
	} {
		t.Run(name, func(t *testing.T) {
			transport := &http.Transport{}
			transport.RegisterProtocol("http", roundTripper(func(r *http.Request) (*http.Response, error) {
				_ = r.Body.Close()
				return test.resp, nil
			}))
			check.Text(t, connectError(t, &mcpclient.HTTP{URL: "http://a.test", Client: &http.Client{Transport: transport}}, modern()), test.want)
		})
	}
}

// The error of net/http for a server without TLS is explained, unless a proxy caused it.
func TestHTTPSToAPlainServer(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	address := strings.Replace(s.URL, "http://", "https://", 1)
	check.Is(t, connectError(t, &mcpclient.HTTP{URL: address, Client: nil}, legacy()), http.ErrSchemeMismatch)
	proxy, err := url.Parse(address)
	check.Must(t, err)
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}
	err = connectError(t, &mcpclient.HTTP{URL: "http://a.test", Client: client}, legacy())
	_, ok := errors.AsType[tls.RecordHeaderError](err)
	check.That(t, ok && !errors.Is(err, http.ErrSchemeMismatch), "got %v, want the error of the proxy", err)
}

// A replaced http.DefaultTransport is used.
func TestDefaultTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, before := httpServer(t, answerCall), http.DefaultTransport
		defer func() { http.DefaultTransport = before }()
		http.DefaultTransport = s.Transport()
		c := connectedBy(t, s.URL(), &http.Client{}, modern())
		used := 0
		http.DefaultTransport = watched(func(*http.Request) { used++ })(s.Transport())
		callText(t, t.Context(), c, "a", "a")
		check.Equal(t, "the new default transport was used times", used, 1)
	})
}

// Messages without an answer share connections, whatever the server responds and however soon their senders leave.
func TestNotificationsShareConnections(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter){
		"empty":  func(w http.ResponseWriter) { w.WriteHeader(http.StatusAccepted) },
		"204":    func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) },
		"chunks": func(w http.ResponseWriter) { w.WriteHeader(http.StatusAccepted); w.(http.Flusher).Flush() },
		"null":   func(w http.ResponseWriter) { w.WriteHeader(http.StatusAccepted); _, _ = io.WriteString(w, "null") },
		"words":  func(w http.ResponseWriter) { w.WriteHeader(http.StatusAccepted); _, _ = io.WriteString(w, "done\n") },
	} {
		bubble(t, name, func(t *testing.T) {
			c, dialed := counted(t, httpServer(t, func(w http.ResponseWriter, _ *http.Request, _ message) { answer(w) }), nil)
			for range 100 {
				ctx, cancel := context.WithCancel(t.Context())
				check.Must(t, c.Notify(ctx, "x/y", nil))
				cancel()
				synctest.Wait()
			}
			check.Equal(t, "connections for 100 notifications", dialed.Load(), 1)
		})
	}
}

// counted connects over HTTP and counts the connections. change may change the HTTP client.
func counted(t *testing.T, s *memhttp.Server, change func(client *http.Client)) (*mcpclient.Client, *atomic.Int32) {
	client := s.Client()
	dialed := dials(client, 1024)
	t.Cleanup(client.CloseIdleConnections)
	if change != nil {
		change(client)
	}
	return connectedBy(t, s.URL(), client, modern()), dialed
}

// A tool call uses no connection that the server may be about to close; a list may, as it can be sent again. A
// connection of HTTP/2 is not closed for a call: others may be using it. Without TLS only a response tells the
// protocol. A transport of the host may send a request whose body net/http cannot read again.
func TestConnectionsAboutToClose(t *testing.T) {
	http2 := func(client *http.Client) {
		protocols := new(http.Protocols)
		protocols.SetUnencryptedHTTP2(true)
		client.Transport.(*http.Transport).Protocols = protocols
	}
	bodiesOnce := func(client *http.Client) {
		next := client.Transport
		client.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			r = r.Clone(r.Context())
			r.GetBody = nil
			return next.RoundTrip(r)
		})
	}
	for name, test := range map[string]struct {
		keeps  string // Keep-Alive of the server
		rest   time.Duration
		call   string
		change func(client *http.Client)
		dials  int32 // for three calls
	}{
		"about to close":     {"timeout=5, max=100", 4 * time.Second, "tools/call", nil, 3},
		"in two fields":      {"max=100, Timeout=5", time.Minute, "tools/call", nil, 3},
		"not yet":            {"timeout=5", 3900 * time.Millisecond, "tools/call", nil, 1},
		"kept for long":      {"timeout=65", time.Minute, "tools/call", nil, 1},
		"kept for a second":  {"timeout=1", 400 * time.Millisecond, "tools/call", nil, 1},
		"kept for no time":   {"timeout=0", 3 * time.Second, "tools/call", nil, 1},
		"not a number":       {"timeout=soon", 4 * time.Second, "tools/call", nil, 3},
		"not said":           {"", 4 * time.Second, "tools/call", nil, 3},
		"not said, yet":      {"", 3900 * time.Millisecond, "tools/call", nil, 1},
		"a list":             {"timeout=5", time.Minute, "tools/list", nil, 1},
		"HTTP/2 without TLS": {"", time.Minute, "tools/call", http2, 1},
		"bodies once":        {"", time.Minute, "tools/call", bodiesOnce, 3},
	} {
		bubble(t, name, func(t *testing.T) {
			s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
				if test.keeps != "" {
					w.Header().Set("Keep-Alive", test.keeps)
				}
				if m.Method == "tools/list" {
					_, _ = fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{"tools":[]}}`, m.ID)
					return
				}
				answerCall(w, r, m)
			})
			c, dialed := counted(t, s, test.change)
			for range 3 {
				check.Must(t, check.Err(c.Call(t.Context(), test.call, nil)))
				time.Sleep(test.rest)
			}
			check.Equal(t, "connections", dialed.Load(), test.dials)
		})
	}
}

// If a server ends its stream soon, the first call reuses the connection of the handshake. One left open delays no call for long.
func TestConnectionAfterHandshake(t *testing.T) {
	for name, tt := range map[string]struct {
		ends   time.Duration // of the stream, after the answer
		took   time.Duration // Connect
		reused bool
	}{
		"at once":      {0, 0, true},
		"soon":         {50 * time.Millisecond, 50 * time.Millisecond, true},
		"not for long": {time.Hour, 100 * time.Millisecond, false},
	} {
		bubble(t, name, func(t *testing.T) {
			s := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
				if m.Method != "server/discover" {
					answerCall(w, r, m)
					return
				}
				stream(w)(handshakeAnswer(m))
				select {
				case <-time.After(tt.ends):
				case <-r.Context().Done():
				}
			})
			start := time.Now()
			c := connectTo(t, s, modern())
			check.Equal(t, "Connect took", time.Since(start), tt.took)
			var reused bool
			trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }}
			callText(t, httptrace.WithClientTrace(t.Context(), trace), c, "a", "a")
			check.Equal(t, "the connection was used again", reused, tt.reused)
		})
	}
}

// A server may compress JSON responses and event streams, also after a redirect, and error responses.
func TestCompressedAnswers(t *testing.T) {
	for media, begin := range map[string]string{"application/json": "", "text/event-stream": "data: "} {
		var asked []string
		overModernHTTP(t, func(w http.ResponseWriter, r *http.Request, m message) {
			if m.Params.Name == "moved" && r.URL.Path == "/" {
				http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
				return
			}
			asked = append(asked, r.Header.Values("Accept-Encoding")...)
			w.Header().Set("Content-Type", media)
			w.Header().Set("Content-Encoding", "gzip")
			zipped(w, begin+answerTo(m)+"\n\n")
		}, func(t *testing.T, c *mcpclient.Client) {
			callText(t, t.Context(), c, "a", "a")
			callText(t, t.Context(), c, "moved", "moved")
		})
		check.Same(t, media, asked, []string{"gzip", "gzip"})
	}
}

// The limit of a message applies to the uncompressed size.
func TestCompressedBomb(t *testing.T) {
	var spaces bytes.Buffer
	zipped(&spaces, strings.Repeat(" ", 1<<20))
	bomb := bytes.Repeat(spaces.Bytes(), 64)
	overHTTP(t, modern(), func(w http.ResponseWriter, _ *http.Request, _ message) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = jsonWriter(w).Write(bomb)
	}, func(t *testing.T, c *mcpclient.Client) {
		n := check.Allocated(func() { check.Is(t, check.Err(c.CallTool(t.Context(), "a", nil)), transport.ErrMessageTooLarge) })
		check.That(t, n <= 8<<20, "got %d bytes allocated, want a few MiB", n)
	}, func(h *mcpclient.HTTP) { h.MaxMessage = 1 << 20 })
}

// The host's own choice of compression is respected.
func TestCompressionAsWanted(t *testing.T) {
	for name, test := range map[string]struct {
		transport func(*mcpclient.HTTP)
		want      string
	}{
		"disabled": {func(h *mcpclient.HTTP) { h.Client.Transport.(*http.Transport).DisableCompression = true }, ""},
		"another":  {func(h *mcpclient.HTTP) { h.Header = http.Header{"accept-encoding": {"br"}} }, "br"},
		"wrapped":  {func(h *mcpclient.HTTP) { h.WrapTransport = watched(func(*http.Request) {}) }, "gzip"}, // by net/http
	} {
		var asked string
		overHTTP(t, modern(), func(w http.ResponseWriter, r *http.Request, m message) {
			asked = r.Header.Get("Accept-Encoding")
			answerCall(w, r, m)
		}, func(t *testing.T, c *mcpclient.Client) { callText(t, t.Context(), c, "a", "a") }, test.transport)
		check.Equal(t, name, asked, test.want)
	}
}

func zipped(w io.Writer, text string) {
	z := gzip.NewWriter(w)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
}

// If the server closes a new connection at once, a request that is safe to repeat is sent on another one.
func TestClosedNewConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &cutter{cut: func(*http.Request, int) bool { return false }}
		s := httpServer(t, server.serve)
		s.Transport().DisableKeepAlives = true // no connection is used twice
		var ends []net.Conn
		dial := s.Transport().DialContext
		s.Transport().DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
			if len(ends) == 0 {
				return dial(ctx, network, addr)
			}
			end := ends[0]
			ends = ends[1:]
			return end, nil
		}
		client := s.Client()
		client.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { synctest.Wait() }} // until net/http has noticed the end
			return s.Transport().RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
		})
		closed := func() net.Conn {
			ours, theirs := net.Pipe()
			_ = theirs.Close()
			return ours
		}
		c := connectedBy(t, s.URL(), client, modern())
		ends = []net.Conn{closed(), closed()}
		start := time.Now()
		check.NoError(t, check.Err(c.Call(t.Context(), "tools/list", nil)))
		check.That(t, time.Since(start) >= 250*time.Millisecond, "got it after %v, want an answer to the third request", time.Since(start))
		ends = []net.Conn{closed()}
		wantError[*transport.BrokenError](t, check.Err(c.Call(t.Context(), "tools/call", nil)))
		check.Same(t, "requests", server.got, []string{"tools/list"})
	})
}

// A request whose stream an HTTP/2 server resets is sent again if that is safe.
func TestResetOverHTTP2(t *testing.T) {
	var resets atomic.Int32 // remaining
	answers := &cutter{cut: func(*http.Request, int) bool { return false }}
	s := httptest.NewUnstartedServer(httpHandler(func(w http.ResponseWriter, r *http.Request, m message) {
		if resets.Add(-1) >= 0 {
			panic(http.ErrAbortHandler)
		}
		answers.serve(w, r, m)
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	c := connectedBy(t, s.URL, s.Client(), modern())
	resets.Store(1)
	check.NoError(t, check.Err(c.Call(t.Context(), "tools/list", nil)))
	check.That(t, resets.Load() < 0, "got %d resets left", resets.Load())
	resets.Store(1)
	wantError[*transport.BrokenError](t, check.Err(c.Call(t.Context(), "tools/call", nil)))
}

// The error for a connection that an HTTP/2 server leaves says that the request may have had an effect.
func TestGoAway(t *testing.T) {
	for name, end := range map[string]string{
		"goaway": "\x00\x00\x08\x07\x00\x00\x00\x00\x00" + "\x00\x00\x00\x01" + "\x00\x00\x00\x02", // it processed stream 1; INTERNAL_ERROR
		"none":   "",
	} {
		t.Run(name, func(t *testing.T) {
			tlsOnly := httptest.NewUnstartedServer(nil)
			tlsOnly.EnableHTTP2 = true
			tlsOnly.StartTLS()
			defer tlsOnly.Close()
			l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: tlsOnly.TLS.Certificates, NextProtos: []string{"h2"}})
			check.Must(t, err)
			var serving sync.WaitGroup
			defer serving.Wait()
			defer func() { _ = l.Close() }()
			serving.Go(func() {
				for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
					serving.Go(func() { leave(conn, end) })
				}
			})
			err = connectError(t, &mcpclient.HTTP{URL: "https://" + l.Addr().String(), Client: tlsOnly.Client()}, modern())
			wantError[*transport.BrokenError](t, err)
			check.That(t, !mcpclient.Unsent(err), "got %v as of a request that was not sent", err)
		})
	}
}

// leave waits for a request over HTTP/2, writes end and closes the connection.
func leave(conn net.Conn, end string) {
	defer func() { _ = conn.Close() }()
	if _, err := io.CopyN(io.Discard, conn, int64(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return
	}
	_, _ = io.WriteString(conn, "\x00\x00\x00\x04\x00\x00\x00\x00\x00") // SETTINGS
	for {
		var head [9]byte
		_, err := io.ReadFull(conn, head[:])
		size := int64(head[0])<<16 | int64(head[1])<<8 | int64(head[2])
		if _, short := io.CopyN(io.Discard, conn, size); err != nil || short != nil {
			return
		}
		if kind, flags := head[3], head[4]; kind <= 1 && flags&1 != 0 { // the last DATA or HEADERS of the stream
			_, _ = io.WriteString(conn, end)
			return
		}
	}
}
