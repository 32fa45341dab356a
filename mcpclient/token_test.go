package mcpclient_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// Another user's token begins a new session and ends the old one with its own token. A renewed token continues the session.
func TestBearerToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got diary
		server := serve(t, &sessionServer{instead: func(_ http.ResponseWriter, r *http.Request, _ message) bool {
			got.write("%s", strings.TrimSpace(fmt.Sprint(r.Method, " ", r.Header.Get("Mcp-Session-Id"), " ", r.Header.Get("Authorization"))))
			return false
		}})
		token := new(transport.Bearer)
		c := connected(t, &mcpclient.HTTP{URL: server.URL(), Client: server.Client(), Token: token, Header: http.Header{"Authorization": {"Bearer fixed"}}}, heeding(legacy()))
		got.read()
		change := func(by func(string) error, token, session string, want ...string) {
			t.Helper()
			check.NoError(t, errors.Join(by(token), c.Ping(t.Context())), token)
			check.Equal(t, token, c.SessionID(), session)
			all := got.read()
			for _, w := range want {
				has(t, all, w, true)
			}
		}
		change(token.ChangeUser, "one", "s-2", "POST  Bearer one", "POST s-2 Bearer one", "GET s-2 Bearer one", "DELETE s-1 Bearer fixed")
		change(token.ChangeUser, "one", "s-2", "POST s-2 Bearer one")
		change(token.Renew, "one-b", "s-2", "POST s-2 Bearer one-b")
		change(token.ChangeUser, "two", "s-3", "POST  Bearer two", "DELETE s-2 Bearer one-b", "POST s-3 Bearer two")
		change(token.ChangeUser, "", "s-4", "POST  Bearer fixed", "DELETE s-3 Bearer two", "POST s-4 Bearer fixed")
		for _, bad := range []string{"with space", "line\nbreak", "ünïcode", "Bearer s3cret"} {
			for _, err := range []error{token.ChangeUser(bad), token.Renew(bad)} {
				check.That(t, err != nil && !strings.Contains(err.Error(), bad), "%q: got %v", bad, err)
			}
		}
	})
}

// In the modern era the next request has the new token, and no error contains a token, even if one is a prefix of another.
func TestBearerTokenWithoutSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got string
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			got = r.Header.Get("Authorization")
			http.Error(w, "no "+got+" of late-token", http.StatusForbidden)
		})
		token := new(transport.Bearer)
		c := connectWith(t, s, token, modern())
		for _, next := range []string{"late-token", "next-token", "next-token-s3cret"} {
			check.Must(t, token.ChangeUser(next))
			_, err := c.CallTool(t.Context(), "a", nil)
			check.That(t, got == "Bearer "+next && err != nil && !strings.Contains(err.Error(), next) && !strings.Contains(err.Error(), "late-token") && !strings.Contains(err.Error(), "s3cret"), "the server got %q, the caller %v", got, err)
		}
	})
}

func connectWith(t *testing.T, s *memhttp.Server, token transport.TokenSource, o mcpclient.Options) *mcpclient.Client {
	t.Helper()
	return connected(t, &mcpclient.HTTP{URL: s.URL(), Client: s.Client(), Token: token}, o)
}

func bearer(token string) *transport.Bearer {
	b := new(transport.Bearer)
	_ = b.ChangeUser(token)
	return b
}

// renews returns a source that replaces a refused token by another one of the same user.
func renews(token string) *transport.Bearer {
	b := new(transport.Bearer)
	b.Refused = func(context.Context, *transport.Refusal) error { return b.Renew(token) }
	return b
}

// The source is asked for another token during Connect, even if the first request is part of Dial.
func TestBearerTokenWhileConnecting(t *testing.T) {
	for _, sse := range []bool{false, true} {
		bubble(t, fmt.Sprint("SSE ", sse), func(t *testing.T) {
			var server http.Handler = new(sessionServer)
			revision := "" // probe
			if sse {
				old := newOldServer(t)
				go old.shake()
				server, revision = old, mcp.Revision20241105
			}
			s := served(t, func(w http.ResponseWriter, r *http.Request, _ message) {
				if r.Header.Get("Authorization") != "Bearer fresh" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				server.ServeHTTP(w, r)
			})
			asked, token := 0, new(transport.Bearer)
			token.Refused = func(context.Context, *transport.Refusal) error {
				asked++
				return token.Renew("fresh")
			}
			recipe := direct(s.URL()+"/sse", s.Client())
			recipe.SSE, recipe.Token = sse, token
			connected(t, recipe, speaking(revision))
			check.Equal(t, "times asked", asked, 1)
		})
	}
}

// If a static token is refused, the error says how to set another.
func TestUnauthorizedSaysWhatToDo(t *testing.T) {
	for want, header := range map[string]http.Header{
		"set HTTP.Token":             nil,
		"have HTTP.Token renew them": {"Authorization": {"Bearer expired"}},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
			err := connectError(t, &mcpclient.HTTP{URL: server.URL(), Client: server.Client(), Header: header}, mcpclient.Options{})
			wantError[*transport.HTTPError](t, err)
			check.Text(t, err, want, header)
		})
	}
}

// The end of a session is sent with the session's credentials. If they are refused, the source is not asked for others.
func TestEndOfSessionUnauthorized(t *testing.T) {
	for name, header := range map[string]http.Header{"fixed": {"authorization": {"Bearer fixed"}}, "none": nil} {
		bubble(t, name, func(t *testing.T) {
			var got diary
			server := serve(t, &sessionServer{instead: func(w http.ResponseWriter, r *http.Request, _ message) bool {
				if r.Method != http.MethodDelete {
					return false
				}
				got.write("%s", strings.TrimSpace(r.Header.Get("Mcp-Session-Id")+" "+r.Header.Get("Authorization")))
				w.WriteHeader(http.StatusUnauthorized)
				return true
			}})
			token := &transport.Bearer{Refused: func(_ context.Context, r *transport.Refusal) error {
				t.Errorf("asked about %+v", r)
				return nil
			}}
			c := connected(t, &mcpclient.HTTP{URL: server.URL(), Client: server.Client(), Header: header, Token: token}, legacy())
			check.NoError(t, errors.Join(token.ChangeUser("token"), c.Ping(t.Context())))
			synctest.Wait()
			check.NoError(t, c.Close())
			first := "s-1"
			if header != nil {
				first += " Bearer fixed"
			}
			check.Same(t, "ended sessions", got.read(), []string{first, "s-2 Bearer token"})
		})
	}
}

// A token that is renewed while an HTTP+SSE stream opens again is used for the stream and for later posts.
func TestTokenRefusedWhileStreamRestarts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := newOldServer(t), newOldServer(t)
		var current atomic.Pointer[oldServer]
		current.Store(first)
		server := served(t, func(w http.ResponseWriter, r *http.Request, _ message) {
			s := current.Load()
			if s == second && r.Header.Get("Authorization") != "Bearer new-token" {
				http.Error(w, "no "+r.Header.Get("Authorization"), http.StatusUnauthorized)
				return
			}
			s.ServeHTTP(w, r)
		})
		go first.shake()
		recipe := direct(server.URL()+"/sse", server.Client())
		asked, token := 0, new(transport.Bearer)
		token.Refused = func(_ context.Context, r *transport.Refusal) error {
			asked++
			check.That(t, r.Token == "old-token" && r.Status == http.StatusUnauthorized, "asked about %+v", r)
			return token.Renew("new-token")
		}
		recipe.Token = token
		opts := speaking(mcp.Revision20241105)
		opts.Limits.Restarts = 5
		c := connected(t, recipe, opts)
		check.Must(t, token.ChangeUser("old-token"))
		synctest.Wait()
		current.Store(second)
		close(first.say)
		go second.answerCall()
		synctest.Wait()
		check.NoError(t, check.Err(c.CallTool(t.Context(), "a", nil)))
		check.Equal(t, "asked", asked, 1)
	})
}

// Calls that find another user's token wait for one new session. Nothing is sent in a session with the token of another user.
func TestTokenSetWhileOneIsRefused(t *testing.T) {
	withDiplomat(t, 0, func(t *testing.T, c *mcpclient.Client, d *diplomat, token *transport.Bearer) {
		d.refused, d.slow = "Bearer two", time.Second
		_ = token.ChangeUser("two")
		together(20, func() { wantStatus(t, c.Ping(t.Context()), http.StatusForbidden) })
		check.Same(t, "two", slices.Compact(d.read()), []string{"initialize Bearer two"})
		for _, next := range []string{"two", "three"} { // while a session for "two" begins
			_ = token.ChangeUser(next)
			go func() { _ = c.Ping(t.Context()) }()
			synctest.Wait()
		}
		time.Sleep(time.Minute)
		check.NoError(t, c.Ping(t.Context()), "three")
		seen := d.read()
		has(t, seen, "initialize Bearer three", true)
		has(t, seen, "ping s-2 Bearer three", true)
		for _, wrong := range []string{"ping s-1 Bearer two", "ping s-1 Bearer three", "DELETE s-1 Bearer two", "DELETE s-1 Bearer three"} {
			has(t, seen, wrong, false)
		}
	})
}

// The session of a user continues when the source returns a token of that user again.
func TestTokenOfTheUserBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiplomat()
		d.refused, d.lax = "Bearer two", true
		token := transport.Token{Value: "one", Owner: "first"}
		c := connectWith(t, serve(t, d), tokenFunc(func(context.Context, *transport.Refusal) (transport.Token, error) {
			return token, nil
		}), legacy())
		token = transport.Token{Value: "two", Owner: "second"}
		check.Fails(t, c.Ping(t.Context()), "two")
		token = transport.Token{Value: "one-b", Owner: "first"}
		d.read()
		check.NoError(t, c.Ping(t.Context()))
		check.Same(t, "", d.read(), []string{"ping s-1 Bearer one-b"})
	})
}

// A source that returns another user each time is given up, even if each session can begin.
func TestTokenOfEverOtherUsers(t *testing.T) {
	for name, asks := range map[string]int{"in each request": 1, "in each session": 3} {
		bubble(t, name, func(t *testing.T) {
			asked, changes := 0, false
			c := connectWith(t, serve(t, newDiplomat()), tokenFunc(func(context.Context, *transport.Refusal) (transport.Token, error) {
				if changes {
					asked++
				}
				check.Require(t, asked <= 1000, "asked without end")
				return transport.Token{Value: "token", Owner: fmt.Sprint((asked + asks - 1) / asks)}, nil
			}), legacy())
			changes = true
			check.Text(t, c.Ping(t.Context()), "another user")
			changes = false
		})
	}
}

// A request is not repeated with the token that was refused.
func TestSameTokenIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		s := httpServer(t, func(w http.ResponseWriter, _ *http.Request, _ message) {
			calls++
			w.WriteHeader(http.StatusForbidden)
		})
		wantStatus(t, check.Err(connectWith(t, s, bearer("token"), modern()).CallTool(t.Context(), "a", nil)), http.StatusForbidden)
		check.Equal(t, "requests", calls, 1)
	})
}

// The stream of a session is never resumed with the token of another user.
func TestStreamOfOtherUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut := make(chan struct{})
		var resumed []string
		server := serve(t, &sessionServer{instead: func(w http.ResponseWriter, r *http.Request, m message) bool {
			switch {
			case m.Method == "tools/call":
				stream(w)
				fmt.Fprintf(w, "id: 1\nretry: 10\ndata:\n\n")
				w.(http.Flusher).Flush()
				<-cut
			case r.Method == http.MethodGet:
				resumed = append(resumed, r.Header.Get("Authorization"))
				w.WriteHeader(http.StatusForbidden)
			default:
				return false
			}
			return true
		}})
		token := bearer("one")
		token.Refused = func(context.Context, *transport.Refusal) error { return token.ChangeUser("other") }
		call := goCall(t.Context(), connectWith(t, server, token, legacy()), "a")
		synctest.Wait()
		close(cut)
		check.Fails(t, (<-call).err, "the call")
		check.Same(t, "the stream was taken up with", resumed, []string{"Bearer one"})
	})
}

// The error of the source is the error of the call, which also has the refusal, if there was one.
func TestTokenSourceFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) { w.WriteHeader(http.StatusUnauthorized) })
		errSignedOut, out := errors.New("signed out"), false
		c := connectWith(t, s, tokenFunc(func(_ context.Context, refused *transport.Refusal) (transport.Token, error) {
			if out || refused != nil {
				return transport.Token{}, errSignedOut
			}
			return transport.Token{Value: "token"}, nil
		}), modern())
		err := check.Err(c.CallTool(t.Context(), "a", nil))
		wantStatus(t, err, http.StatusUnauthorized)
		check.Is(t, err, errSignedOut, "refused")
		out = true
		check.Is(t, check.Err(c.CallTool(t.Context(), "a", nil)), errSignedOut, "asked")
	})
}

// A panic of the source fails the request, also if the client itself makes it. The log has its stack.
func TestTokenSourcePanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o, log := logs(heeding(legacy()), slog.LevelInfo)
		var broken atomic.Bool
		s := &sessionServer{instead: func(w http.ResponseWriter, r *http.Request, _ message) bool {
			refused := r.Method == http.MethodGet && broken.Load()
			if refused {
				w.WriteHeader(http.StatusUnauthorized)
			}
			return refused
		}}
		c := connectWith(t, serve(t, s), tokenFunc(func(context.Context, *transport.Refusal) (transport.Token, error) {
			if broken.Load() {
				panic("no token today")
			}
			return transport.Token{Value: "token"}, nil
		}), o)
		broken.Store(true)
		const panicked = "HTTP.Token: source panicked: no token today"
		check.Text(t, c.Ping(t.Context()), panicked)
		check.Text(t, c.Notify(t.Context(), "notifications/acme", nil), panicked)
		close(s.says("s-1")) // the client requests the stream again
		time.Sleep(time.Minute)
		check.Equal(t, "streams that ended", strings.Count(log.String(), "standalone stream ended"), 1)
		check.Equal(t, "stacks in the log", len(regexp.MustCompile("HTTP.Token panicked.*token_test.go").FindAllString(log.String(), -1)), 3)
		check.NoError(t, c.Close()) // which ends the session
	})
}

type tokenFunc func(ctx context.Context, refused *transport.Refusal) (transport.Token, error)

func (f tokenFunc) Token(ctx context.Context, refused *transport.Refusal) (transport.Token, error) {
	return f(ctx, refused)
}

type tokenUser struct{}

// A source with tokens of several users finds the user in the context of the call, as an http.RoundTripper does. What follows
// from the call without a caller has the same user.
func TestTokenByTheContextOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newDiplomat()
		var busy atomic.Bool
		server := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
			if busy.Load() && m.Method == "resources/subscribe" {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			s.ServeHTTP(w, r)
		})
		c := connectWith(t, server, usersTokens, undeclared(legacy()))
		as := func(user string) context.Context { return context.WithValue(t.Context(), tokenUser{}, user) }
		wantOnly := func(user, what string) {
			t.Helper()
			time.Sleep(time.Minute)
			seen := s.read()
			for _, one := range seen {
				check.That(t, strings.Contains(one, "of-"+user) || strings.HasPrefix(one, "DELETE"), "got %q, want the token of %s only", one, user)
			}
			has(t, seen, what+" Bearer s3cret-of-"+user, true)
		}
		s.read()
		check.NoError(t, c.Ping(as("bob")))
		wantOnly("bob", "ping s-2")
		check.Must(t, subscribed(t, as("bob"), c, onResources("file:///a")).Close())
		wantOnly("bob", "resources/unsubscribe s-2")
		subscribed(t, as("bob"), c, onResources("file:///a"))
		s.read()
		busy.Store(true)
		check.NoError(t, c.Ping(as("alice")))
		busy.Store(false)
		wantOnly("alice", "resources/subscribe s-3")
		s.forget = true
		check.NoError(t, c.Ping(as("alice")))
		wantOnly("alice", "ping s-4")
	})
}

// Without a session, the answer to a question in a call, and the notice that it was cancelled, are sent for the user of the call.
func TestTokenOfWhatFollowsACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got diary
		s := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
			got.write("%s %s", cmp.Or(m.Method, r.Method), r.Header.Get("Authorization"))
			switch {
			case m.Method == "initialize":
				fmt.Fprint(jsonWriter(w), handshakeAnswer(m))
			case m.Method == "tools/call":
				stream(w)(aQuestion)
				<-r.Context().Done()
			case r.Method == http.MethodGet:
				w.WriteHeader(http.StatusMethodNotAllowed)
			default:
				w.WriteHeader(http.StatusAccepted)
			}
		})
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), tokenUser{}, "bob"))
		c := connectWith(t, s, usersTokens, samples(legacy(), answersTea))
		got.read()
		call := goCall(ctx, c, "a")
		synctest.Wait()
		cancel()
		check.Is(t, (<-call).err, context.Canceled)
		synctest.Wait()
		check.Same(t, "", got.read(), []string{"tools/call Bearer s3cret-of-bob", "POST Bearer s3cret-of-bob", "notifications/cancelled Bearer s3cret-of-bob"})
	})
}

// usersTokens finds the user in the context.
var usersTokens = tokenFunc(func(ctx context.Context, _ *transport.Refusal) (transport.Token, error) {
	user, _ := ctx.Value(tokenUser{}).(string)
	return transport.Token{Value: "s3cret-of-" + user, Owner: user}, nil
})

// Requests whose token is refused share one call of Refused and its result, even without another token. The cancellation of
// one request is not theirs. A refusal of a token that has been replaced, and comes late, needs no call.
func TestTokenIsRefusedOnce(t *testing.T) {
	declined := errors.New("declined")
	for name, tt := range map[string]struct {
		token  string // after the refusal
		result error
		late   int // calls for a later refusal
	}{"renewed": {"two", nil, 0}, "declined": {"one", declined, 1}, "the same token": {"one", nil, 1}} {
		bubble(t, name, func(t *testing.T) {
			b := bearer("one")
			calls := 0
			b.Refused = func(ctx context.Context, _ *transport.Refusal) error {
				calls++
				time.Sleep(time.Second)
				if err := ctx.Err(); err != nil {
					return err
				}
				return cmp.Or(b.Renew(tt.token), tt.result)
			}
			refused := &transport.Refusal{Token: "one", Status: http.StatusUnauthorized}
			leaving, leave := context.WithCancel(t.Context())
			first := background(func() error { return check.Err(b.Token(leaving, refused)) })
			synctest.Wait()
			leave()
			together(20, func() {
				got, err := b.Token(t.Context(), refused)
				check.That(t, errors.Is(err, tt.result) && (err != nil || got.Value == tt.token), "got %q, %v", got.Value, err)
			})
			check.Is(t, <-first, context.Canceled)
			check.Equal(t, "calls", calls, 2)
			_, _ = b.Token(t.Context(), &transport.Refusal{Token: "one", Status: http.StatusForbidden})
			check.Equal(t, "calls, with the late one", calls, 2+tt.late)
		})
	}
}

// Refused says nothing of a token that is set meanwhile: a request that waits is repeated with that, which may be refused, too.
func TestTokenChangesDuringRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bearer("one")
		b.Refused = func(_ context.Context, r *transport.Refusal) error {
			time.Sleep(time.Second)
			return errors.New(r.Token + " declined")
		}
		refuse := func(token string) error {
			return check.Err(b.Token(t.Context(), &transport.Refusal{Token: token, Status: http.StatusUnauthorized}))
		}
		first := background(func() error { return refuse("one") })
		synctest.Wait()
		waiting := background(func() error { return refuse("one") })
		synctest.Wait()
		check.Must(t, b.ChangeUser("two"))
		check.Text(t, refuse("two"), "two declined")
		check.Text(t, <-first, "one declined")
		check.NoError(t, <-waiting)
	})
}

// No error contains a token, even if the source has tokens of many users.
func TestTokenOfManyUsersIsRedacted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			if m.Params.Name == "slow" {
				time.Sleep(time.Minute)
				w.WriteHeader(http.StatusBadGateway)
				fmt.Fprint(w, "cannot forward ", r.Header.Get("Authorization"))
				return
			}
			fmt.Fprint(jsonWriter(w), answerTo(m))
		})
		c := connectWith(t, s, usersTokens, modern())
		call := func(user, tool string) error {
			return check.Err(c.CallTool(context.WithValue(t.Context(), tokenUser{}, user), tool, nil))
		}
		slow := background(func() error { return call("alice", "slow") })
		synctest.Wait()
		for i := range 20 {
			check.NoError(t, call(fmt.Sprint("user", i), "quick"))
		}
		err := <-slow
		check.That(t, err != nil && !strings.Contains(err.Error(), "s3cret"), "got %v", err)
	})
}
