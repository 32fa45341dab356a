package mcpclient_test

import (
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
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// connectBy connects with a host's HTTP client.
func connectBy(t *testing.T, url string, client *http.Client, o mcpclient.Options) (*mcpclient.Client, error) {
	c, err := mcpclient.Connect(t.Context(), &mcpclient.HTTP{URL: url, Client: client}, &o)
	if err == nil {
		t.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}

// connectedBy is connectBy that must succeed.
func connectedBy(t *testing.T, url string, client *http.Client, o mcpclient.Options) *mcpclient.Client {
	t.Helper()
	return connected(t, &mcpclient.HTTP{URL: url, Client: client}, o)
}

// The cookies of the host's HTTP client are used.
func TestCookies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			got = append(got, r.Header.Get("Cookie"))
			http.SetCookie(w, &http.Cookie{Name: "replica", Value: "7"})
			_, _ = io.WriteString(jsonWriter(w), answerTo(m))
		})
		client := s.Client()
		client.Jar, _ = cookiejar.New(nil)
		c := connectedBy(t, s.URL(), client, modern())
		callText(t, t.Context(), c, "a", "a")
		callText(t, t.Context(), c, "b", "b")
		if len(got) != 2 || got[0] != "" || got[1] != "replica=7" {
			t.Errorf("got cookies %q, want that of the first answer in the second request", got)
		}
	})
}

// The timeout of the host's HTTP client applies.
func TestClientTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := httpServer(t, func(_ http.ResponseWriter, r *http.Request, _ message) { <-r.Context().Done() })
		client := s.Client()
		client.Timeout = 3 * time.Second
		c := connectedBy(t, s.URL(), client, modern())
		start := time.Now()
		_, err := c.CallTool(t.Context(), "a", nil)
		var timeout net.Error
		if !errors.As(err, &timeout) || !timeout.Timeout() {
			t.Errorf("got %v, want a timeout", err)
		}
		within(t, "the call", start, 3*time.Second)
	})
}

// tunnelError is a host's own error with a cause.
type tunnelError struct{ cause error }

func (e *tunnelError) Error() string { return "tunnel: " + e.cause.Error() }
func (e *tunnelError) Unwrap() error { return e.cause }

// The error of a host's RoundTripper can be found in the error of a call.
func TestErrorsOfTheTransport(t *testing.T) {
	for name, timeout := range map[string]time.Duration{"direct": 0, "by the client": time.Minute} {
		t.Run(name, func(t *testing.T) {
			client := &http.Client{Timeout: timeout, Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
				return nil, &tunnelError{&url.Error{Op: "Get", URL: "http://broker.test", Err: errors.New("503")}}
			}}}
			_, err := connectBy(t, "http://a.test/mcp?key=secret-query", client, legacy())
			if _, ok := errors.AsType[*tunnelError](err); !ok || !strings.Contains(err.Error(), "tunnel: ") || strings.Contains(err.Error(), "secret-query") {
				t.Errorf("got %v, want what the transport said", err)
			}
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
			_, err := connectBy(t, "http://a.test", &http.Client{Transport: transport}, modern())
			wantText(t, err, test.want)
		})
	}
}

// The error of net/http for a server without TLS is explained, unless a proxy caused it.
func TestHTTPSToAPlainServer(t *testing.T) {
	s := httptest.NewServer(http.NotFoundHandler())
	defer s.Close()
	address := strings.Replace(s.URL, "http://", "https://", 1)
	_, err := connectBy(t, address, nil, legacy())
	wantIs(t, err, http.ErrSchemeMismatch)
	proxy, err := url.Parse(address)
	must(t, err)
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}
	_, err = connectBy(t, "http://a.test", client, legacy())
	if _, ok := errors.AsType[tls.RecordHeaderError](err); !ok || errors.Is(err, http.ErrSchemeMismatch) {
		t.Errorf("got %v, want the error of the proxy", err)
	}
}

// A replaced http.DefaultTransport is used.
func TestDefaultTransport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := httpServer(t, func(w http.ResponseWriter, _ *http.Request, m message) {
			_, _ = io.WriteString(jsonWriter(w), answerTo(m))
		})
		before := http.DefaultTransport
		defer func() { http.DefaultTransport = before }()
		http.DefaultTransport = s.Transport()
		c := connectedBy(t, s.URL(), &http.Client{}, modern())
		called := false
		http.DefaultTransport = roundTripper(func(r *http.Request) (*http.Response, error) {
			called = true
			return s.Transport().RoundTrip(r)
		})
		callText(t, t.Context(), c, "a", "a")
		if !called {
			t.Error("the new default transport was not used")
		}
	})
}

// Messages without an answer share connections, whatever the server responds and however soon
// their senders leave.
func TestNotificationsShareConnections(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter){
		"empty":  func(w http.ResponseWriter) { w.WriteHeader(http.StatusAccepted) },
		"204":    func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) },
		"chunks": func(w http.ResponseWriter) { w.WriteHeader(http.StatusAccepted); w.(http.Flusher).Flush() },
		"null":   func(w http.ResponseWriter) { w.WriteHeader(http.StatusAccepted); _, _ = io.WriteString(w, "null") },
		"words": func(w http.ResponseWriter) {
			w.WriteHeader(http.StatusAccepted)
			_, _ = io.WriteString(w, "Accepted\n")
		},
	} {
		bubble(t, name, func(t *testing.T) {
			s := httpServer(t, func(w http.ResponseWriter, _ *http.Request, _ message) { answer(w) })
			client := s.Client()
			dialed := dials(client, 1024)
			defer client.CloseIdleConnections()
			c := connectedBy(t, s.URL(), client, modern())
			for i := range 100 {
				ctx, cancel := context.WithCancel(t.Context())
				must(t, c.Notify(ctx, fmt.Sprintf("x/%d", i), nil))
				cancel()
				synctest.Wait()
			}
			equal(t, "connections for 100 notifications", dialed.Load(), 1)
		})
	}
}

// A notification that is not accepted in time returns the error of the context.
func TestNotifyInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := httpServer(t, func(_ http.ResponseWriter, r *http.Request, _ message) { <-r.Context().Done() })
		c := connectedBy(t, s.URL(), s.Client(), modern())
		ctx := withTimeout(t, time.Second)
		wantIs(t, c.Notify(ctx, "x/slow", nil), context.DeadlineExceeded)
	})
}

// If the server ends its stream soon after the answer, the first call reuses the connection of
// the handshake. A server that keeps the stream open delays no call for long.
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
					_, _ = io.WriteString(jsonWriter(w), answerTo(m))
					return
				}
				stream(w)(handshakeAnswer(m))
				select {
				case <-time.After(tt.ends):
				case <-r.Context().Done():
				}
			})
			start := time.Now()
			c := connectedBy(t, s.URL(), s.Client(), modern())
			equal(t, "Connect took", time.Since(start), tt.took)
			var reused bool
			trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }}
			callText(t, httptrace.WithClientTrace(t.Context(), trace), c, "a", "a")
			equal(t, "the connection was used again", reused, tt.reused)
		})
	}
}
