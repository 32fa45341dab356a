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

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// lostSessionServer is a legacy server over HTTP whose sessions a test ends. The test sends
// messages on its standalone streams.
type lostSessionServer struct {
	begin func(w http.ResponseWriter, r *http.Request, m message) bool // may answer initialize instead
	call  func(w http.ResponseWriter, r *http.Request, m message)      // answers tools/call; nil: the default answer

	mu       sync.Mutex
	current  string
	count    int
	refuses  string // a method that finds no session
	once     bool   // only one request finds the session forgotten
	fleeting bool   // a session is forgotten when its stream ends, which happens at once
	got      []string
	streams  map[string]chan string
}

func (a *lostSessionServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m := readMessage(r)
	what := m.Method
	if what == "" {
		what = r.Method
	}
	id := r.Header.Get("Mcp-Session-Id")
	a.mu.Lock()
	a.got = append(a.got, strings.TrimSpace(what+" "+id))
	known := id != "" && id == a.current && (m.Method == "" || m.Method != a.refuses)
	if !known && a.once {
		a.once, a.current = false, id
	}
	a.mu.Unlock()
	switch {
	case m.Method == "initialize":
		if a.begin != nil && a.begin(w, r, m) {
			return
		}
		w.Header().Set("Mcp-Session-Id", a.start())
		_, _ = io.WriteString(jsonWriter(w), handshakeAnswer(m))
	case r.Method == http.MethodGet:
		a.speak(w, r, id, known)
	case !known:
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodDelete || strings.HasPrefix(m.Method, "notifications/") || m.Method == "":
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "tools/call" && a.call != nil:
		a.call(w, r, m)
	default:
		_, _ = fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{"tools":[],"content":[]}}`, m.ID)
	}
}

// start begins a session.
func (a *lostSessionServer) start() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count++
	a.current = fmt.Sprint("s-", a.count)
	a.streams[a.current] = make(chan string)
	return a.current
}

// speak serves the standalone stream of a session.
func (a *lostSessionServer) speak(w http.ResponseWriter, r *http.Request, id string, known bool) {
	if !known {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	a.mu.Lock()
	says, ends := a.streams[id], a.fleeting && id != "s-1"
	if ends {
		a.current = ""
	}
	a.mu.Unlock()
	send := stream(w)
	if ends {
		return
	}
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

// forget ends the session, for one request or permanently.
func (a *lostSessionServer) forget(once bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.current, a.once = "", once
}

// says returns the channel for messages on the standalone stream of a session.
func (a *lostSessionServer) says(session string) chan string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.streams[session]
}

// seen returns the number of requests by method, or by method and session.
func (a *lostSessionServer) seen(what string) (n int) {
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, one := range a.got {
		if one == what || strings.HasPrefix(one, what+" ") {
			n++
		}
	}
	return n
}

// withLostSessions runs f with a client in session s-1, whose sampling requests sample answers.
func withLostSessions(t *testing.T, sample mcp.SamplingFunc, f func(t *testing.T, c *mcpclient.Client, a *lostSessionServer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a := &lostSessionServer{streams: map[string]chan string{}}
		server := serve(t, a)
		c := connectTo(t, server, samples(legacy(), sample))
		synctest.Wait()
		f(t, c, a)
	})
}

func answersTea(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	return tea(), nil
}

var aQuestion = `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":` + samplingParams + `}`

// "The initialize request MUST NOT be cancelled by clients": nor is that of a session that
// replaces a lost one.
func TestInitializeOfNewSessionIsNotCancelled(t *testing.T) {
	withLostSessions(t, answersTea, func(t *testing.T, c *mcpclient.Client, a *lostSessionServer) {
		a.begin = func(_ http.ResponseWriter, r *http.Request, _ message) bool {
			<-r.Context().Done()
			return true
		}
		a.forget(false)
		wantIs(t, listOnce(t.Context(), c), mcpclient.ErrSessionLost)
		equal(t, "initialize", a.seen("initialize"), 2)
		equal(t, "notifications/cancelled", a.seen("notifications/cancelled"), 0)
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
	withLostSessions(t, sample, func(t *testing.T, c *mcpclient.Client, a *lostSessionServer) {
		a.says("s-1") <- aQuestion
		synctest.Wait()
		stopped := false
		a.begin = func(http.ResponseWriter, *http.Request, message) bool {
			synctest.Wait()
			stopped = len(ended) == 1
			return false
		}
		a.forget(false)
		must(t, listOnce(t.Context(), c))
		if !stopped {
			t.Error("the handler continued while the next session began")
		}
		equal(t, "answers", a.seen("POST"), 0)
	})
}

// If no new session can begin and the server still knows the old one, questions are answered in
// the old one.
func TestSessionGoesOnWithoutRenewal(t *testing.T) {
	withLostSessions(t, answersTea, func(t *testing.T, c *mcpclient.Client, a *lostSessionServer) {
		a.begin = func(w http.ResponseWriter, _ *http.Request, _ message) bool {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		a.forget(true)
		wantIs(t, listOnce(t.Context(), c), mcpclient.ErrSessionLost)
		a.says("s-1") <- aQuestion
		equal(t, "answers", a.seen("POST s-1"), 1)
		noError(t, listOnce(t.Context(), c), "in the old session")
	})
}

// A server that forgets each session as soon as its standalone stream opens is asked for a new
// one at most once a minute.
func TestSessionsForgottenAtOnce(t *testing.T) {
	withLostSessions(t, answersTea, func(t *testing.T, c *mcpclient.Client, a *lostSessionServer) {
		a.mu.Lock()
		a.fleeting = true
		a.mu.Unlock()
		time.Sleep(2 * time.Minute) // a session of this age may be replaced
		a.forget(false)
		close(a.says("s-1"))
		time.Sleep(50 * time.Second)
		equal(t, "sessions", a.seen("initialize"), 2)
	})
}

// A question that arrives late in a lost session starts no handler.
func TestQuestionOfLostSession(t *testing.T) {
	asked := 0
	sample := func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
		asked++
		return tea(), nil
	}
	withLostSessions(t, sample, func(t *testing.T, c *mcpclient.Client, a *lostSessionServer) {
		a.begin = func(_ http.ResponseWriter, _ *http.Request, _ message) bool {
			select {
			case a.says("s-1") <- aQuestion:
			case <-time.After(time.Second):
			}
			return false
		}
		a.forget(false)
		must(t, listOnce(t.Context(), c))
		synctest.Wait()
		equal(t, "the handler was asked times", asked, 0)
	})
}

// A notification whose session is lost is sent in the next one.
func TestNotificationInLostSession(t *testing.T) {
	withLostSessions(t, answersTea, func(t *testing.T, c *mcpclient.Client, a *lostSessionServer) {
		a.forget(false)
		must(t, c.Notify(t.Context(), "notifications/acme", nil))
		for what, want := range map[string]int{"notifications/acme s-1": 1, "initialize": 2, "notifications/acme s-2": 1} {
			equal(t, what, a.seen(what), want)
		}
		a.begin = func(w http.ResponseWriter, _ *http.Request, _ message) bool {
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		a.forget(false)
		wantIs(t, c.Notify(t.Context(), "notifications/acme", nil), mcpclient.ErrSessionLost)
	})
}

// A server that finds no session for a notification, but for requests, is not asked for one
// session after the other.
func TestNotificationInNoSession(t *testing.T) {
	withLostSessions(t, answersTea, func(t *testing.T, c *mcpclient.Client, a *lostSessionServer) {
		a.mu.Lock()
		a.refuses = "notifications/acme"
		a.mu.Unlock()
		wantIs(t, c.Notify(t.Context(), "notifications/acme", nil), mcpclient.ErrSessionLost)
		equal(t, "sessions", a.seen("initialize"), 2)
	})
}

// An answer whose session is lost is dropped. The call that it belongs to fails at once,
// although its response stays open.
func TestAnswerInLostSession(t *testing.T) {
	for _, progress := range []bool{false, true} {
		var finish chan struct{}
		sample := func(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
			<-finish
			return tea(), nil
		}
		withLostSessions(t, sample, func(t *testing.T, c *mcpclient.Client, a *lostSessionServer) {
			finish = make(chan struct{})
			a.call = func(w http.ResponseWriter, r *http.Request, _ message) {
				stream(w)(aQuestion)
				<-r.Context().Done()
			}
			var opts []mcpclient.CallOption
			if progress {
				opts = append(opts, mcpclient.WithProgress(func(mcp.Progress) {}))
			}
			start := time.Now()
			failed := background(func() error { return errOf(c.CallTool(t.Context(), "acts", nil, opts...)) })
			synctest.Wait() // until the handler waits
			a.forget(false)
			close(finish)
			wantBoth(t, <-failed, mcpclient.ErrSessionLost, "not sent again")
			within(t, "the end of the call", start, time.Second)
			for what, want := range map[string]int{"initialize": 2, "tools/call": 1, "POST s-1": 1, "POST s-2": 0} {
				equal(t, what, a.seen(what), want)
			}
		})
	}
}

// A cancellation whose session is lost begins the next one, and is not sent there, because the
// call is unknown there.
func TestCancellationInLostSession(t *testing.T) {
	withLostSessions(t, answersTea, func(t *testing.T, c *mcpclient.Client, a *lostSessionServer) {
		a.call = func(_ http.ResponseWriter, r *http.Request, _ message) { <-r.Context().Done() }
		ctx, cancel := context.WithCancel(t.Context())
		failed := background(func() error { return errOf(c.CallTool(ctx, "acts", nil)) })
		synctest.Wait()
		a.forget(false)
		cancel()
		wantIs(t, <-failed, context.Canceled)
		for what, want := range map[string]int{"notifications/cancelled s-1": 1, "initialize": 2, "notifications/cancelled s-2": 0} {
			equal(t, what, a.seen(what), want)
		}
		if err := listOnce(t.Context(), c); err != nil || a.seen("tools/list s-1") > 0 {
			t.Errorf("got %v, and %d requests in the session before", err, a.seen("tools/list s-1"))
		}
	})
}
