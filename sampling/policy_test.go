package sampling

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// called is the context of a handler for a request during a call.
type called struct{}

func duringCall(ctx context.Context) (server, call string) {
	call, _ = ctx.Value(called{}).(string)
	return "", call
}

func inCall(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, called{}, id)
}

// wantRefusal checks a refusal and the server's view of it.
func wantRefusal(t testing.TB, err error, kind string) {
	t.Helper()
	refusal, ok := errors.AsType[*refusedError](err)
	if !ok || !errors.Is(err, mcp.ErrRejected) || refusal.kind != kind {
		t.Errorf("got %v, want a refusal of kind %s", err, kind)
		return
	}
	wantRPC(t, err, mcp.CodeUserRejected, fmt.Sprintf(`{"reason":%q}`, kind))
}

// wantCode checks the code of an error for a server, and returns the error.
func wantCode(t testing.TB, err error, code int) *mcp.RPCError {
	t.Helper()
	rpc, ok := errors.AsType[*mcp.RPCError](err)
	check.Require(t, ok && rpc.Code == code, "got %v, want an RPCError with code %d", err, code)
	return rpc
}

func wantRPC(t testing.TB, err error, code int, data string) {
	t.Helper()
	rpc, ok := errors.AsType[*mcp.RPCError](err)
	if !ok || rpc.Code != code {
		t.Errorf("got %v, want an RPCError with code %d", err, code)
		return
	}
	equalJSON(t, string(rpc.Data), data)
}

func TestModes(t *testing.T) {
	for _, tt := range []struct {
		name            string
		policy          Policy
		during, outside bool // allowed
		reviewed        int  // reviews of both requests
		replies         int  // reviews of replies
		asked           int  // the model
	}{
		{"ask", Policy{}, true, true, 2, 2, 2},
		{"allow during a call", Policy{DuringCalls: ModeAllow}, true, true, 1, 2, 2},
		{"deny outside", Policy{OutsideCalls: ModeDeny}, true, false, 1, 1, 1},
		{"allow during and deny outside", Policy{DuringCalls: ModeAllow, OutsideCalls: ModeDeny}, true, false, 0, 1, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHost(t, answering(plainAnswer))
			reviewed, replies := 0, 0
			s := h.sampler(t, &Options{Policy: tt.policy, Origin: duringCall, Review: &Review{
				Request: func(context.Context, *Request) error { reviewed++; return nil },
				Reply:   func(context.Context, *Request, *mcp.CreateMessageResult) error { replies++; return nil },
			}})
			_, during := s.CreateMessage(inCall(t.Context(), "1"), question(t, hi))
			_, outside := s.CreateMessage(t.Context(), question(t, hi))
			check.That(t, (during == nil) == tt.during && (outside == nil) == tt.outside,
				"got %v during a call, %v outside, want allowed: %t, %t", during, outside, tt.during, tt.outside)
			for _, err := range []error{during, outside} {
				if err != nil {
					wantRefusal(t, err, kindPolicy)
				}
			}
			check.Equal(t, "requests and replies reviewed, asked", [3]int{reviewed, replies, h.Asked()}, [3]int{tt.reviewed, tt.replies, tt.asked})
		})
	}
}

// A server's policy depends on the host's name for it. A server without such a name gets no policy of another server.
func TestServers(t *testing.T) {
	h := newHost(t, answering(plainAnswer))
	s := h.sampler(t, &Options{
		Models:  append(catalogue(), Model{ID: "gpt-4.1"}),
		Servers: map[string]Policy{"none": {OutsideCalls: ModeDeny}},
	})
	wantRefusal(t, ask(t, s.ForServer("none"), hi), kindPolicy)
	_, err := s.ForServer("other").CreateMessage(t.Context(), question(t, hi))
	check.That(t, err == nil && strings.Contains(h.Last(), `"gpt-4.1"`), "other: got %v, asked %s, want the default", err, h.Last())
	wantRefusal(t, ask(t, s, hi), kindPolicy)
	check.Equal(t, "of the handler of one server", inquiry.SamplingCapabilityOf(s.ForServer("x")), mcp.SamplingCapability{Tools: true})
}

func TestNotNowStaysRefused(t *testing.T) {
	h := newHost(t, answering(plainAnswer))
	reviews := 0
	s := h.sampler(t, &Options{Limits: Limits{Total: Budget{Requests: 3}}, Review: &Review{Request: func(_ context.Context, r *Request) error {
		if reviews++; reviews == 1 {
			r.Remember = true
			return errors.New("not now")
		}
		return nil
	}}})
	files := s.ForServer("files")
	for range 10 {
		wantRefusal(t, ask(t, files, hi), kindReview)
	}
	check.Equal(t, "reviews", reviews, 1)
	h.wantAsked(t, 0)
	check.NoError(t, ask(t, s.ForServer("mail"), hi), "another server")
	s.Forget("files")
	check.NoError(t, ask(t, files, hi), "forgotten")
}

// A consent loses to a concurrent refusal that is remembered.
func TestRefusalOverrulesConsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, answering(plainAnswer))
		var n atomic.Int64
		release := make(chan struct{})
		s := h.sampler(t, &Options{Review: &Review{Request: func(_ context.Context, r *Request) error {
			r.Remember = true
			if n.Add(1) == 1 {
				<-release
				return nil
			}
			return errors.New("not now")
		}}})
		files := s.ForServer("files")
		late := make(chan error)
		go func() { late <- ask(t, files, hi) }()
		synctest.Wait()
		wantRefusal(t, ask(t, files, hi), kindReview)
		close(release)
		wantRefusal(t, <-late, kindReview)
		wantRefusal(t, ask(t, files, hi), kindReview)
		h.wantAsked(t, 0)
	})
}

func TestRememberedConsent(t *testing.T) {
	h := newHost(t, answering(plainAnswer))
	var requests, replies int
	s := h.sampler(t, &Options{Origin: duringCall, Review: &Review{
		Request: func(_ context.Context, r *Request) error { requests++; r.Remember = true; return nil },
		Reply: func(_ context.Context, r *Request, _ *mcp.CreateMessageResult) error {
			check.Equal(t, "the request's Remember for the reply", r.Remember, false)
			replies++
			return nil
		},
	}})
	asked := func(what string, ctx context.Context, handler mcp.SamplingHandler, wantRequests, wantReplies int) {
		t.Helper()
		check.Must(t, check.Err(handler.CreateMessage(ctx, question(t, hi))))
		check.Equal(t, what+": requests and replies reviewed", [2]int{requests, replies}, [2]int{wantRequests, wantReplies})
	}
	asked("the first time", t.Context(), s.ForServer("files"), 1, 1)
	asked("a second time", t.Context(), s.ForServer("files"), 1, 2)
	asked("during a call for the first time", inCall(t.Context(), "1"), s.ForServer("files"), 2, 3)
	asked("another server", t.Context(), s.ForServer("mail"), 3, 4)
	asked("a server that the host has not named", t.Context(), s, 4, 5)
	asked("the same once more", t.Context(), s, 5, 6)
}

func TestMemoryIsBounded(t *testing.T) {
	var m decisionMemory
	for i := range 2 * maxRemembered {
		m.remember(decisionScope{server: fmt.Sprint(i)}, ModeDeny)
	}
	check.That(t, len(m.decision) == maxRemembered && m.recall(decisionScope{server: "0"}) == ModeDeny,
		"got %d decisions, want the first %d", len(m.decision), maxRemembered)
}
