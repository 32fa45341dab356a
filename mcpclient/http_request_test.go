package mcpclient_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

const bothMedia = "application/json, text/event-stream"

func TestAccept(t *testing.T) {
	for name, test := range map[string]struct {
		takes func(accept []string) bool
		want  []string // the Accept headers of three calls
	}{
		"both": {func([]string) bool { return true }, []string{bothMedia, bothMedia, bothMedia}},
		"json": {func(a []string) bool { return len(a) == 1 && a[0] == "application/json" },
			[]string{bothMedia, "application/json", "application/json", "application/json"}},
		"any": {func(a []string) bool { return len(a) == 1 && a[0] == "*/*" },
			[]string{bothMedia, "application/json", "*/*", "*/*", "*/*"}},
		"none": {func(a []string) bool { return len(a) == 0 },
			[]string{bothMedia, "application/json", "*/*", "", "", ""}},
		"nothing": {func([]string) bool { return false },
			[]string{bothMedia, "application/json", "*/*", "", bothMedia, "application/json", "*/*", "", bothMedia, "application/json", "*/*", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			h := func(w http.ResponseWriter, r *http.Request, m message) {
				got = append(got, strings.Join(r.Header["Accept"], "|"))
				if !test.takes(r.Header["Accept"]) {
					w.WriteHeader(http.StatusNotAcceptable)
					return
				}
				_, _ = io.WriteString(jsonWriter(w), answerTo(m))
			}
			overModernHTTP(t, h, func(t *testing.T, c *mcpclient.Client) {
				for range 3 {
					_, err := c.CallTool(t.Context(), "a", nil)
					if name != "nothing" {
						noError(t, err)
					} else if e := wantError[*transport.HTTPError](t, err); e.Status != http.StatusNotAcceptable {
						t.Errorf("got %v", err)
					}
				}
				same(t, "", got, test.want)
			})
		})
	}
}

// The host's own Accept header is tried first.
func TestAcceptOfTheHost(t *testing.T) {
	for takes, want := range map[string][]string{
		"a/b":              {"a/b", "a/b"},
		bothMedia:          {"a/b", bothMedia, bothMedia},
		"application/json": {"a/b", bothMedia, "application/json", "application/json"},
		"":                 {"a/b", bothMedia, "application/json", "*/*", "", ""},
		"nothing":          {"a/b", bothMedia, "application/json", "*/*", "", "a/b", bothMedia, "application/json", "*/*", ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			var got []string
			s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
				got = append(got, r.Header.Get("Accept"))
				if r.Header.Get("Accept") != takes {
					w.WriteHeader(http.StatusNotAcceptable)
					return
				}
				_, _ = io.WriteString(jsonWriter(w), answerTo(m))
			})
			c := connected(t, &mcpclient.HTTP{URL: s.URL(), Client: s.Client(), Header: http.Header{"accept": {"a/b"}}}, modern())
			for range 2 {
				_, err := c.CallTool(t.Context(), "a", nil)
				wrong(t, (err != nil) != (takes == "nothing"), "%q: got %v", takes, err)
			}
			same(t, takes, got, want)
		})
	}
}

// A RoundTripper sees each HTTP request before it is sent, and its response: a request that is
// repeated with another token twice.
func TestHTTPHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := ""
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			agent = r.Header.Get("User-Agent")
			switch m.Params.Name {
			case "stream":
				stream(w)(answerTo(m))
			case "private":
				w.Header().Set("Www-Authenticate", `Bearer scope="all"`)
				http.Error(w, "who is secret-key?", http.StatusUnauthorized)
			default:
				_, _ = io.WriteString(jsonWriter(w), answerTo(m))
			}
		})
		var log []string
		asked := 0
		c := connected(t, &mcpclient.HTTP{
			URL: s.URL(), Client: s.Client(), Header: http.Header{"X-Key": {"secret-key"}},
			RoundTripper: func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					log = append(log, r.Method+" "+r.Header.Get("Mcp-Method"))
					resp, err := next.RoundTrip(r)
					if err == nil {
						log = append(log, fmt.Sprint(r.Header.Get("Mcp-Method"), " ", resp.StatusCode))
					}
					return resp, err
				})
			},
			Token: tokenFunc(func(_ context.Context, r *transport.Refusal) (transport.Token, error) {
				if r == nil {
					return transport.Token{Value: "first"}, nil
				}
				asked++
				wrong(t, r.Token != "first" || r.Status != http.StatusUnauthorized || r.Header.Get("Www-Authenticate") == "", "got %+v", r)
				return transport.Token{Value: "second"}, nil
			}),
		}, modern())
		log = nil
		callText(t, t.Context(), c, "json", "json")
		callText(t, t.Context(), c, "stream", "stream")
		_, err := c.CallTool(t.Context(), "private", nil)
		e := wantError[*transport.HTTPError](t, err)
		wrong(t, e.Status != http.StatusUnauthorized || e.Body != "who is [secret]?", "got %v", err)
		noError(t, c.Notify(t.Context(), "notifications/acme", nil))
		want := []string{
			"POST tools/call", "tools/call 200",
			"POST tools/call", "tools/call 200",
			"POST tools/call", "tools/call 401", "POST tools/call", "tools/call 401",
			"POST notifications/acme", "notifications/acme 202",
		}
		diff := cmp.Diff(want, log)
		wrong(t, diff != "" || asked != 1, "asked %d times; got +, want -:\n%s", asked, diff)
		wrong(t, !strings.HasPrefix(agent, "mcpchain"), "got user agent %q", agent)
	})
}

// If the server forgets the session and refuses the old token, the new session begins with the
// renewed token.
func TestTokenRefusedInRenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		valid := "Bearer old"
		s := &sessionServer{instead: func(w http.ResponseWriter, r *http.Request, _ message) bool {
			bad := r.Header.Get("Authorization") != valid && r.Header.Get("Mcp-Session-Id") != "s-1"
			if bad {
				w.WriteHeader(http.StatusUnauthorized)
			}
			return bad
		}}
		token := renews("new")
		_ = token.Set("old")
		c := connectWith(t, serve(t, s), token, legacy())
		s.forget()
		valid = "Bearer new"
		names, err := collect(c.Tools(t.Context()), toolName)
		wrong(t, err != nil || len(names) != 1, "got %q, %v", names, err)
	})
}

// The request is repeated with the renewed token.
func TestTokenRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			if r.Header.Get("Authorization") != "Bearer new" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			_, _ = io.WriteString(jsonWriter(w), answerTo(m))
		})
		token := renews("new")
		h := &mcpclient.HTTP{URL: s.URL(), Client: s.Client(), Token: token}
		c := connected(t, h, modern())
		callText(t, t.Context(), c, "a", "a")
		h.Token = nil // the connection has its own copy
		noError(t, token.Set("old"))
		callText(t, t.Context(), c, "a", "a")
	})
}

// A host's RoundTripper may omit the request of its response.
func TestResponseWithoutRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := httpServer(t, func(w http.ResponseWriter, _ *http.Request, m message) {
			if m.Params.Name == "missing" {
				w.WriteHeader(http.StatusNotFound)
				return
			}
			stream(w)(answerTo(m))
		})
		c := connected(t, &mcpclient.HTTP{URL: s.URL(), Client: s.Client(), RoundTripper: func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				resp, err := next.RoundTrip(r)
				if err == nil {
					resp.Request = nil
				}
				return resp, err
			})
		}}, legacy())
		callText(t, t.Context(), c, "a", "a")
		_, err := c.CallTool(t.Context(), "missing", nil)
		e := wantError[*transport.HTTPError](t, err)
		wrong(t, e.Method != http.MethodPost || e.Status != http.StatusNotFound, "got %v", err)
	})
}

// dialError is a host's own error.
type dialError struct{ said string }

func (e *dialError) Error() string { return "dial: " + e.said }

// An error of the host's RoundTripper can be found even if its text has a secret, which the
// text of the call's error does not have.
func TestSecretInErrorOfRoundTripper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := httpServer(t, nil)
		cause := &dialError{"the proxy refused secret-key"}
		c := connected(t, &mcpclient.HTTP{
			URL: s.URL(), Client: s.Client(), Header: http.Header{"X-Key": {"secret-key"}},
			RoundTripper: func(next http.RoundTripper) http.RoundTripper {
				return roundTripper(func(r *http.Request) (*http.Response, error) {
					if r.Header.Get("Mcp-Method") == "tools/call" {
						return nil, cause
					}
					return next.RoundTrip(r)
				})
			},
		}, modern())
		_, err := c.CallTool(t.Context(), "a", nil)
		equal(t, "", wantError[*dialError](t, err), cause)
		wrong(t, !strings.Contains(err.Error(), "the proxy refused [secret]"), "got %v, want its text without the secret", err)
	})
}

// Each header field is sent once, however the host spells its name.
func TestHeaderNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var got http.Header
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			mu.Lock()
			got = r.Header.Clone()
			mu.Unlock()
			_, _ = io.WriteString(jsonWriter(w), answerTo(m))
		})
		token := new(transport.Bearer)
		c := connected(t, &mcpclient.HTTP{URL: s.URL(), Client: s.Client(), Token: token, Header: http.Header{
			"authorization": {"Bearer fixed"}, "user-agent": {"host/1"}, "ACCEPT": {"text/html"},
			"X-Key": {"1"}, "x-key": {"2", "3"},
		}}, modern())
		check := func(authorization string) {
			t.Helper()
			callText(t, t.Context(), c, "a", "a")
			mu.Lock()
			defer mu.Unlock()
			for key, want := range map[string][]string{
				"Authorization": {authorization}, "User-Agent": {"host/1"}, "Accept": {"text/html"}, "X-Key": {"1", "2", "3"},
			} {
				same(t, key, got[key], want)
			}
		}
		check("Bearer fixed")
		must(t, token.Set("token"))
		check("Bearer token")
	})
}

// endless is a host's own response body that ignores its context.
type endless chan struct{}

func (e endless) Read([]byte) (int, error) { <-e; return 0, io.EOF }
func (e endless) Close() error             { return nil }

// A body that continues after the end of its request does not delay Close.
func TestCloseWithEndlessBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := httpServer(t, nil)
		body := make(endless)
		defer close(body)
		c := connected(t, &mcpclient.HTTP{URL: s.URL(), Client: s.Client(), RoundTripper: func(next http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				resp, err := next.RoundTrip(r)
				if err == nil && resp.StatusCode == http.StatusAccepted {
					_ = resp.Body.Close()
					resp.Body = body
				}
				return resp, err
			})
		}}, modern())
		noError(t, c.Notify(t.Context(), "notifications/acme", nil))
		start := time.Now()
		noError(t, c.Close())
		within(t, "Close", start, time.Second)
	})
}
