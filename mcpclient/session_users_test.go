package mcpclient_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// diplomat is a legacy server over HTTP that asks questions in calls of the tool "ask", and on
// the standalone stream when told to. It refuses requests in a session with the credentials of
// another user, unless it is lax, and sessions with some credentials.
type diplomat struct {
	diary
	asks    chan struct{} // each value is a question in the call
	says    chan string   // messages for a standalone stream
	slow    time.Duration // delay of a new session
	lax     bool
	refused string
	forget  bool // the next request finds no session

	log      *logged           // of the client
	sessions map[string]string // credentials by id
	answers  chan struct{}     // one for each answer
}

func newDiplomat() *diplomat {
	return &diplomat{asks: make(chan struct{}), says: make(chan string), sessions: map[string]string{}, answers: make(chan struct{}, 10)}
}

func (d *diplomat) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := readMessage(r)
	session, credentials := r.Header.Get("Mcp-Session-Id"), r.Header.Get("Authorization")
	what := cmp.Or(m.Method, r.Method)
	if m.Method == "" && m.raw != "" {
		what = "answer " + string(m.ID)
	}
	d.write("%s", strings.Join(strings.Fields(fmt.Sprint(what, " ", session, " ", credentials)), " "))
	if m.Method == "initialize" {
		time.Sleep(d.slow)
		if d.refused != "" && credentials == d.refused {
			w.WriteHeader(http.StatusForbidden)
			return
		}
	}
	d.mu.Lock()
	if m.Method == "initialize" {
		session = fmt.Sprint("s-", len(d.sessions)+1)
		d.sessions[session] = credentials
		w.Header().Set("Mcp-Session-Id", session)
	}
	right, known := d.sessions[session]
	d.mu.Unlock()
	switch {
	case d.forget:
		d.forget = false
		w.WriteHeader(http.StatusNotFound)
	case !known || right != credentials && !d.lax:
		w.WriteHeader(http.StatusForbidden)
	case m.Method == "initialize":
		fmt.Fprint(jsonWriter(w), handshakeAnswer(m))
	case m.Method == "tools/call" && m.Params.Name == "ask":
		send := stream(w)
		for {
			select {
			case _, more := <-d.asks:
				if !more {
					send(answerTo(m))
					return
				}
				send(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage","params":%s}`, samplingParams))
				<-d.answers
			case <-r.Context().Done():
				return
			}
		}
	case r.Method == http.MethodGet:
		passOn(r, d.says, stream(w))
	case m.Method == "" && m.raw != "":
		w.WriteHeader(http.StatusAccepted)
		d.answers <- struct{}{}
	case m.ID == nil:
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "tools/list": // which has no end
		fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"a","inputSchema":{}}],"nextCursor":"c"}}`, m.ID)
	default:
		fmt.Fprint(jsonWriter(w), answerTo(m))
	}
}

func has(t *testing.T, seen []string, one string, want bool) {
	t.Helper()
	got := slices.Contains(seen, one)
	check.That(t, got == want, "%q seen is %t, want %t: %q", one, got, want, seen)
}

// withDiplomat runs f with a client that has the token "one", and answers questions after a while.
func withDiplomat(t *testing.T, while time.Duration, f func(t *testing.T, c *mcpclient.Client, d *diplomat, token *transport.Bearer)) {
	synctest.Test(t, func(t *testing.T) {
		d := newDiplomat()
		o := samples(legacy(), func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			time.Sleep(while)
			return tea(), nil
		})
		o, d.log = logs(o, slog.LevelDebug)
		o.Timeouts.Idle, o.Timeouts.Call = -1, -1 // for calls that outlive sessions
		token := bearer("one")
		c := connectWith(t, serve(t, d), token, o)
		d.read()
		f(t, c, d, token)
	})
}

// change makes the client continue as another user.
func change(t *testing.T, c *mcpclient.Client, token *transport.Bearer, to string) {
	t.Helper()
	check.Must(t, errors.Join(token.ChangeUser(to), c.Ping(t.Context())))
}

// A call continues in its session when another user's token begins another: its questions,
// answers and result stay there. Then the old session ends.
func TestCallOutlivesToken(t *testing.T) {
	withDiplomat(t, 0, func(t *testing.T, c *mcpclient.Client, d *diplomat, token *transport.Bearer) {
		call := goCall(t.Context(), c, "ask")
		synctest.Wait()
		change(t, c, token, "two")
		callText(t, t.Context(), c, "a", "a")
		time.Sleep(time.Hour)
		seen := d.read()
		has(t, seen, "tools/call s-2 Bearer two", true)
		has(t, seen, "DELETE s-1 Bearer one", false)
		d.asks <- struct{}{}
		has(t, d.read(), "answer 1 s-1 Bearer one", true)
		close(d.asks)
		check.Equal(t, "the call of the old session", <-call, outcome{text: "ask"})
		check.Same(t, "after that", d.read(), []string{"DELETE s-1 Bearer one"})
	})
}

// No error shows the id of a session, also not of one that continues after another has begun.
func TestErrorOfAnOldSessionHidesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		changed, sessions := make(chan struct{}), 0
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			if m.Method == "tools/call" {
				<-changed
				http.Error(w, "no route to "+r.Header.Get("Mcp-Session-Id"), http.StatusBadGateway)
				return
			}
			fmt.Fprint(jsonWriter(w), answerTo(m))
		})
		client, token := s.Client(), bearer("one")
		client.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
			resp, err := s.Client().Transport.RoundTrip(r)
			if err == nil && r.Header.Get("Mcp-Session-Id") == "" {
				sessions++
				resp.Header.Set("Mcp-Session-Id", fmt.Sprint("session-", sessions))
			}
			return resp, err
		})
		c := connected(t, &mcpclient.HTTP{URL: s.URL(), Client: client, Token: token}, legacy())
		call := goCall(t.Context(), c, "a")
		synctest.Wait()
		change(t, c, token, "two")
		close(changed)
		err := (<-call).err
		check.That(t, err != nil && c.SessionID() == "session-2" && !strings.Contains(err.Error(), "session-1"), "got %v", err)
	})
}

// A session has the token of one user only. If the user changes while it begins, it ends.
func TestTokenChangesWhileSessionBegins(t *testing.T) {
	withDiplomat(t, 0, func(t *testing.T, c *mcpclient.Client, d *diplomat, source *transport.Bearer) {
		d.slow = time.Second
		var setting sync.WaitGroup
		for _, token := range []string{"two", "three"} {
			_ = source.ChangeUser(token)
			setting.Go(func() { check.NoError(t, c.Ping(t.Context()), token) })
			synctest.Wait()
		}
		setting.Wait()
		callText(t, t.Context(), c, "a", "a")
		seen := d.read()
		for _, one := range []string{"DELETE s-1 Bearer one", "initialize Bearer two", "DELETE s-2 Bearer two", "tools/call s-3 Bearer three"} {
			has(t, seen, one, true)
		}
		has(t, seen, "notifications/initialized s-2 Bearer three", false)
	})
}

// If the token is refused while a session begins, it continues with the renewed one.
func TestTokenRefusedWhileSessionBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []string
		server := serve(t, &sessionServer{instead: func(w http.ResponseWriter, r *http.Request, m message) bool {
			credentials := r.Header.Get("Authorization")
			if r.Method == http.MethodPost {
				got = append(got, strings.TrimSpace(m.Method+" "+credentials))
			}
			if m.Method == "initialize" || credentials != "Bearer two" {
				return false
			}
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}})
		token := renews("three")
		c := connectWith(t, server, token, legacy())
		check.NoError(t, errors.Join(token.ChangeUser("two"), c.Notify(t.Context(), "notifications/acme", nil)))
		want := []string{
			"initialize", "notifications/initialized", "initialize Bearer two", "notifications/initialized Bearer two",
			"notifications/initialized Bearer three", "notifications/acme Bearer three",
		}
		check.Same(t, "", got, want)
	})
}

// Questions with the same id in two sessions are different.
func TestSameIDInTwoSessions(t *testing.T) {
	withDiplomat(t, time.Minute, func(t *testing.T, c *mcpclient.Client, d *diplomat, token *transport.Bearer) {
		first := goCall(t.Context(), c, "ask")
		d.asks <- struct{}{}
		synctest.Wait()
		change(t, c, token, "two")
		second := goCall(t.Context(), c, "ask")
		d.asks <- struct{}{}
		synctest.Wait()
		time.Sleep(2 * time.Minute)
		seen := d.read()
		has(t, seen, "answer 1 s-1 Bearer one", true)
		has(t, seen, "answer 1 s-2 Bearer two", true)
		close(d.asks)
		check.NoError(t, errors.Join((<-first).err, (<-second).err))
	})
}

// An answer that is ready after its session has ended is dropped, because it means nothing in the next one.
func TestAnswerToEndedSession(t *testing.T) {
	withDiplomat(t, time.Minute, func(t *testing.T, c *mcpclient.Client, d *diplomat, token *transport.Bearer) {
		d.says <- fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"sampling/createMessage","params":%s}`, samplingParams)
		synctest.Wait()
		change(t, c, token, "two")
		has(t, d.read(), "DELETE s-1 Bearer one", true)
		time.Sleep(time.Hour)
		for _, what := range d.read() {
			check.That(t, !strings.HasPrefix(what, "answer"), "got %q, want no answer", what)
		}
		text := d.log.String()
		check.That(t, strings.Count(text, `level=DEBUG msg="answer to the server dropped"`) == 1 && !strings.Contains(text, "level=WARN"), "the log has no Debug of the answer, or a warning:\n%s", text)
	})
}

// Close ends the current session, and the previous one whose calls are still running.
func TestCloseEndsAllSessions(t *testing.T) {
	withDiplomat(t, 0, func(t *testing.T, c *mcpclient.Client, d *diplomat, token *transport.Bearer) {
		call := goCall(t.Context(), c, "ask")
		synctest.Wait()
		change(t, c, token, "two")
		d.read()
		start := time.Now()
		check.NoError(t, c.Close())
		within(t, "Close", start, 0)
		check.Fails(t, (<-call).err, "the call continued")
		seen := d.read()
		has(t, seen, "DELETE s-1 Bearer one", true)
		has(t, seen, "DELETE s-2 Bearer two", true)
	})
}

// If the token of an old session has expired, its messages have the renewed one.
func TestOldSessionWithNewToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut := make(chan struct{})
		var resumed diary
		server := serve(t, &sessionServer{instead: func(w http.ResponseWriter, r *http.Request, m message) bool {
			credentials := r.Header.Get("Authorization")
			switch {
			case m.Method == "tools/call":
				stream(w)
				fmt.Fprintf(w, "id: %s\nretry: 10\ndata:\n\n", m.ID)
				w.(http.Flusher).Flush()
				<-cut
			case r.Method == http.MethodGet:
				resumed.write("%s %s", r.Header.Get("Mcp-Session-Id"), credentials)
				if credentials != "Bearer two" {
					w.WriteHeader(http.StatusUnauthorized)
					break
				}
				stream(w)(`{"jsonrpc":"2.0","id":` + r.Header.Get("Last-Event-Id") + `,"result":{"content":[]}}`)
			default:
				return false
			}
			return true
		}})
		token := renews("two")
		_ = token.ChangeUser("one")
		call := goCall(t.Context(), connectWith(t, server, token, legacy()), "a")
		synctest.Wait()
		close(cut)
		check.NoError(t, (<-call).err)
		check.Same(t, "the stream was taken up with", resumed.read(), []string{"s-1 Bearer one", "s-1 Bearer two"})
	})
}

// The old session ends even if the call that began the new one is cancelled. It continues if
// there is no new one, which only a call asks for again, and never has the token of another user.
func TestSessionOfAnImpatientCaller(t *testing.T) {
	for name, refused := range map[string]bool{"begun": false, "refused": true} {
		bubble(t, name, func(t *testing.T) {
			var got diary
			slow := false
			server := serve(t, &sessionServer{instead: func(w http.ResponseWriter, r *http.Request, m message) bool {
				got.write("%s", strings.TrimSpace(fmt.Sprint(r.Method, " ", r.Header.Get("Mcp-Session-Id"), " ", r.Header.Get("Authorization"))))
				if m.Method != "initialize" || !slow {
					return false
				}
				time.Sleep(time.Second)
				if refused {
					w.WriteHeader(http.StatusInternalServerError)
				}
				return refused
			}})
			token := new(transport.Bearer)
			c := connectWith(t, server, token, heeding(legacy()))
			slow = true
			_ = token.ChangeUser("two")
			check.Fails(t, c.Ping(withTimeout(t, time.Millisecond)), "it did not wait for the session")
			time.Sleep(time.Minute)
			check.Equal(t, "refused and unsent", mcpclient.Unsent(check.Err(c.CallTool(t.Context(), "a", nil))), refused)
			seen := got.read()
			has(t, seen, "DELETE s-1", !refused)
			has(t, seen, "POST s-1 Bearer two", false)
			has(t, seen, "POST s-2 Bearer two", !refused)
			asked := len(seen) - len(slices.DeleteFunc(seen, func(one string) bool { return one == "POST  Bearer two" }))
			check.Equal(t, "sessions asked for the other user", asked, map[bool]int{false: 1, true: 2}[refused])
		})
	}
}
