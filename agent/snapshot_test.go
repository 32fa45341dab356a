package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

type counting struct {
	watched
	loads, records int
}

func (c *counting) LoadCurrent(ctx context.Context, key run.Key) (*record.Log, error) {
	log, err := c.Store.LoadCurrent(ctx, key)
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
		keys := check.Value(record.NewKeys("a", map[string][]byte{"a": []byte("a key of 32 bytes, for the tests")}))(t)
		return record.Sealed(inSQLite(t), keys)
	},
	"files":  func(t testing.TB) record.Store { return inFiles(t, &filestore.Options{NoSync: true}) },
	"SQLite": inSQLite, "Postgres": inPostgres,
}

// inEveryStore runs a test with each store, in a bubble.
func inEveryStore(t *testing.T, test func(*testing.T, record.Store)) {
	for name, open := range everyStore {
		synctestRun(t, name, func(t *testing.T) { test(t, open(t)) })
	}
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
				check.Equal(t, "answer", mustRun(t, a, human(fmt.Sprint("input ", i)), agent.WithRun("r")).Output, "so be it")
				within(t, fmt.Sprintf("records to begin with at input %d", i), store.records, 0, 200)
			}
			whole := load(t, store, run.Key{ID: "r"})
			current := check.Value(store.LoadCurrent(t.Context(), run.Key{ID: "r"}))(t)
			within(t, "record of the snapshot", whole.Head.Snapshot, 1, math.MaxUint64)
			within(t, "records", len(whole.Records), 300, 10_000)
			within(t, "records to load", len(current.Records), 0, 200)
			a, errA := ledger.StateOf(whole.Records)
			b, errB := ledger.StateOf(current.Records)
			check.Must(t, errors.Join(errA, errB))
			check.Same(t, "the state from the snapshot", jsonOf(b), jsonOf(a))
			events, _ := played(t, chatty(t, store).Replay(t.Context(), run.Key{ID: "r"}, agent.Position{}))
			check.Same(t, "answers from the beginning", len(of[*agent.Output](events)), inputs)
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
		check.Same(t, fmt.Sprintf("step %d: error, end and loads", i), []any{err, next.Status.Ended(), store.loads - before},
			[]any{nil, i == 8, step.loads})
	}
	s := stateOf(t, store, key)
	check.Same(t, "answer, and messages", []any{s.Output, len(s.History)}, []any{"done", 18})
}

// TestPrunedRun has a conversation continue whose old records are gone: the model reads the same
// history, and a replay says what is missing.
func TestPrunedRun(t *testing.T) {
	for name, open := range everyStore {
		t.Run(name, func(t *testing.T) {
			store := open(t)
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
			for input(); load(t, store, theRun).Head.Snapshot == 0; input() {
			}
			n, err := record.Prune(t.Context(), store, record.Query{})
			check.Same(t, "runs that are pruned", []any{n, err}, []any{1, nil})
			input()
			check.Equal(t, "messages that the model read", read, 2*inputs-1)
			events, _ := played(t, a.Replay(t.Context(), theRun, agent.Position{}))
			w, ok := events[0].(*agent.Warning)
			check.That(t, ok && strings.Contains(w.Text, "are gone"), "the replay begins with %T, want a warning", events[0])
			outputs := of[*agent.Output](events)
			check.Equal(t, "the last answer of the replay", outputs[len(outputs)-1].Text, fmt.Sprint("answer ", read))
			for key, err := range record.Verify(t.Context(), store, record.Query{}) {
				t.Errorf("verify: got %v, %v", key, err)
			}
		})
	}
}
