package agent_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// listed notes the methods of a store that are called.
type listed struct {
	watched
	calls  []string
	before func()      // called once, before a run is taken
	broken error       // of appends
	given  []run.Reply // that were kept
}

func (s *listed) in(store record.Store) *listed {
	s.watched = watched{store, func(c *storeCall) error {
		switch c.method {
		case "load", "append", "reply", "acquire":
			s.calls = append(s.calls, c.method)
		}
		if before := s.before; before != nil && c.method == "acquire" {
			s.before = nil
			before()
		}
		if s.broken != nil && c.method == "append" {
			return s.broken
		}
		s.given = append(s.given, c.replies...)
		return c.do()
	}}
	return s
}

// Between an answer and the call that it allows, a run is loaded and taken once, and the answer is made durable in one
// commit with the intent to call. What works after a denial and before the model finds the answer durable, too.
func TestResumeWritesOnce(t *testing.T) {
	for action, want := range map[run.Action][]string{run.ActionAllow: {"the call", "Compact", "BeforeModel"}, run.ActionDeny: {"Compact", "BeforeModel"}} {
		store := new(listed).in(record.NewMemory())
		seen := map[string][]string{}
		note := func(who string) {
			if _, again := seen[who]; !again {
				seen[who] = slices.Clone(store.calls)
			}
		}
		a := worker(t, turnsOf{turns: 1}, func() { note("the call") }, agent.Options{
			Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson},
			Compact: func(context.Context, []run.Message, compact.Budget) (*compact.Result, error) {
				note("Compact")
				return nil, nil
			},
			Hooks: []agent.Hook{{BeforeModel: func(context.Context, *agent.State, *agent.ModelCall) error { note("BeforeModel"); return nil }}},
		})
		suspend(t, a, 0, 1)
		question := question(t, store.Store, "0")
		store.calls = nil
		clear(seen)
		got, err := a.ResumeRun(t.Context(), run.Key{ID: "0"}, run.Reply{Question: question, Action: action})
		if err != nil || got.Output != "done" {
			t.Fatalf("got %q, %v, want the answer", got.Output, err)
		}
		diff(t, "who works", slices.Sorted(maps.Keys(seen)), slices.Sorted(slices.Values(want)))
		diff(t, "calls of the store before "+want[0], seen[want[0]], []string{"load", "acquire", "append"})
	}
}

// A run that another process holds is not resumed, and its answers are kept for the holder.
func TestResumeOfHeldRun(t *testing.T) {
	store := record.NewMemory()
	a := worker(t, turnsOf{turns: 1}, func() {}, agent.Options{Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson}})
	suspend(t, a, 0, 1)
	key := run.Key{ID: "0"}
	check(t, errorOf(store.Acquire(t.Context(), key, record.Holder{TTL: time.Hour})))
	log := load(t, store, key)
	_, err := a.ResumeRun(t.Context(), key, run.Reply{Question: log.Head.Questions[0], Action: run.ActionAllow})
	if !errors.Is(err, record.ErrHeld) {
		t.Errorf("got %v, want %v", err, record.ErrHeld)
	}
	if log, err := store.Load(t.Context(), key); err != nil || len(log.Replies) != 1 {
		t.Errorf("got %d answers, %v, want the one that was given", len(log.Replies), err)
	}
}

// A reply that comes when a run has begun to wait, and is not free yet, is taken by its holder.
func TestReplyBeforeRelease(t *testing.T) {
	var worked int
	var release func() // once, before a run is free for others
	store := &watched{record.NewMemory(), func(c *storeCall) error {
		if do := release; do != nil && c.method == "release" {
			release = nil
			do()
		}
		return c.do()
	}}
	a := worker(t, turnsOf{turns: 2}, func() { worked++ }, agent.Options{Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson}})
	key := run.Key{ID: "0"}
	allow := func() {
		questions, err := a.Questions(t.Context(), key)
		if err != nil || len(questions) != 1 {
			t.Fatalf("got %d questions, %v, want one", len(questions), err)
		}
		if _, err := a.ResumeRun(t.Context(), key, run.Reply{Question: questions[0].ID, Action: run.ActionAllow}); !errors.Is(err, record.ErrHeld) {
			t.Errorf("got %v, want %v", err, record.ErrHeld)
		}
	}
	release = func() {
		release = allow // at the next wait, too
		allow()
	}
	got, err := a.Run(t.Context(), agent.Text("go"), agent.In(key.ID))
	if err != nil || got.Output != "done" || worked != 2 {
		t.Errorf("got %q, %v after %d calls, want the answer after 2", got.Output, err, worked)
	}
}

// waitingRun is a run that waits for an approval, in a store that is watched. worked counts the calls.
func waitingRun(t *testing.T) (store *listed, a *agent.Agent, ask string, worked *atomic.Int64) {
	t.Helper()
	return waitingRunIn(t, record.NewMemory())
}

func waitingRunIn(t *testing.T, kept record.Store) (store *listed, a *agent.Agent, ask string, worked *atomic.Int64) {
	t.Helper()
	store, worked = new(listed).in(kept), new(atomic.Int64)
	a = worker(t, turnsOf{turns: 1}, func() { worked.Add(1) }, agent.Options{Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson}})
	suspend(t, a, 0, 1)
	log := load(t, store.Store, run.Key{ID: "0"})
	store.calls = nil
	return store, a, log.Head.Questions[0], worked
}

// An answer that is refused leaves the run to whoever holds it: a process whose lease has expired may
// still append.
func TestRefusedAnswerTakesNoLease(t *testing.T) {
	store, a, ask, _ := waitingRun(t)
	yes := run.Reply{Question: ask, Action: run.ActionAllow}
	for _, c := range []struct {
		name    string
		answers []run.Reply
		want    error
	}{
		{"forged", []run.Reply{yes, {Question: "ask_forged", Action: run.ActionAllow}}, run.ErrNotAsked},
		{"unfit", []run.Reply{{Question: ask, Action: run.ActionAccept}}, run.ErrUnfit},
		{"two", []run.Reply{yes, {Question: ask, Action: run.ActionDeny}}, record.ErrReplied},
	} {
		if _, err := a.ResumeRun(t.Context(), run.Key{ID: "0"}, c.answers...); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
	if slices.Contains(store.calls, "acquire") {
		t.Errorf("got the calls %q, want the run left alone", store.calls)
	}
}

// An answer is kept also if the run cannot go on with it in this process.
func TestAnswerOfAFailedResume(t *testing.T) {
	store, a, ask, worked := waitingRun(t)
	store.broken = errFull
	if _, err := a.ResumeRun(t.Context(), run.Key{ID: "0"}, run.Reply{Question: ask, Action: run.ActionAllow}); !errors.Is(err, errFull) {
		t.Errorf("got %v, want %v", err, errFull)
	}
	store.broken = nil
	if log, err := store.Store.Load(t.Context(), run.Key{ID: "0"}); err != nil || len(log.Replies) != 1 || worked.Load() != 0 {
		t.Errorf("got %d answers, %v, and %d calls, want the answer that was given, and no call", len(log.Replies), err, worked.Load())
	}
	if got, err := a.ResumeRun(t.Context(), run.Key{ID: "0"}); err != nil || got.Output != "done" {
		t.Errorf("got %q, %v, want the answer", got.Output, err)
	}
}

// An answer that the store has already need not be durable: who gave it may have ended before. It is given to
// the store again, with the first records or without them.
func TestEqualAnswerIsMadeDurable(t *testing.T) {
	key := run.Key{ID: "0"}
	for name, broken := range map[string]error{"appended": nil, "the run cannot go on": errFull} {
		t.Run(name, func(t *testing.T) {
			store, a, ask, worked := waitingRun(t)
			yes := run.Reply{Question: ask, Action: run.ActionAllow}
			check(t, store.Store.Reply(t.Context(), key, []run.Reply{yes}))
			store.broken = broken
			if _, err := a.ResumeRun(t.Context(), key, yes); !errors.Is(err, broken) {
				t.Errorf("got %v, want %v", err, broken)
			}
			if len(store.given) == 0 || store.given[0].Question != ask {
				t.Errorf("got the answers %v in %q, want the one that was given", store.given, store.calls)
			}
			store.broken = nil
			if got, err := a.ResumeRun(t.Context(), key); broken != nil && (err != nil || got.Output != "done") || worked.Load() != 1 {
				t.Errorf("got %q, %v after %d calls, want one call", got.Output, err, worked.Load())
			}
		})
	}
}

// Another process may answer, or go on with the run, between the load of a run and its lease.
func TestResumeBesideOthers(t *testing.T) {
	t.Run("another answer", func(t *testing.T) {
		store, a, ask, worked := waitingRun(t)
		store.before = func() {
			if err := store.Store.Reply(t.Context(), run.Key{ID: "0"}, []run.Reply{{Question: ask, Action: run.ActionDeny}}); err != nil {
				t.Error(err)
			}
		}
		_, err := a.ResumeRun(t.Context(), run.Key{ID: "0"}, run.Reply{Question: ask, Action: run.ActionAllow})
		if !errors.Is(err, record.ErrReplied) || worked.Load() != 0 {
			t.Errorf("got %v after %d calls, want %v and no call", err, worked.Load(), record.ErrReplied)
		}
		if got, err := a.ResumeRun(t.Context(), run.Key{ID: "0"}); err != nil || got.Output != "done" || worked.Load() != 0 {
			t.Errorf("got %q, %v after %d calls, want the first answer to count", got.Output, err, worked.Load())
		}
	})
	t.Run("another run of the name", func(t *testing.T) {
		theRun := run.Key{ID: "0"}
		for name, kept := range map[string]record.Store{"memory": record.NewMemory(), "file": inFiles(t, filestore.SyncEveryEffect), "SQLite": inSQLite(t)} {
			store, a, ask, worked := waitingRunIn(t, kept)
			old := load(t, store, theRun)
			store.before = func() {
				if err := store.Delete(t.Context(), theRun); err != nil {
					t.Error(err)
				}
				suspend(t, a, 0, 1)
			}
			check(t, store.Store.Reply(t.Context(), theRun, []run.Reply{{Question: ask, Action: run.ActionAllow}}))
			if got, err := a.ResumeRun(t.Context(), theRun); err != nil || got.Status != run.StatusWaiting || worked.Load() != 0 {
				t.Errorf("%s: got %+v, %v after %d calls, want the new run to wait", name, got, err, worked.Load())
			}
			log, err := store.Load(t.Context(), theRun)
			if err != nil || log.Head.Seq != old.Head.Seq || log.Head.Questions[0] == ask || len(log.Replies) > 0 {
				t.Fatalf("%s: got %+v, %v, want the new run at record %d with its own question", name, log, err, old.Head.Seq)
			}
			if _, err := a.ResumeRun(t.Context(), theRun, run.Reply{Question: ask, Action: run.ActionAllow}); !errors.Is(err, run.ErrNotAsked) {
				t.Errorf("%s: got %v for the answer to the old run, want %v", name, err, run.ErrNotAsked)
			}
			err = record.Submit(t.Context(), store, theRun, run.Reply{Question: ask, Action: run.ActionAllow})
			if !errors.Is(err, run.ErrNotAsked) {
				t.Errorf("%s: got %v for the answer to the old run, want %v", name, err, run.ErrNotAsked)
			}
			if _, err := a.ResumeRun(t.Context(), theRun, run.Reply{Question: log.Head.Questions[0], Action: run.ActionAllow}); err != nil || worked.Load() != 1 {
				t.Errorf("%s: got %v after %d calls, want the new run to go on", name, err, worked.Load())
			}
		}
	})
	t.Run("the end", func(t *testing.T) {
		store, a, ask, worked := waitingRun(t)
		yes := run.Reply{Question: ask, Action: run.ActionAllow}
		store.before = func() {
			if _, err := a.ResumeRun(t.Context(), run.Key{ID: "0"}, yes); err != nil {
				t.Error(err)
			}
		}
		if got, err := a.ResumeRun(t.Context(), run.Key{ID: "0"}, yes); err != nil || got.Output != "done" || worked.Load() != 1 {
			t.Errorf("got %q, %v after %d calls, want the answer of the run that continued, and one call", got.Output, err, worked.Load())
		}
	})
}
