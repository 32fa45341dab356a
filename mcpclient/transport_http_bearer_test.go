package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/internal/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// A changed token begins a new session, and ends the old one with the old token.
func TestBearerToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &forgetful{streams: make(chan struct{})}
		var mu sync.Mutex
		var got []string
		server := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			got = append(got, strings.TrimSpace(fmt.Sprint(r.Method, " ", r.Header.Get("Mcp-Session-Id"), " ", r.Header.Get("Authorization"))))
			mu.Unlock()
			s.ServeHTTP(w, r)
		}))
		defer server.Close()
		requests := func() []string {
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			out := got
			got = nil
			return out
		}
		o := heeding(legacy())
		c, err := mcpclient.Connect(t.Context(), &mcpclient.HTTP{URL: server.URL(), Client: server.Client(), Header: http.Header{"Authorization": {"Bearer fixed"}}}, &o)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		requests()
		set := func(token, session string, want ...string) {
			t.Helper()
			if err := c.SetBearerToken(t.Context(), token); err != nil {
				t.Errorf("%q: %v", token, err)
			}
			if err := c.Ping(t.Context()); err != nil {
				t.Error(err)
			}
			if got := c.SessionID(); got != session {
				t.Errorf("%q: got session %q, want %q", token, got, session)
			}
			all := requests()
			for _, w := range want {
				if i := indexOf(all, w); i < 0 {
					t.Errorf("%q: no %q among %q", token, w, all)
				}
			}
		}
		set("one", "s-2", "POST  Bearer one", "POST s-2 Bearer one", "GET s-2 Bearer one", "DELETE s-1 Bearer fixed")
		set("one", "s-2", "POST s-2 Bearer one")
		set("two", "s-3", "POST  Bearer two", "DELETE s-2 Bearer one", "POST s-3 Bearer two")
		set("", "s-4", "POST  Bearer fixed", "DELETE s-3 Bearer two", "POST s-4 Bearer fixed")
		for _, bad := range []string{"with space", "line\nbreak", "ünïcode", "Bearer s3cret"} {
			if err := c.SetBearerToken(t.Context(), bad); err == nil || strings.Contains(err.Error(), bad) {
				t.Errorf("%q: got %v", bad, err)
			}
		}
	})
}

// In the modern era, and where there is no HTTP, a token takes no session.
func TestBearerTokenWithoutSession(t *testing.T) {
	var got string
	h := func(w http.ResponseWriter, r *http.Request, m message) {
		got = r.Header.Get("Authorization")
		http.Error(w, "no "+got+" of late-token", http.StatusForbidden)
	}
	overModernHTTP(t, h, func(t *testing.T, c *mcpclient.Client) {
		for _, token := range []string{"late-token", "next-token"} {
			if err := c.SetBearerToken(t.Context(), token); err != nil {
				t.Fatal(err)
			}
			_, err := c.CallTool(t.Context(), "a", nil)
			if got != "Bearer "+token || err == nil || strings.Contains(err.Error(), token) || strings.Contains(err.Error(), "late-token") {
				t.Errorf("the server got %q, the caller %v", got, err)
			}
		}
	})
	inBubble(t, legacy(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		if err := c.SetBearerToken(t.Context(), "token"); err != nil {
			t.Error(err)
		}
		p.quiet()
	})
}

// A hook that is asked while Connect runs sets the token of the client to be, also
// where the first request is part of the dial.
func TestBearerTokenWhileConnecting(t *testing.T) {
	var hooked []*mcpclient.Client
	hook := func(ctx context.Context, x mcpclient.HTTPExchange) bool {
		hooked = append(hooked, x.Client)
		return x.Client.SetBearerToken(ctx, "fresh") == nil
	}
	connect := func(t *testing.T, served http.Handler, transport func(url string, client *http.Client) mcpclient.Transport, opts *mcpclient.Options) {
		hooked = nil
		server := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer fresh" {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			served.ServeHTTP(w, r)
		}))
		defer server.Close()
		c, err := mcpclient.Connect(t.Context(), transport(server.URL()+"/sse", server.Client()), opts)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if len(hooked) != 1 || hooked[0] != c {
			t.Errorf("the hook was given %v, want once the client, %p", hooked, c)
		}
	}
	t.Run("HTTP", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			connect(t, &forgetful{streams: make(chan struct{})}, func(url string, client *http.Client) mcpclient.Transport {
				return &mcpclient.HTTP{URL: url, Client: client, Unauthorized: hook}
			}, nil)
		})
	})
	t.Run("SSE", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newOldServer(t)
			go s.shake()
			connect(t, s, func(url string, client *http.Client) mcpclient.Transport {
				return &mcpclient.SSE{URL: url, Client: client, Header: http.Header{"X-Key": {"k"}}, Unauthorized: hook}
			}, &mcpclient.Options{Protocol: mcpclient.Protocol{Revision: mcpclient.Revision20241105}})
		})
	})
}

// A hook may look at its client while that has no connection yet, as in the dial of
// HTTP+SSE, whose posts have the same client.
func TestHooksSeeClientWhileConnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newOldServer(t)
		go s.shake()
		server := memhttp.New(s)
		defer server.Close()
		seen := map[string]*mcpclient.Client{}
		transport := direct(server.URL()+"/sse", server.Client()).(*mcpclient.SSE)
		transport.Before = func(_ context.Context, x mcpclient.HTTPExchange) {
			seen[x.HTTPMethod] = x.Client
			if x.Client.SessionID() != "" || x.Client.Transport() != transport || x.Client.Server().Revision != "" {
				t.Errorf("%s: the client has a session, another transport or a server", x.HTTPMethod)
			}
		}
		c, err := mcpclient.Connect(t.Context(), transport, &mcpclient.Options{Protocol: mcpclient.Protocol{Revision: mcpclient.Revision20241105}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if seen["GET"] != c || seen["POST"] != c {
			t.Errorf("the hook was given %v, want the client, %p", seen, c)
		}
	})
}

// The token of the client is that of its connection, also where the host's transport
// dials with a context of its own.
func TestBearerTokenOfForeignDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last atomic.Value
		s := &forgetful{streams: make(chan struct{})}
		server := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			last.Store(r.Header.Get("Authorization"))
			s.ServeHTTP(w, r)
		}))
		defer server.Close()
		o := legacy()
		c, err := mcpclient.Connect(t.Context(), dialer(func(context.Context) (mcpclient.Conn, error) {
			return (&mcpclient.HTTP{URL: server.URL(), Client: server.Client()}).Dial(context.Background())
		}), &o)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if err := errors.Join(c.SetBearerToken(t.Context(), "token"), c.Ping(t.Context())); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		if err := c.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		if got := last.Load(); got != "Bearer token" {
			t.Errorf("the server got %q, want the token", got)
		}
	})
}

// Who has sent a token is told that it was refused, and how another is set.
func TestUnauthorizedSaysWhatToDo(t *testing.T) {
	for want, header := range map[string]http.Header{
		"in the Header of its transport": nil,
		"by Client.SetBearerToken":       {"Authorization": {"Bearer expired"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
			defer server.Close()
			_, err := mcpclient.Connect(t.Context(), &mcpclient.HTTP{URL: server.URL(), Client: server.Client(), Header: header}, nil)
			if wantError[*mcpclient.HTTPError](t, err); !strings.Contains(err.Error(), want) {
				t.Errorf("with the header %v: got %v, want %q", header, err, want)
			}
		})
	}
}

// The end of a session is told with the credentials that it had. The hook is not
// asked where they are refused: it would answer with those of another session.
func TestEndOfSessionUnauthorized(t *testing.T) {
	for name, header := range map[string]http.Header{"fixed": {"authorization": {"Bearer fixed"}}, "none": nil} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &forgetful{streams: make(chan struct{})}
				var mu sync.Mutex
				var got []string
				server := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodDelete {
						s.ServeHTTP(w, r)
						return
					}
					mu.Lock()
					got = append(got, strings.TrimSpace(r.Header.Get("Mcp-Session-Id")+" "+r.Header.Get("Authorization")))
					mu.Unlock()
					w.WriteHeader(http.StatusUnauthorized)
				}))
				defer server.Close()
				o := legacy()
				c, err := mcpclient.Connect(t.Context(), &mcpclient.HTTP{
					URL: server.URL(), Client: server.Client(), Header: header,
					Unauthorized: func(_ context.Context, x mcpclient.HTTPExchange) bool {
						t.Errorf("asked about %s", x.HTTPMethod)
						return true
					},
				}, &o)
				if err != nil {
					t.Fatal(err)
				}
				if err := c.SetBearerToken(t.Context(), "token"); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				if err := c.Close(); err != nil {
					t.Error(err)
				}
				first := "s-1"
				if header != nil {
					first += " Bearer fixed"
				}
				if diff := cmp.Diff([]string{first, "s-2 Bearer token"}, got); diff != "" {
					t.Errorf("ended sessions, got +, want -:\n%s", diff)
				}
			})
		})
	}
}

// A token that the hook sets while the stream of HTTP+SSE is opened anew is that of
// the stream, and of what is posted then.
func TestTokenRefusedWhileStreamRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := newOldServer(t), newOldServer(t)
		var current atomic.Pointer[oldServer]
		current.Store(first)
		server := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s := current.Load()
			if s == second && r.Header.Get("Authorization") != "Bearer new-token" {
				http.Error(w, "no "+r.Header.Get("Authorization"), http.StatusUnauthorized)
				return
			}
			s.ServeHTTP(w, r)
		}))
		defer server.Close()
		go first.shake()
		transport := direct(server.URL()+"/sse", server.Client()).(*mcpclient.SSE)
		asked := 0
		transport.Unauthorized = func(ctx context.Context, x mcpclient.HTTPExchange) bool {
			asked++
			if strings.Contains(x.Body, "old-token") {
				t.Errorf("the hook was shown %q", x.Body)
			}
			return x.Client.SetBearerToken(ctx, "new-token") == nil
		}
		c, err := mcpclient.Connect(t.Context(), transport, &mcpclient.Options{
			Protocol: mcpclient.Protocol{Revision: mcpclient.Revision20241105},
			Restart:  &mcpclient.Restart{Attempts: 1},
		})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if err := c.SetBearerToken(t.Context(), "old-token"); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		current.Store(second)
		close(first.say)
		go func() {
			second.shake()
			second.say <- answerTo(<-second.got)
		}()
		synctest.Wait()
		if _, err := c.CallTool(t.Context(), "a", nil); err != nil || asked != 1 {
			t.Errorf("got %v after %d questions, want the result after 1", err, asked)
		}
	})
}

// tokenServer is a legacy server over HTTP that takes a while to begin a session,
// and begins none with the tokens that it refuses. Its list of tools has no end.
type tokenServer struct {
	refused []string
	took    time.Duration // to begin a session

	mu  sync.Mutex
	got []string
	n   int
}

func (s *tokenServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m message
	_ = json.NewDecoder(r.Body).Decode(&m)
	token := r.Header.Get("Authorization")
	s.mu.Lock()
	s.got = append(s.got, strings.Join(strings.Fields(fmt.Sprint(r.Method, m.Method, " ", r.Header.Get("Mcp-Session-Id"), " ", token)), " "))
	s.mu.Unlock()
	switch {
	case m.Method == "initialize":
		time.Sleep(s.took)
		if slices.Contains(s.refused, token) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		s.mu.Lock()
		s.n++
		w.Header().Set("Mcp-Session-Id", fmt.Sprint("s-", s.n))
		s.mu.Unlock()
		fmt.Fprint(jsonWriter(w), handshakeAnswer(m))
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "tools/list":
		fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"a","inputSchema":{}}],"nextCursor":"c"}}`, m.ID)
	default:
		fmt.Fprint(jsonWriter(w), answerTo(m))
	}
}

// seen returns what came, sorted and once each, since the last call.
func (s *tokenServer) seen() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.got
	s.got = nil
	slices.Sort(out)
	return slices.Compact(out)
}

func withTokenServer(t *testing.T, f func(t *testing.T, c *mcpclient.Client, s *tokenServer)) {
	synctest.Test(t, func(t *testing.T) {
		s := &tokenServer{refused: []string{"Bearer two"}, took: time.Second}
		server := memhttp.New(s)
		defer server.Close()
		o := legacy()
		c, err := mcpclient.Connect(t.Context(), &mcpclient.HTTP{URL: server.URL(), Client: server.Client(), Header: http.Header{"Authorization": {"Bearer one"}}}, &o)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		s.seen()
		f(t, c, s)
	})
}

// Where no session could begin with one token while the next is being set already,
// the session that there is goes on with the former, and never with the latter.
func TestTokenSetWhileOneIsRefused(t *testing.T) {
	withTokenServer(t, func(t *testing.T, c *mcpclient.Client, s *tokenServer) {
		var all sync.WaitGroup
		all.Go(func() {
			if err := c.SetBearerToken(t.Context(), "two"); err == nil {
				t.Error("two: got no error")
			}
		})
		synctest.Wait()
		all.Go(func() {
			if err := c.SetBearerToken(t.Context(), "three"); err != nil {
				t.Errorf("three: %v", err)
			}
		})
		synctest.Wait()
		for range 50 { // which go on as soon as the first has failed, some of them before the second
			all.Go(func() {
				if err := c.Ping(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		seen := s.seen()
		for _, one := range []string{"POSTinitialize Bearer two", "POSTinitialize Bearer three", "DELETE s-1 Bearer two"} {
			has(t, seen, one, true)
		}
		has(t, seen, "POSTping s-1 Bearer three", false)
	})
}

// What is left after each error that SetBearerToken may have.
func TestTokenAfterError(t *testing.T) {
	ping := func(t *testing.T, c *mcpclient.Client, s *tokenServer, want string) {
		t.Helper()
		s.seen()
		if err := c.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		has(t, s.seen(), "POSTping "+want, true)
	}
	withTokenServer(t, func(t *testing.T, c *mcpclient.Client, s *tokenServer) {
		if err := c.SetBearerToken(t.Context(), "no token"); err == nil {
			t.Error("no token: got no error")
		}
		ping(t, c, s, "s-1 Bearer one")
		if err := c.SetBearerToken(t.Context(), "two"); err == nil {
			t.Error("refused: got no error")
		}
		ping(t, c, s, "s-1 Bearer two")

		soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := c.SetBearerToken(soon, "three"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("too late: got %v", err)
		}
		ping(t, c, s, "s-2 Bearer three") // which waited for it
	})
	withTokenServer(t, func(t *testing.T, c *mcpclient.Client, s *tokenServer) {
		first := make(chan error)
		go func() { first <- c.SetBearerToken(t.Context(), "two") }()
		synctest.Wait()
		soon, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := c.SetBearerToken(soon, "three"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("too late to begin: got %v", err)
		}
		if err := <-first; err == nil {
			t.Error("refused: got no error")
		}
		ping(t, c, s, "s-1 Bearer two")
		if err := c.SetBearerToken(t.Context(), "three"); err != nil {
			t.Errorf("once more: %v", err)
		}
		ping(t, c, s, "s-2 Bearer three")
	})
}

// Where the hook sets another token in place of one that is refused, and that is
// refused too, the session goes on with the last.
func TestTokenOfHookIsRefusedToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &tokenServer{refused: []string{"Bearer two", "Bearer three"}}
		server := memhttp.New(s)
		defer server.Close()
		o := legacy()
		c, err := mcpclient.Connect(t.Context(), &mcpclient.HTTP{
			URL: server.URL(), Client: server.Client(),
			Unauthorized: func(ctx context.Context, x mcpclient.HTTPExchange) bool {
				return x.Client.SetBearerToken(ctx, "three") == nil
			},
		}, &o)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if err := c.SetBearerToken(t.Context(), "two"); err == nil {
			t.Error("got no error")
		}
		if err := c.Ping(t.Context()); err != nil {
			t.Error(err)
		}
		has(t, s.seen(), "POSTping s-1 Bearer three", true)
	})
}
