package talk

import (
	"context"
	"errors"
	"iter"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// TestHistoryBesideATurn reads a conversation once, while it continues. What the user says meanwhile is in the part after.
func TestHistoryBesideATurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var afterLoad func()
		var loads atomic.Int32
		store := ledgertest.Watch(record.NewMemory(), func(c *ledgertest.Call) error {
			err := c.Do()
			if c.Method != "load" {
				return err
			}
			loads.Add(1)
			if next := afterLoad; next != nil {
				afterLoad = nil
				next()
			}
			return err
		})
		s, id := begun(t, Options{Model: agenttest.Play(agenttest.Say("one"), agenttest.Say("two")), Store: store})
		synctest.Wait()
		key := run.Key{Tenant: "Ada", ID: id}
		afterLoad = func() {
			check.NoError(t, s.Say(t.Context(), "Ada", id, "second"))
			synctest.Wait()
		}
		part := check.Value(s.history(t.Context(), key, agent.Position{}))(t)
		loads.Store(0)
		rest := check.Value(s.history(t.Context(), key, part[len(part)-1].at))(t)
		check.Equal(t, "reads of the store", loads.Load(), 1)
		isSaid := func(e entry) bool { return e.kind == "said" }
		check.That(t, slices.ContainsFunc(part, isSaid) && slices.ContainsFunc(rest, isSaid), "got %v and then %v, want a question in each", part, rest)
	})
}

// A conversation without its early records has its title, and its later questions can be edited.
func TestPrunedConversation(t *testing.T) {
	store := record.NewMemory()
	question := func(text string) []run.Message { return []run.Message{run.Text(run.RoleUser, text)} }
	end := &ledger.Ended{Status: run.StatusFailed, Error: "x"}
	draft := ledgertest.Since(time.Now(), &ledger.Begun{ID: "c", Tenant: "Ada", Agent: ledger.AgentName{Name: AgentName}, Messages: question("first")}, end)
	snapshot := check.Value(ledger.NewSnapshot(draft.State))(t)
	draft.Add(snapshot, &ledger.Said{Messages: question("second")}, end, &ledger.Said{Messages: question("third")}, end)
	check.Must(t, store.Release(t.Context(), ledgertest.Keep(t, store, draft)))
	check.Equal(t, "pruned", check.Value(record.Prune(t.Context(), store, record.Query{AllTenants: true}))(t), 1)
	s := opened(t, Options{Model: agenttest.PlayRepeating(agenttest.Say("fine")), Store: store})
	list, _, err := s.List(t.Context(), "Ada", "", time.Time{})
	check.Must(t, err)
	check.Equal(t, "title", list[0].Title, "first")
	check.Is(t, check.Err(s.Edit(t.Context(), "Ada", "c", 1, 0, "other")), ErrGone)
	id := check.Value(s.Edit(t.Context(), "Ada", "c", 4, 0, "other"))(t)
	state := check.Value(s.load(t.Context(), run.Key{Tenant: "Ada", ID: id}))(t)
	var texts []string
	for _, m := range state.History[:2] {
		texts = append(texts, m.Text())
	}
	check.Same(t, "questions", texts, []string{"first", "other"})
}

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
