package mcpclient_test

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

const bothMedia = "application/json, text/event-stream"

// Both media types are tried first, and then less.
func TestAccept(t *testing.T) {
	for takes, want := range map[string][]string{ // the Accept headers of two calls
		bothMedia:          {bothMedia, bothMedia},
		"application/json": {bothMedia, "application/json", "application/json"},
		"*/*":              {bothMedia, "application/json", "*/*", "*/*"},
		"":                 {bothMedia, "application/json", "*/*", "", ""},
		"nothing":          {bothMedia, "application/json", "*/*", "", bothMedia, "application/json", "*/*", ""},
	} {
		var got []string
		overHTTP(t, modern(), func(w http.ResponseWriter, r *http.Request, m message) {
			if got = append(got, r.Header.Get("Accept")); r.Header.Get("Accept") != takes {
				w.WriteHeader(http.StatusNotAcceptable)
				return
			}
			answerCall(w, r, m)
		}, func(t *testing.T, c *mcpclient.Client) {
			for range 2 {
				err := check.Err(c.CallTool(t.Context(), "a", nil))
				if takes == "nothing" {
					wantStatus(t, err, http.StatusNotAcceptable)
				} else {
					check.NoError(t, err)
				}
			}
		})
		check.Same(t, takes, got, want)
	}
}

// A RoundTripper sees each HTTP request before it is sent, and its response: a request that is repeated with another token twice.
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
				answerCall(w, r, m)
			}
		})
		var log []string
		asked := 0
		c := connected(t, &mcpclient.HTTP{
			URL: s.URL(), Client: s.Client(), Header: http.Header{"X-Key": {"secret-key"}},
			WrapTransport: wrapped(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
				log = append(log, r.Method+" "+r.Header.Get("Mcp-Method"))
				_, unsent := r.Header["Idempotency-Key"]
				check.That(t, !unsent, "a RoundTripper that signs requests sees a field that is not sent")
				resp, err := next.RoundTrip(r)
				if err == nil {
					log = append(log, fmt.Sprint(r.Header.Get("Mcp-Method"), " ", resp.StatusCode))
				}
				return resp, err
			}),
			Token: tokenFunc(func(_ context.Context, r *transport.Refusal) (transport.Token, error) {
				if r == nil {
					return transport.Token{Value: "first"}, nil
				}
				asked++
				check.That(t, r.Token == "first" && r.Status == http.StatusUnauthorized && r.Header.Get("Www-Authenticate") != "", "got %+v", r)
				return transport.Token{Value: "second"}, nil
			}),
		}, modern())
		log = nil
		callText(t, t.Context(), c, "json", "json")
		callText(t, t.Context(), c, "stream", "stream")
		e := wantError[*transport.HTTPError](t, check.Err(c.CallTool(t.Context(), "private", nil)))
		check.That(t, e.Status == http.StatusUnauthorized && e.Body == "who is [secret]?", "got %v", e)
		check.NoError(t, c.Notify(t.Context(), "notifications/acme", nil))
		check.Same(t, "round trips", log, []string{
			"POST tools/call", "tools/call 200",
			"POST tools/call", "tools/call 200",
			"POST tools/call", "tools/call 401", "POST tools/call", "tools/call 401",
			"POST notifications/acme", "notifications/acme 202",
		})
		check.Equal(t, "times asked", asked, 1)
		check.That(t, strings.HasPrefix(agent, "mcpchain"), "got user agent %q", agent)
	})
}

// If the server forgets the session and refuses the old token, the new session begins with the renewed token.
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
		_ = token.ChangeUser("old")
		c := connectWith(t, serve(t, s), token, legacy())
		s.forget()
		valid = "Bearer new"
		wantTools(t, t.Context(), c, "a")
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
			answerCall(w, r, m)
		})
		token := renews("new")
		h := &mcpclient.HTTP{URL: s.URL(), Client: s.Client(), Token: token}
		c := connected(t, h, modern())
		callText(t, t.Context(), c, "a", "a")
		h.Token = nil // the connection has its own copy
		check.NoError(t, token.ChangeUser("old"))
		callText(t, t.Context(), c, "a", "a")
	})
}

// A host's RoundTripper may omit the request of its response.
func TestResponseWithoutRequest(t *testing.T) {
	overHTTP(t, legacy(), func(w http.ResponseWriter, _ *http.Request, m message) {
		if m.Params.Name == "missing" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		stream(w)(answerTo(m))
	}, func(t *testing.T, c *mcpclient.Client) {
		callText(t, t.Context(), c, "a", "a")
		e := wantError[*transport.HTTPError](t, check.Err(c.CallTool(t.Context(), "missing", nil)))
		check.That(t, e.Method == http.MethodPost && e.Status == http.StatusNotFound, "got %v", e)
	}, func(h *mcpclient.HTTP) {
		h.WrapTransport = wrapped(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err == nil {
				resp.Request = nil
			}
			return resp, err
		})
	})
}

func wrapped(f func(next http.RoundTripper, r *http.Request) (*http.Response, error)) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) { return f(next, r) })
	}
}

// Each header field is sent once, however the host spells its name.
func TestHeaderNames(t *testing.T) {
	var got http.Header
	token := new(transport.Bearer)
	overHTTP(t, modern(), func(w http.ResponseWriter, r *http.Request, m message) {
		got = r.Header.Clone()
		answerCall(w, r, m)
	}, func(t *testing.T, c *mcpclient.Client) {
		for _, next := range []string{"", "token"} {
			check.Must(t, token.ChangeUser(next))
			callText(t, t.Context(), c, "a", "a")
			for key, want := range map[string][]string{
				"Authorization": {"Bearer " + cmp.Or(next, "fixed")}, "User-Agent": {"host/1"}, "Accept": {bothMedia}, "X-Key": {"1", "2", "3"},
			} {
				check.Same(t, key, got[key], want)
			}
		}
	}, func(h *mcpclient.HTTP) {
		h.Token = token
		h.Header = http.Header{"authorization": {"Bearer fixed"}, "user-agent": {"host/1"}, "ACCEPT": {"text/html"}, "X-Key": {"1"}, "x-key": {"2", "3"}}
	})
}

// endless is a host's own response body that ignores its context.
type endless chan struct{}

func (e endless) Read([]byte) (int, error) { <-e; return 0, io.EOF }
func (e endless) Close() error             { return nil }

// A body that continues after the end of its request does not delay Close.
func TestCloseWithEndlessBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, body := httpServer(t, nil), make(endless)
		defer close(body)
		c := connected(t, &mcpclient.HTTP{URL: s.URL(), Client: s.Client(), WrapTransport: wrapped(func(next http.RoundTripper, r *http.Request) (*http.Response, error) {
			resp, err := next.RoundTrip(r)
			if err == nil && resp.StatusCode == http.StatusAccepted {
				_ = resp.Body.Close()
				resp.Body = body
			}
			return resp, err
		})}, modern())
		check.NoError(t, c.Notify(t.Context(), "notifications/acme", nil))
		start := time.Now()
		check.NoError(t, c.Close())
		within(t, "Close", start, time.Second)
	})
}

// Some responses to the probe mean that a server is legacy, and others mean nothing.
func TestProbeStatus(t *testing.T) {
	code := func(n int) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"error":{"code":%d,"message":"no"}}`, n)
	}
	rpc, missing, modernCode := code(-32600), code(-32601), code(mcp.CodeHeaderMismatch)
	for _, test := range []struct {
		status int
		body   string
		legacy bool
	}{
		{400, "", true}, {400, "Bad Request: Server not initialized", true}, {400, rpc, true},
		{404, "", true}, {404, rpc, true}, {405, "", true}, {406, "", true}, {415, rpc, true}, {422, "{}", true},
		{404, missing, true}, {200, missing, true},
		{400, code(-32001), true}, {400, code(-32003), true}, {400, code(-32004), true}, // no meaning may be assumed
		{200, rpc, true}, {202, "", true}, {200, "<html>", true}, {501, "", false},
		{400, modernCode, false}, {200, modernCode, false}, {500, modernCode, false},
		{401, "", false}, {401, rpc, false}, {403, "", false}, {403, rpc, false},
		{408, "", false}, {429, "", false}, {429, rpc, false}, {500, "", false}, {500, rpc, false}, {503, rpc, false},
	} {
		bubble(t, fmt.Sprint(test.status, test.body), func(t *testing.T) {
			var methods []string
			s := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
				methods = append(methods, m.Method)
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			})
			err := connectError(t, &mcpclient.HTTP{URL: s.URL(), Client: s.Client()}, mcpclient.Options{Limits: mcpclient.Limits{Retries: -1}})
			check.Fails(t, err)
			check.That(t, (len(methods) > 1) == test.legacy, "got requests %q and %v", methods, err)
			if test.status/100 != 2 && test.body == "" {
				wantStatus(t, err, test.status)
			}
		})
	}
}

// A network failure means nothing about the server either.
func TestProbeUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, http.NotFoundHandler())
		s.Refuse(true)
		check.Text(t, connectError(t, &mcpclient.HTTP{URL: s.URL(), Client: s.Client()}, mcpclient.Options{}), "server/discover")
	})
}

func TestRedirects(t *testing.T) {
	for location, want := range map[string]string{
		"http://other.test/mcp":                "redirect to another origin refused: use the URL http://other.test/mcp",
		"https://memhttp.test/mcp":             "redirect to another origin",
		"/loop":                                "more than 5 redirects",
		"/moved":                               "",
		"http://MemHTTP.test:80/moved":         "",
		"http://[" + strings.Repeat("a", 2000): "…",
		"/found":                               "redirect that would turn POST into GET refused: use the URL http://memhttp.test/found",
	} {
		bubble(t, location, func(t *testing.T) {
			hosts := map[string]bool{}
			s := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
				switch hosts[strings.TrimSuffix(strings.ToLower(r.Host), ":80")] = true; {
				case r.URL.Path == "/moved":
					check.Equal(t, "Authorization", r.Header.Get("Authorization"), "Bearer secret-key")
					check.Equal(t, "after the redirect", m.Method, "server/discover")
					_, _ = io.WriteString(jsonWriter(w), handshakeAnswer(m))
				case location == "/found":
					http.Redirect(w, r, location, http.StatusFound)
				default:
					http.Redirect(w, r, location, http.StatusTemporaryRedirect)
				}
			})
			h := &mcpclient.HTTP{URL: s.URL() + "/mcp", Client: s.Client(), Header: http.Header{"Authorization": {"Bearer secret-key"}}}
			err := connectError(t, h, modern())
			check.That(t, (want == "") == (err == nil) && strings.Contains(fmt.Sprint(err), want), "got %v, want %q", err, want)
			check.That(t, len(hosts) == 1, "the request reached %v", hosts)
			check.That(t, h.Client.CheckRedirect == nil, "the caller's client was changed")
		})
	}
}

func jsonWriter(w http.ResponseWriter) io.Writer {
	w.Header().Set("Content-Type", "application/json")
	return w
}

// Neither the caller's secrets nor the session appear in an error or the log, whatever the server does.
func TestErrorsHideSecrets(t *testing.T) {
	secrets := []string{"user-token", "pass-word", "query-token", "header-key", "bearer-token", "session-id"}
	echo := strings.Join(secrets, " ")
	replies := func(status int, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = strings.NewReplacer("$ID", r.Header.Get("Test-Id"), "$ECHO", echo).WriteString(w, text)
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"401":  func(w http.ResponseWriter, _ *http.Request) { http.Error(w, echo, http.StatusUnauthorized) },
		"404":  func(w http.ResponseWriter, _ *http.Request) { http.Error(w, echo, http.StatusNotFound) },
		"html": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>"+echo) },
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://other.test/?"+r.URL.RawQuery, http.StatusTemporaryRedirect)
		},
		"location": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "http://[::1/?"+r.URL.RawQuery)
			w.WriteHeader(http.StatusTemporaryRedirect)
		},
		"cut":   func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"empty": func(http.ResponseWriter, *http.Request) {},
		"echo": func(w http.ResponseWriter, r *http.Request) {
			_ = json.NewEncoder(jsonWriter(w)).Encode(map[string]any{"headers": r.Header})
		},
		"no object":        replies(200, `{"jsonrpc":"2.0","id":$ID,"result":"$ECHO"}`),
		"content":          replies(200, `{"jsonrpc":"2.0","id":$ID,"result":{"content":[],"isError":"$ECHO"}}`),
		"error":            replies(200, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"$ECHO","data":{"echo":["$ECHO"],"$ECHO":1}}}`),
		"error object":     replies(200, `{"jsonrpc":"2.0","id":$ID,"error":"$ECHO"}`),
		"error and status": replies(503, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32000,"message":"$ECHO"}}`),
		"other id":         replies(200, `{"jsonrpc":"2.0","id":"$ECHO","result":{}}`),
		"stream":           func(w http.ResponseWriter, _ *http.Request) { stream(w) },
	} {
		bubble(t, name, func(t *testing.T) {
			s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
				r.Header.Set("Test-Id", string(m.ID))
				answer(w, r)
			})
			o, log := logs(legacy(), slog.LevelDebug)
			client := s.Client()
			client.Transport = sessionID(client.Transport, "session-id")
			c := connected(t, &mcpclient.HTTP{
				URL:    "http://user-token:pass-word@memhttp.test/mcp?token=query-token",
				Header: http.Header{"X-Key": {"header-key"}, "Authorization": {"Bearer bearer-token"}},
				Client: client,
			}, o)
			err := check.Err(c.CallTool(t.Context(), "a", nil))
			check.Fails(t, err)
			s.Drop()
			s.Refuse(true)
			refused := check.Err(c.CallTool(t.Context(), "a", nil))
			_ = c.Close()
			text := fmt.Sprintf("%v\n%v\n%+v\n%s", err, refused, c.Err(), log.String())
			if status, ok := errors.AsType[*transport.HTTPError](err); ok {
				text += "\n" + status.Body + status.URL
			}
			if rpc, ok := errors.AsType[*mcp.RPCError](err); ok {
				text += "\n" + rpc.Message + string(rpc.Data)
			}
			for _, secret := range secrets {
				check.That(t, !strings.Contains(text, secret), "%q is in:\n%s", secret, text)
			}
		})
	}
	for _, url := range []string{"http://u:pass-word@[::1/mcp", "ftp://u:pass-word@h/mcp?query-token", "pass-word"} {
		err := check.Err((&mcpclient.HTTP{URL: url}).Dial(t.Context()))
		check.That(t, err != nil && (!strings.Contains(err.Error(), "pass-word") || url == "pass-word") && !strings.Contains(err.Error(), "query-token"),
			"%s: got %v", url, err)
	}
}

// The user name in a URL is a token at some hosts. Both halves of the user info may return in the form of Basic authentication.
func TestDiscoveryHidesSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
			auth := r.Header.Get("Authorization")
			_, _ = fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":[%q],"protocolVersion":%q}}`, m.ID, auth, auth)
		})
		err := connectError(t, &mcpclient.HTTP{URL: "http://user-token:pass-word@memhttp.test/mcp", Client: s.Client()}, mcpclient.Options{})
		check.Text(t, err, "[secret]")
		check.That(t, !strings.Contains(fmt.Sprint(err), base64.StdEncoding.EncodeToString([]byte("user-token:pass-word"))), "got %v, which has them", err)
	})
}

// sessionID adds a session to the responses of a transport.
func sessionID(next http.RoundTripper, id string) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil {
			resp.Header.Set("Mcp-Session-Id", id)
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Both forms of Retry-After are read, and invalid ones are ignored.
func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		after := ""
		s := served(t, func(w http.ResponseWriter, _ *http.Request, _ message) {
			w.Header().Set("Retry-After", after)
			w.WriteHeader(429)
		})
		for value, want := range map[string]time.Duration{
			"7": 7 * time.Second, "-1": 0, "999999999999": 24 * time.Hour, "soon": 0,
			time.Now().Add(time.Minute).UTC().Format(http.TimeFormat): time.Minute,
			time.Now().Add(-time.Hour).UTC().Format(http.TimeFormat):  0,
		} {
			after = value
			err := connectError(t, &mcpclient.HTTP{URL: s.URL(), Client: s.Client()}, mcpclient.Options{Limits: mcpclient.Limits{Retries: -1}})
			check.Equal(t, value, wantError[*transport.HTTPError](t, err).RetryAfter, want)
		}
	})
}

// Short session ids and tokens are not redacted, because that would spoil ordinary text.
func TestShortSecretsStay(t *testing.T) {
	const data = `{"retryAfter":10,"fields":["a","name"]}`
	token := new(transport.Bearer)
	overHTTP(t, legacy(), func(w http.ResponseWriter, _ *http.Request, m message) {
		fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"1 name","data":%s}}`, m.ID, data)
	}, func(t *testing.T, c *mcpclient.Client) {
		for _, next := range []string{"name", "a"} {
			check.Must(t, errors.Join(token.ChangeUser(next), c.Notify(t.Context(), "notifications/acme", nil)))
		}
		e := wantError[*mcp.RPCError](t, check.Err(c.CallTool(t.Context(), "a", nil)))
		check.That(t, e.Message == "1 name" && string(e.Data) == data, "got %q with %s, want it as the server sent it", e.Message, e.Data)
	}, func(h *mcpclient.HTTP) { h.Token, h.Client.Transport = token, sessionID(h.Client.Transport, "1") })
}
