package sampling

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

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
