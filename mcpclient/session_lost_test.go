package mcpclient_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// withLostSessions runs f with a client in session s-1, whose sampling requests sample answers.
func withLostSessions(t *testing.T, sample mcp.SamplingFunc, f func(t *testing.T, c *mcpclient.Client, s *sessionServer)) {
	t.Helper()
	inSessionWith(t, samples(legacy(), sample), f)
}

func answersTea(context.Context, *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	return tea(), nil
}

var aQuestion = `{"jsonrpc":"2.0","id":"q","method":"sampling/createMessage","params":` + samplingParams + `}`

// "The initialize request MUST NOT be cancelled by clients": nor is that of a session that
// replaces a lost one.
func TestInitializeOfNewSessionIsNotCancelled(t *testing.T) {
	withLostSessions(t, answersTea, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.on("initialize", func(_ http.ResponseWriter, r *http.Request, _ message) bool {
			<-r.Context().Done()
			return true
		})
		s.forget()
		wantIs(t, listOnce(t.Context(), c), mcpclient.ErrSessionLost)
		equal(t, "initialize", s.times("initialize"), 1)
		equal(t, "notifications/cancelled", s.times("notifications/cancelled"), 0)
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
		must(t, listOnce(t.Context(), c))
		wrong(t, !stopped, "the handler continued while the next session began")
		equal(t, "answers", s.times("POST"), 0)
	})
}

// If no new session can begin and the server still knows the old one, questions are answered in
// the old one.
func TestSessionGoesOnWithoutRenewal(t *testing.T) {
	withLostSessions(t, answersTea, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.on("initialize", func(w http.ResponseWriter, _ *http.Request, _ message) bool {
			w.WriteHeader(http.StatusForbidden)
			return true
		})
		s.once = true
		s.forget()
		wantIs(t, listOnce(t.Context(), c), mcpclient.ErrSessionLost)
		s.says("s-1") <- aQuestion
		equal(t, "answers", s.times("POST s-1"), 1)
		noError(t, listOnce(t.Context(), c), "in the old session")
	})
}

// A server that forgets each session as soon as its standalone stream opens is asked for a new
// one at most once a minute.
func TestSessionsForgottenAtOnce(t *testing.T) {
	withLostSessions(t, answersTea, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.mu.Lock()
		s.fleeting = true
		s.mu.Unlock()
		time.Sleep(2 * time.Minute) // a session of this age may be replaced
		s.forget()
		close(s.says("s-1"))
		time.Sleep(50 * time.Second)
		equal(t, "new sessions", s.times("initialize"), 1)
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
		must(t, listOnce(t.Context(), c))
		synctest.Wait()
		equal(t, "the handler was asked times", asked, 0)
	})
}

// A notification whose session is lost is sent in the next one.
func TestNotificationInLostSession(t *testing.T) {
	withLostSessions(t, answersTea, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.forget()
		must(t, c.Notify(t.Context(), "notifications/acme", nil))
		for what, want := range map[string]int{"notifications/acme s-1": 1, "initialize": 1, "notifications/acme s-2": 1} {
			equal(t, what, s.times(what), want)
		}
		s.on("initialize", func(w http.ResponseWriter, _ *http.Request, _ message) bool {
			w.WriteHeader(http.StatusForbidden)
			return true
		})
		s.forget()
		wantIs(t, c.Notify(t.Context(), "notifications/acme", nil), mcpclient.ErrSessionLost)
	})
}

// A server that finds no session for a notification, but for requests, is not asked for one
// session after the other.
func TestNotificationInNoSession(t *testing.T) {
	withLostSessions(t, answersTea, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.mu.Lock()
		s.refuses = "notifications/acme"
		s.mu.Unlock()
		wantIs(t, c.Notify(t.Context(), "notifications/acme", nil), mcpclient.ErrSessionLost)
		equal(t, "new sessions", s.times("initialize"), 1)
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
		withLostSessions(t, sample, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
			finish = make(chan struct{})
			s.on("tools/call", func(w http.ResponseWriter, r *http.Request, _ message) bool {
				stream(w)(aQuestion)
				<-r.Context().Done()
				return true
			})
			var opts []mcpclient.CallOption
			if progress {
				opts = append(opts, mcpclient.WithProgress(func(mcp.Progress) {}))
			}
			start := time.Now()
			failed := background(func() error { return errOf(c.CallTool(t.Context(), "acts", nil, opts...)) })
			synctest.Wait() // until the handler waits
			s.forget()
			close(finish)
			wantBoth(t, <-failed, mcpclient.ErrSessionLost, "not sent again")
			within(t, "the end of the call", start, time.Second)
			for what, want := range map[string]int{"initialize": 1, "tools/call": 1, "POST s-1": 1, "POST s-2": 0} {
				equal(t, what, s.times(what), want)
			}
		})
	}
}

// A cancellation whose session is lost begins the next one, and is not sent there, because the
// call is unknown there.
func TestCancellationInLostSession(t *testing.T) {
	withLostSessions(t, answersTea, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.on("tools/call", func(_ http.ResponseWriter, r *http.Request, _ message) bool {
			<-r.Context().Done()
			return true
		})
		ctx, cancel := context.WithCancel(t.Context())
		failed := background(func() error { return errOf(c.CallTool(ctx, "acts", nil)) })
		synctest.Wait()
		s.forget()
		cancel()
		wantIs(t, <-failed, context.Canceled)
		for what, want := range map[string]int{"notifications/cancelled s-1": 1, "initialize": 1, "notifications/cancelled s-2": 0} {
			equal(t, what, s.times(what), want)
		}
		err := listOnce(t.Context(), c)
		wrong(t, err != nil || s.times("tools/list s-1") > 0, "got %v, and %d requests in the session before", err, s.times("tools/list s-1"))
	})
}
