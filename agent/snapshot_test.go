package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// counting counts what is read of a store.
type counting struct {
	watched
	loads, records int
}

func (c *counting) LoadCurrent(ctx context.Context, key run.Key) (*record.Log, error) {
	log, err := record.LoadCurrent(ctx, c.Store, key)
	c.loads++
	if err == nil {
		c.records += len(log.Records)
	}
	return log, err
}

// everyStore are stores of all kinds.
var everyStore = map[string]func(testing.TB) record.Store{
	"memory": func(testing.TB) record.Store { return record.NewMemory() },
	"sealed": func(t testing.TB) record.Store {
		keys, err := record.NewKeys(record.Secret{Name: "a", Key: []byte("a key of 32 bytes, for the tests")})
		check(t, err)
		return record.Sealed(inSQLite(t), keys)
	},
	"files":  func(t testing.TB) record.Store { return inFiles(t, filestore.SyncNever) },
	"SQLite": inSQLite, "Postgres": inPostgres,
}

// chatty answers each input after one call of a tool.
func chatty(t testing.TB, store record.Store) *agent.Agent {
	looks := func(ctx context.Context, p prompt) (*model.Response, error) {
		return uses(toolCall(fmt.Sprint("c", len(p.Request.Messages)), "look", `{}`))(ctx, p)
	}
	m := play(onInput(looks, says("so be it")))
	look := adapter.Func("look", "Looks.", func(context.Context, struct{}) (string, error) { return "a tree", nil }, nil)
	return newAgent(t, m, &agent.Options{Durable: agent.Durable{Store: store}, Tools: []adapter.Source{look}, Compact: compact.Trim(&compact.Options{Window: 1000, KeepTurns: 2})})
}

// TestSnapshots has an old conversation read no more than its living part, and shown from its beginning.
func TestSnapshots(t *testing.T) {
	for name, open := range everyStore {
		t.Run(name, func(t *testing.T) {
			const inputs = 60
			store := &counting{watched: *watch(open(t), nil)}
			for i := range inputs {
				a := chatty(t, store) // a process of its own
				store.records = 0
				got, err := a.Run(t.Context(), human(fmt.Sprint("input ", i)), agent.WithRun("r"))
				if err != nil || got.Output != "so be it" {
					t.Fatalf("input %d: got %q, %v", i, got.Output, err)
				}
				if n := store.records; n > 200 {
					t.Fatalf("input %d: got %d records to begin with, want fewer than 200", i, n)
				}
			}
			whole := load(t, store, run.Key{ID: "r"})
			current, err := record.LoadCurrent(t.Context(), store, run.Key{ID: "r"})
			check(t, err)
			if whole.Head.Snapshot == 0 || len(whole.Records) < 300 || len(current.Records) > 200 {
				t.Fatalf("got a snapshot in record %d of %d, and %d to load", whole.Head.Snapshot, len(whole.Records), len(current.Records))
			}
			a, errA := ledger.StateOf(whole.Records)
			b, errB := ledger.StateOf(current.Records)
			if errA != nil || errB != nil {
				t.Fatal(errA, errB)
			}
			diff(t, "the state from the snapshot", asJSON(t, b), asJSON(t, a))
			answers := 0
			for e := range each(t, chatty(t, store).Replay(t.Context(), run.Key{ID: "r"}, agent.Position{})) {
				if _, ok := e.(*agent.Output); ok {
					answers++
				}
			}
			diff(t, "answers from the beginning", answers, inputs)
		})
	}
}

// TestAdvanceKeepsTheState loads a run for its first step alone, unless another process has stepped it meanwhile.
func TestAdvanceKeepsTheState(t *testing.T) {
	store := &counting{watched: *watch(record.NewMemory(), nil)}
	steps := 0
	m := play(func(ctx context.Context, p prompt) (*model.Response, error) {
		if steps++; steps > 8 {
			return says("done")(ctx, p)
		}
		return uses(toolCall(fmt.Sprint("c", steps), "look", `{}`))(ctx, p)
	})
	look := adapter.Func("look", "Looks.", func(context.Context, struct{}) (string, error) { return "a tree", nil }, nil)
	process := func() *agent.Agent {
		return newAgent(t, m, &agent.Options{Durable: agent.Durable{Store: store}, Tools: []adapter.Source{look}})
	}
	first, second := process(), process()
	key := begun(t, first, agent.WithRun("r"))
	for i, step := range []struct {
		by    *agent.Agent
		loads int
	}{{first, 1}, {first, 0}, {first, 0}, {second, 1}, {first, 1}, {first, 0}, {second, 1}, {second, 0}, {second, 0}} {
		before := store.loads
		next, err := step.by.Advance(t.Context(), key, nil)
		if err != nil || next.Status.Ended() != (i == 8) {
			t.Fatalf("step %d: got %+v, %v", i, next, err)
		}
		if n := store.loads - before; n != step.loads {
			t.Errorf("step %d: got %d loads, want %d", i, n, step.loads)
		}
	}
	log := load(t, store, key)
	s, err := ledger.StateOf(log.Records)
	if err != nil || s.Output != "done" || len(s.History) != 18 {
		t.Errorf("got %q after %d messages, %v", s.Output, len(s.History), err)
	}
}

// TestPrunedRun has a conversation continue whose old records are gone: the model reads the same
// history, and a replay says what is missing.
func TestPrunedRun(t *testing.T) {
	for name, open := range everyStore {
		t.Run(name, func(t *testing.T) { prunedRun(t, open(t)) })
	}
}

func prunedRun(t *testing.T, store record.Store) {
	var read int
	m := instant{func(ctx context.Context, p prompt) (*model.Response, error) {
		read = len(p.Request.Messages)
		return says(fmt.Sprint("answer ", read))(ctx, p)
	}}
	a := newAgent(t, m, &agent.Options{Durable: agent.Durable{Store: store}})
	inputs := 0
	input := func() {
		t.Helper()
		inputs++
		mustRun(t, a, human(fmt.Sprint("input ", inputs)), agent.WithRun(theRun.ID))
	}
	for {
		input()
		if log, err := store.Load(t.Context(), theRun); err != nil {
			t.Fatal(err)
		} else if log.Head.Snapshot > 0 {
			break
		}
	}
	if n, err := record.Prune(t.Context(), store, record.Query{}); err != nil || n != 1 {
		t.Fatalf("got %d, %v, want a run that is pruned", n, err)
	}
	input()
	if read != 2*inputs-1 {
		t.Errorf("the model read %d messages, want %d", read, 2*inputs-1)
	}
	var first agent.Event
	var last string
	for e := range each(t, a.Replay(t.Context(), theRun, agent.Position{})) {
		if first == nil {
			first = e
		}
		if answer, ok := e.(*agent.Output); ok {
			last = answer.Text
		}
	}
	if w, ok := first.(*agent.Warning); !ok || !strings.Contains(w.Text, "are gone") {
		t.Errorf("the replay begins with %T, want a warning", first)
	}
	if want := fmt.Sprint("answer ", read); last != want {
		t.Errorf("the replay ends with %q, want %q", last, want)
	}
	for key, err := range record.Verify(t.Context(), store, record.Query{}) {
		t.Errorf("verify: got %v, %v", key, err)
	}
}
