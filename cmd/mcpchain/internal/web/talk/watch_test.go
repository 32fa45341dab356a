package talk

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// TestWatchDeleted tells a window that its conversation is deleted in another one.
func TestWatchDeleted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, id := begun(t, Options{Model: agenttest.Play(agenttest.Say("hello")), Store: record.NewMemory()})
		ended := make(chan error, 1)
		go func() { ended <- s.Watch(t.Context(), "Ada", id, agent.Position{}, func([]Event) error { return nil }) }()
		synctest.Wait()
		check.Must(t, s.Delete(t.Context(), "Ada", id))
		select {
		case err := <-ended:
			check.Is(t, err, ErrGone)
		case <-time.After(time.Minute): // by the clock of the bubble
			t.Error("the window is not told")
		}
	})
}

// TestDeletedWhileOpened deletes a conversation at the moment at which a window that comes back has found it: the window is told.
func TestDeletedWhileOpened(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var remove func()
		store := ledgertest.Watch(record.NewMemory(), func(c *ledgertest.Call) error {
			if c.Method != "load" {
				return c.Do()
			}
			err := c.Do()
			if next := remove; next != nil {
				remove = nil
				next()
			}
			return err
		})
		s, id := begun(t, Options{Model: agenttest.Play(agenttest.Say("hello")), Store: store})
		watch := func(after agent.Position) (last agent.Position, err error) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			err = s.Watch(ctx, "Ada", id, after, func(batch []Event) error {
				for _, e := range batch {
					if e.ID != "" {
						last = check.Value(agent.ParsePosition(e.ID))(t)
					}
				}
				return nil
			})
			return last, err
		}
		last, err := watch(agent.Position{})
		check.Must(t, err)
		remove = func() { check.NoError(t, s.Delete(t.Context(), "Ada", id)) }
		check.Is(t, check.Err(watch(last)), ErrGone)
	})
}

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
		store.deleted = run.Head{Key: run.Key{Tenant: "Ada", ID: prefixOf(run.Key{Tenant: "Ada", ID: id}) + "dropped"}, Agent: viewAgentName, Seq: 1,
			Status: run.StatusFinished}
		ctx, cancel := context.WithCancel(t.Context())
		listed := false
		err := s.Watch(ctx, "Ada", id, agent.Position{}, func(batch []Event) error {
			for _, e := range batch {
				listed = listed || e.Type == "list"
			}
			cancel()
			return nil
		})
		check.That(t, err == nil && listed, "got %v and a list: %v, want the conversation and the list", err, listed)
	})
}

// The page can say how often and when a call was sent that may have run.
func TestDoubtSaysWhenTheCallWasSent(t *testing.T) {
	sent := time.Date(2026, 11, 22, 14, 3, 0, 0, time.UTC)
	data := check.Value(json.Marshal(askOf(&run.Question{ID: "ask_1", Kind: run.QuestionDoubt, Tool: "pay", Tries: 2, Sent: sent})))(t)
	check.Contains(t, "", string(data), `"tries":2,"sent":"2026-11-22T14:03:00Z"`)
}

// The page says that an answer is cut off.
func TestCutAnswer(t *testing.T) {
	end := &agent.Output{Text: "half", StopReason: agent.StopOutput, FinishReason: model.FinishLength}
	check.Equal(t, "", new(Service).entryOf(run.Key{}, end).data.(endedJSON).Stop, "length")
}

// The list does not count a question whose answer the run has not read yet.
func TestAnsweredQuestionInTheList(t *testing.T) {
	store := record.NewMemory()
	begun := &ledger.Begun{ID: "c", Tenant: "Ada", Agent: ledger.AgentName{Name: AgentName}}
	lease := ledgertest.Keep(t, store, ledgertest.Since(ledgertest.Start, begun, ledgertest.Question("q"), &ledger.Suspended{}))
	check.Must(t, store.Release(t.Context(), lease))
	s := &Service{o: Options{Store: store}, titles: map[run.Key]string{}}
	asks := func() int {
		list, _, err := s.List(t.Context(), "Ada", "", time.Time{})
		check.Must(t, err)
		return list[0].Asks
	}
	check.Equal(t, "questions", asks(), 1)
	check.Must(t, store.Reply(t.Context(), run.Key{Tenant: "Ada", ID: "c"}, []run.Reply{{Question: "q", Action: run.ActionAccept}}))
	check.Equal(t, "questions with an answer", asks(), 0)
}

// A window gets the model's reasoning as it comes, in whole characters and within bounds, and that it reasons until it writes.
func TestThinking(t *testing.T) {
	s, w := &Service{}, &window{topic: &topic{}}
	long := strings.Repeat("x", maxReasoning)
	for _, step := range []struct {
		event    agent.Event
		thinking bool
		thoughts *thoughtsJSON
	}{
		{&agent.ReasoningDelta{Text: "h\u202em \xe2\x82"}, true, &thoughtsJSON{0, "h\\u202em "}},
		{&agent.ReasoningDelta{Text: "\xac"}, true, &thoughtsJSON{6, "€"}},
		{&agent.TextDelta{Text: "so"}, false, &thoughtsJSON{9, ""}},
		{&agent.ReasoningDelta{Text: long}, true, &thoughtsJSON{9, long[9:]}},
		{&agent.ReasoningDelta{Text: long, EventInfo: agent.EventInfo{Path: []string{"helper"}}}, true, &thoughtsJSON{maxReasoning, ""}},
		{&agent.ModelStart{}, false, nil},
	} {
		s.showEvent(w.topic, step.event)
		live := check.Value(w.readLive())(t)
		var now struct {
			Thinking bool
			Thoughts *thoughtsJSON
		}
		check.Must(t, json.Unmarshal(live[len(live)-1].Data, &now))
		check.Same(t, fmt.Sprintf("%.50v", step.event), []any{now.Thinking, now.Thoughts}, []any{step.thinking, step.thoughts})
	}
}
