package talk

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// listsToo is a store that still lists a run that was just deleted.
type listsToo struct {
	record.Store
	deleted run.Head
}

func (s *listsToo) List(ctx context.Context, q record.Query) iter.Seq2[run.Head, error] {
	if len(q.Agents) != 1 || q.Agents[0] != viewAgentName {
		return s.Store.List(ctx, q)
	}
	return func(yield func(run.Head, error) bool) { yield(s.deleted, nil) }
}

// A call of a view that is dropped while a window reads it does not end the window.
func TestWindowWithADroppedCallOfAView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &listsToo{Store: record.NewMemory()}
		s, id := begun(t, Options{Model: agenttest.PlayRepeating(agenttest.Say("hello")), Store: store})
		synctest.Wait() // the turn is over
		store.deleted = run.Head{Key: run.Key{Tenant: "Ada", ID: prefixOf(run.Key{Tenant: "Ada", ID: id}) + "dropped"}, Agent: viewAgentName, Seq: 1, Status: run.StatusFinished}
		ctx, cancel := context.WithCancel(t.Context())
		listed := false
		err := s.Watch(ctx, "Ada", id, agent.Position{}, func(batch []Event) error {
			for _, e := range batch {
				listed = listed || e.Type == "list"
			}
			cancel()
			return nil
		})
		if err != nil || !listed {
			t.Errorf("got %v and a list: %v, want the conversation and the list", err, listed)
		}
	})
}
