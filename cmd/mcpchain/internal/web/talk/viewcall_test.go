package talk

import (
	"context"
	"errors"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
)

// slowList is a store that does not list the calls of a user's views before the context ends.
type slowList struct {
	record.Store
	user string
}

func (s slowList) List(ctx context.Context, q record.Query) iter.Seq2[run.Head, error] {
	if q.Tenant == s.user && slices.Contains(q.Agents, viewAgentName) {
		<-ctx.Done()
	}
	return s.Store.List(ctx, q)
}

// TestSlowCallOfAView has the call of a view begin slowly: no other conversation waits for it.
func TestSlowCallOfAView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, hers := begun(t, Options{Model: agenttest.PlayRepeating(agenttest.Say("fine")), Store: slowList{record.NewMemory(), "Ada"}})
		his := check.Value(s.Begin(t.Context(), "Linus", "hello"))(t)
		call := func(user, conversation string) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			return check.Err(s.CallForView(ctx, user, ViewCall{Conversation: conversation, Server: "desk", Tool: "none"}))
		}
		slow := make(chan error)
		go func() { slow <- call("Ada", hers) }()
		synctest.Wait()
		err := call("Linus", his)
		check.That(t, err != nil && !errors.Is(err, context.DeadlineExceeded), "got %v, want that there is no such tool", err)
		check.Is(t, <-slow, context.DeadlineExceeded)
	})
}
