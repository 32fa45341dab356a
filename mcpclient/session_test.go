package mcpclient_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
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
)

// sessionServer is a legacy server over HTTP that can forget its sessions. The test sends messages on its standalone streams.
type sessionServer struct {
	instead func(w http.ResponseWriter, r *http.Request, m message) bool // reports whether it has answered

	mu       sync.Mutex
	known    string // the current session
	count    int
	broken   int    // status of a failing initialize, or 0
	lost     int    // number of sessions to forget at once
	vague    bool   // a forgotten session gets status 400
	once     bool   // only one request finds the session forgotten
	refuses  string // a method that finds no session
	fleeting bool   // a session is forgotten when its stream ends, which happens at once
	streams  map[string]chan string
	got      diary // message, session and revision of each request
}

// on sets what answers instead for one method.
func (s *sessionServer) on(method string, answers func(w http.ResponseWriter, r *http.Request, m message) bool) {
	s.instead = func(w http.ResponseWriter, r *http.Request, m message) bool {
		return m.Method == method && answers(w, r, m)
	}
}

func (s *sessionServer) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

func (s *sessionServer) forget() { s.set(func() { s.known = "" }) }

// says returns the channel for messages on the standalone stream of a session, which ends when it is closed.
func (s *sessionServer) says(session string) chan string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.streams[session]
}

// seen returns the requests since the last call.
func (s *sessionServer) seen() []string { return s.got.read() }

// times returns the number of requests since the last call of seen by message, or by message and session.
func (s *sessionServer) times(what string) (n int) {
	synctest.Wait()
	s.got.mu.Lock()
	defer s.got.mu.Unlock()
	for _, one := range s.got.lines {
		if one == what || strings.HasPrefix(one, what+" ") {
			n++
		}
	}
	return n
}

func (s *sessionServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m, id := readMessage(r), r.Header.Get("Mcp-Session-Id")
	s.mu.Lock()
	s.got.write("%s", strings.TrimSpace(fmt.Sprintf("%s %s %s", cmp.Or(m.Method, r.Method), id, r.Header.Get("Mcp-Protocol-Version"))))
	known := id != "" && id == s.known && (m.Method == "" || m.Method != s.refuses)
	if !known && s.once {
		s.once, s.known = false, id
	}
	broken := s.broken
	s.mu.Unlock()
	switch {
	case s.instead != nil && s.instead(w, r, m):
	case m.Method == "initialize" && broken != 0:
		w.WriteHeader(broken)
	case m.Method == "initialize":
		w.Header().Set("Mcp-Session-Id", s.start())
		fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"logging":{}},"serverInfo":{"name":"peer","version":"1"}}}`, m.ID)
	case !known && s.vague && r.Method == http.MethodGet:
		http.Error(w, "Invalid or missing session ID", http.StatusBadRequest)
	case !known && s.vague:
		refuse(w, http.StatusBadRequest, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`)
	case !known:
		refuse(w, http.StatusNotFound, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`)
	case r.Method == http.MethodGet:
		s.speak(w, r, id)
	case m.ID == nil || m.Method == "":
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "tools/list":
		fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"a","inputSchema":{}}]}}`, m.ID)
	case m.Method == "acme/missing":
		refuse(w, http.StatusNotFound, refusal(m, `-32601,"message":"no such method"`))
	default:
		_, _ = io.WriteString(jsonWriter(w), answerTo(m))
	}
}

func refuse(w http.ResponseWriter, status int, text string) {
	to := jsonWriter(w)
	w.WriteHeader(status)
	_, _ = io.WriteString(to, text)
}

func (s *sessionServer) start() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	id := fmt.Sprint("s-", s.count)
	if s.known = id; s.lost > 0 {
		s.lost--
		s.known = "forgotten already"
	}
	if s.streams == nil {
		s.streams = map[string]chan string{}
	}
	s.streams[id] = make(chan string)
	return id
}

func (s *sessionServer) speak(w http.ResponseWriter, r *http.Request, id string) {
	says, send := s.says(id), stream(w)
	if s.fleeting && id != "s-1" {
		s.forget()
		return
	}
	passOn(r, says, send)
}

// passOn sends messages until the request or the channel ends.
func passOn(r *http.Request, says <-chan string, send func(string)) {
	for {
		select {
		case text, more := <-says:
			if !more {
				return
			}
			send(text)
		case <-r.Context().Done():
			return
		}
	}
}

// until waits for a channel or the end of the request.
func until[T any](r *http.Request, c <-chan T) {
	select {
	case <-c:
	case <-r.Context().Done():
	}
}

// inSession runs f with a client in session s-1.
func inSession(t *testing.T, f func(t *testing.T, c *mcpclient.Client, s *sessionServer)) {
	t.Helper()
	o := heeding(legacy())
	o.LogLevel = "warning"
	inSessionWith(t, o, f)
}

func inSessionWith(t *testing.T, o mcpclient.Options, f func(t *testing.T, c *mcpclient.Client, s *sessionServer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := new(sessionServer)
		c := connectTo(t, serve(t, s), o)
		s.seen()
		f(t, c, s)
	})
}

func wantSeen(t *testing.T, s *sessionServer, want ...string) {
	t.Helper()
	check.Same(t, "requests of the client", s.seen(), want)
}

func TestSessionLost(t *testing.T) {
	inSession(t, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		check.Must(t, c.SetLogLevel(t.Context(), "error"))
		s.seen()
		s.forget()
		wantTools(t, t.Context(), c, "a")
		check.Equal(t, "session", c.SessionID(), "s-2")
		got := s.seen()
		i := slices.Index(got, "GET s-2 2025-11-25") // the stream opens concurrently
		check.Require(t, i >= 0, "got no standalone stream among %q", got)
		check.Same(t, "", slices.Delete(got, i, i+1), []string{
			"tools/list s-1 2025-11-25", "initialize", "notifications/initialized s-2 2025-11-25", "logging/setLevel s-2 2025-11-25",
			"tools/list s-2 2025-11-25",
		})
	})
}

// A stream that the server refuses from the start may be that of a lost session, or one that the server does not have.
func TestStandaloneStreamOfLostSession(t *testing.T) {
	for name, session := range map[string]string{"lost": "s-2", "no stream": "s-1"} {
		t.Run(name, func(t *testing.T) {
			watching(t, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
				s.instead = func(w http.ResponseWriter, r *http.Request, _ message) bool {
					has := r.Method != http.MethodGet || session == "s-2"
					if !has {
						w.WriteHeader(http.StatusNotFound)
					}
					return !has
				}
				if session == "s-2" {
					s.forget()
				}
				subscribed(t, t.Context(), c, onTools)
				time.Sleep(time.Minute)
				check.Equal(t, "session", c.SessionID(), session)
			})
		})
	}
}

// The ping that asks about the session ends with the client, without a word.
func TestCloseDuringThePingForAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, pinged := new(sessionServer), make(chan bool, 1)
		s.instead = func(w http.ResponseWriter, r *http.Request, m message) bool {
			switch {
			case r.Method == http.MethodGet:
				w.WriteHeader(http.StatusNotFound)
			case m.Method == "ping":
				pinged <- true
				<-r.Context().Done()
			default:
				return false
			}
			return true
		}
		o, log := logs(heeding(legacy()), slog.LevelWarn)
		c := connectTo(t, serve(t, s), o)
		<-pinged
		check.Must(t, c.Close())
		check.Equal(t, "log", log.String(), "")
	})
}

// Some servers report a forgotten session with another status.
func TestSessionLostVaguely(t *testing.T) {
	inSession(t, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.vague = true
		s.forget()
		check.Must(t, c.Notify(t.Context(), "notifications/acme", nil))
		s.forget()
		check.Is(t, check.Err(c.CallTool(t.Context(), "a", nil)), mcpclient.ErrSessionLost)
		check.Equal(t, "session", c.SessionID(), "s-3")
	})
}

// The effects of a tool are unknown, so its call is not repeated. It counts as sent and unanswered, whatever keeps a new
// session from beginning.
func TestSessionLostInToolCall(t *testing.T) {
	var obstacle error
	o := legacy()
	o.Middleware = []mcpclient.Middleware{handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
		if r.Method == "initialize" && obstacle != nil {
			return nil, obstacle
		}
		return next(ctx, r)
	})}
	inSessionWith(t, o, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.instead = func(w http.ResponseWriter, r *http.Request, m message) bool {
			lost := m.Method == "acme/do" || m.Method == "tools/call" && r.Header.Get("Mcp-Session-Id") == "s-1"
			if lost {
				w.WriteHeader(http.StatusNotFound)
			}
			return lost
		}
		call := func() error { return check.Err(c.CallTool(t.Context(), "a", nil)) }
		for _, obstacle = range []error{&net.OpError{Op: "dial", Err: io.EOF}, new(mcp.SignInError), &mcp.RPCError{Message: "full"}, nil} {
			for _, call := range []func() error{call, func() error { return check.Err(c.Call(t.Context(), "acme/do", nil)) }} {
				err := call()
				wantBoth(t, err, mcpclient.ErrSessionLost, map[bool]string{true: "a new one has begun", false: "could not start"}[obstacle == nil])
				wantStatus(t, err, http.StatusNotFound)
				_, answered := errors.AsType[*mcp.RPCError](err)
				check.That(t, !mcpclient.Unsent(err) && !answered, "got proof that the call had no effect, or an answer, from %v", err)
			}
		}
		check.NoError(t, call(), "in the new session")
	})
}

func TestSessionRenewedOnce(t *testing.T) {
	inSession(t, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.forget()
		together(50, func() { check.NoError(t, listOnce(t.Context(), c)) })
		check.Equal(t, "new sessions", s.times("initialize"), 1)
	})
}

func TestSessionNotRenewed(t *testing.T) {
	inSession(t, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		wantCode(t, check.Err(c.Call(t.Context(), "acme/missing", nil)), mcp.CodeMethodNotFound)
		wantSeen(t, s, "acme/missing s-1 2025-11-25")

		s.set(func() { s.known, s.broken = "", http.StatusBadRequest })
		wantBoth(t, check.Err(collect(c.Tools(t.Context()), toolName)), mcpclient.ErrSessionLost, "could not start a new session: initialize")
		wantSeen(t, s, "tools/list s-1 2025-11-25", "initialize")

		s.set(func() { s.broken = 0 })
		check.NoError(t, listOnce(t.Context(), c), "after the server has recovered")
	})
}

// Middleware that ends the goroutine on which a session begins fails the calls that wait for it.
func TestSessionExits(t *testing.T) {
	o := legacy()
	o.Middleware = exitsOnSecond("initialize")
	inSessionWith(t, o, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.forget()
		for range 2 {
			wantBoth(t, c.Ping(withTimeout(t, time.Hour)), mcpclient.ErrSessionLost, "could not start a new session: middleware")
		}
		s.set(func() { s.known = "s-1" })
		check.NoError(t, c.Ping(withTimeout(t, time.Hour)), "after the server knows the session again")
	})
}

// There is an end to new sessions if the server forgets each at once.
func TestSessionLostAgain(t *testing.T) {
	inSession(t, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.set(func() { s.known, s.lost = "", 1000 })
		check.Is(t, listOnce(t.Context(), c), mcpclient.ErrSessionLost)
		got := s.seen()
		check.That(t, len(got) <= 10, "got %d requests: %q", len(got), got)
	})
}

// The standalone stream ends because the server has forgotten the session.
func TestSessionLostWhileIdle(t *testing.T) {
	for _, vague := range []bool{false, true} {
		inSession(t, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
			s.vague = vague
			s.forget()
			close(s.says("s-1"))
			time.Sleep(10 * time.Second)
			check.Equal(t, "session", c.SessionID(), "s-2")
		})
	}
}

// A call whose context ends does not end the renewal of the session.
func TestSessionRenewalOutlivesCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(sessionServer)
		c := connectTo(t, serve(t, s), legacy())
		s.forget()
		s.on("initialize", func(http.ResponseWriter, *http.Request, message) bool {
			time.Sleep(2 * time.Second)
			return false
		})
		check.Is(t, c.Ping(withTimeout(t, time.Second)), context.DeadlineExceeded)
		check.NoError(t, check.Err(c.CallTool(t.Context(), "a", nil)), "a call that waited for the new session")
	})
}

// withLostSessions runs f with a client in session s-1, whose sampling requests sample answers.
func withLostSessions(t *testing.T, sample mcp.SamplingFunc, f func(t *testing.T, c *mcpclient.Client, s *sessionServer)) {
	t.Helper()
	inSessionWith(t, samples(legacy(), sample), f)
}

func answersTea(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	return tea(), nil
}

var aQuestion = `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":` + samplingParams + `}`

// "The initialize request MUST NOT be cancelled by clients": nor is that of a session that replaces a lost one.
func TestInitializeOfNewSessionIsNotCancelled(t *testing.T) {
	withLostSessions(t, answersTea, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.on("initialize", func(_ http.ResponseWriter, r *http.Request, _ message) bool {
			<-r.Context().Done()
			return true
		})
		s.forget()
		check.Is(t, listOnce(t.Context(), c), mcpclient.ErrSessionLost)
		check.Equal(t, "initialize", s.times("initialize"), 1)
		check.Equal(t, "notifications/cancelled", s.times("notifications/cancelled"), 0)
	})
}

func listOnce(ctx context.Context, c *mcpclient.Client) error {
	_, err := collect(c.Tools(ctx), toolName)
	return err
}

// A handler is cancelled when the session of its question is lost, and its answer is dropped.
func TestQuestionEndsWithItsSession(t *testing.T) {
	ended := make(chan error, 1)
	sample := func(ctx context.Context, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return tea(), nil
	}
	withLostSessions(t, sample, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.says("s-1") <- aQuestion
		synctest.Wait()
		stopped := false
		s.on("initialize", func(http.ResponseWriter, *http.Request, message) bool {
			synctest.Wait()
			stopped = len(ended) == 1
			return false
		})
		s.forget()
		check.Must(t, listOnce(t.Context(), c))
		check.That(t, stopped, "the handler continued while the next session began")
		check.Equal(t, "answers", s.times("POST"), 0)
	})
}

// If no new session can begin and the server still knows the old one, questions are answered in the old one.
func TestSessionGoesOnWithoutRenewal(t *testing.T) {
	withLostSessions(t, answersTea, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.set(func() { s.broken = http.StatusForbidden })
		s.once = true
		s.forget()
		check.Is(t, listOnce(t.Context(), c), mcpclient.ErrSessionLost)
		s.says("s-1") <- aQuestion
		check.Equal(t, "answers", s.times("POST s-1"), 1)
		check.NoError(t, listOnce(t.Context(), c), "in the old session")
	})
}

// A server that forgets each session as soon as its standalone stream opens is asked for a new one at most once a minute.
func TestSessionsForgottenAtOnce(t *testing.T) {
	withLostSessions(t, answersTea, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.set(func() { s.fleeting = true })
		time.Sleep(2 * time.Minute) // a session of this age may be replaced
		s.forget()
		close(s.says("s-1"))
		time.Sleep(50 * time.Second)
		check.Equal(t, "new sessions", s.times("initialize"), 1)
	})
}

// A question that arrives late in a lost session starts no handler.
func TestQuestionOfLostSession(t *testing.T) {
	asked := 0
	sample := func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		asked++
		return tea(), nil
	}
	withLostSessions(t, sample, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.on("initialize", func(_ http.ResponseWriter, _ *http.Request, _ message) bool {
			select {
			case s.says("s-1") <- aQuestion:
			case <-time.After(time.Second):
			}
			return false
		})
		s.forget()
		check.Must(t, listOnce(t.Context(), c))
		synctest.Wait()
		check.Equal(t, "the handler was asked times", asked, 0)
	})
}

// A notification whose session is lost is sent in the next one. A server that finds no session for a notification, but for
// requests, is not asked for one session after the other.
func TestNotificationInLostSession(t *testing.T) {
	withLostSessions(t, answersTea, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.forget()
		check.Must(t, c.Notify(t.Context(), "notifications/acme", nil))
		s.set(func() { s.refuses = "notifications/acme" })
		check.Is(t, c.Notify(t.Context(), "notifications/acme", nil), mcpclient.ErrSessionLost)
		for what, want := range map[string]int{"notifications/acme s-1": 1, "initialize": 2, "notifications/acme s-2": 2, "notifications/acme s-3": 1} {
			check.Equal(t, what, s.times(what), want)
		}
		s.set(func() { s.known, s.broken = "", http.StatusForbidden })
		check.Is(t, c.Notify(t.Context(), "notifications/acme", nil), mcpclient.ErrSessionLost)
	})
}

// An answer whose session is lost is dropped. The call that it belongs to fails at once, although its response stays open.
func TestAnswerInLostSession(t *testing.T) {
	for _, opts := range [][]mcpclient.CallOption{nil, {mcpclient.WithProgress(func(mcp.Progress) {})}} {
		var finish chan struct{}
		sample := func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			<-finish
			return tea(), nil
		}
		withLostSessions(t, sample, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
			finish = make(chan struct{})
			s.on("tools/call", func(w http.ResponseWriter, r *http.Request, _ message) bool {
				stream(w)(aQuestion)
				<-r.Context().Done()
				return true
			})
			start := time.Now()
			failed := background(func() error { return check.Err(c.CallTool(t.Context(), "acts", nil, opts...)) })
			synctest.Wait() // until the handler waits
			s.forget()
			close(finish)
			wantBoth(t, <-failed, mcpclient.ErrSessionLost, "not sent again")
			within(t, "the end of the call", start, time.Second)
			for what, want := range map[string]int{"initialize": 1, "tools/call": 1, "POST s-1": 1, "POST s-2": 0} {
				check.Equal(t, what, s.times(what), want)
			}
		})
	}
}

// A cancellation whose session is lost begins the next one, and is not sent there, because the call is unknown there.
func TestCancellationInLostSession(t *testing.T) {
	withLostSessions(t, answersTea, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.on("tools/call", func(_ http.ResponseWriter, r *http.Request, _ message) bool {
			<-r.Context().Done()
			return true
		})
		ctx, cancel := context.WithCancel(t.Context())
		failed := background(func() error { return check.Err(c.CallTool(ctx, "acts", nil)) })
		synctest.Wait()
		s.forget()
		cancel()
		check.Is(t, <-failed, context.Canceled)
		for what, want := range map[string]int{"notifications/cancelled s-1": 1, "initialize": 1, "notifications/cancelled s-2": 0} {
			check.Equal(t, what, s.times(what), want)
		}
		check.NoError(t, listOnce(t.Context(), c))
		check.Equal(t, "requests in the session before", s.times("tools/list s-1"), 0)
	})
}
