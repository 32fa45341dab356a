package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// replayable are the types of events that have a record.
var replayable = map[string]bool{
	"model_start": true, "model_end": true, "tool_start": true, "tool_end": true, "asked": true, "answered": true,
	"compacted": true, "turn_end": true, "suspended": true, "answer": true,
}

// written is an event as JSON without what no record has.
type written struct {
	At     agent.Position
	JSON   string
	Record bool // it is replayed
}

// write writes the events, and returns the last question among them.
func write(t *testing.T, events iter.Seq2[agent.Event, error]) (out []written, asked *run.Question) {
	t.Helper()
	out = []written{}
	for e := range each(t, events) {
		if q, ok := e.(*agent.Asked); ok {
			asked = q.Question
		}
		data := check.Value(agent.MarshalEvent(e))(t)
		var members map[string]any
		check.Must(t, json.Unmarshal(data, &members))
		delete(members, "duration_ns")
		delete(members, "streamed")
		delete(members, "window")
		out = append(out, written{e.Position(), jsonOf(members), replayable[agent.KindOf(e)]})
	}
	return out, asked
}

// resumes checks that a replay from the position of each event gives what came after it and is replayable, and no more.
func resumes(t *testing.T, a *agent.Agent, live []written) {
	t.Helper()
	rest := func(from int) []written {
		return slices.DeleteFunc(slices.Clone(live[from:]), func(w written) bool { return !w.Record })
	}
	replayed, _ := write(t, a.Replay(t.Context(), theRun, agent.Position{}))
	check.Same(t, "from the beginning", replayed, rest(0))
	for i, w := range live {
		replayed, _ := write(t, a.Replay(t.Context(), theRun, w.At))
		check.Same(t, fmt.Sprintf("after event %d, at %+v: %s", i, w.At, w.JSON), replayed, rest(i+1))
	}
	for range a.Replay(t.Context(), theRun, agent.Position{}) {
		break // the range may be left
	}
}

// What is replayed is what happened, from each number on.
func TestReplay(t *testing.T) {
	asks := onInput(uses(toolCall("1", "ask", `{}`)), says("helped"))
	for name, tt := range map[string]struct {
		model []step
		make  func(*agent.Agent, string, string) (adapter.Source, error)
		opts  agent.Options
	}{
		"sub-agent": {[]step{
			uses(toolCall("a", "echo", `{ "x": 1 }`), toolCall("b", "none", `{}`)), uses(toolCall("c", "helper", `{"task":"help"}`)), says("done"),
		}, agent.NewSubAgent, agent.Options{}},
		"handoff": {[]step{uses(toolCall("a", "helper", `{"task":"take it"}`))}, agent.NewHandoff, agent.Options{}},
		"compaction": {[]step{uses(toolCall("a", "ask", `{}`)), says("done")}, agent.NewSubAgent, agent.Options{
			Compact: func(_ context.Context, history []run.Message, _ compact.Budget) (*compact.Result, error) {
				if len(history) != 1 {
					return nil, nil
				}
				return &compact.Result{Replaced: 1, Messages: []run.Message{run.Text(run.RoleUser, "go on"), run.Text(run.RoleUser, "please")}}, nil
			},
		}},
		"limit": {[]step{uses(toolCall("a", "ask", `{}`)), says("done")}, agent.NewSubAgent, agent.Options{Limits: run.Limits{Turns: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			toolset, _ := open(t, nil)
			helper := withTools(t, play(asks).as(model.Info{Name: "small"}), toolset, nil)
			tt.opts.Durable.Store, tt.opts.Tools = record.NewMemory(), []adapter.Source{toolset}
			a := boss(t, play(tt.model...).streaming(), sub(t, helper, tt.make), tt.opts)
			live, q := write(t, a.Events(t.Context(), human("go"), agent.WithRun(theRun.ID)))
			check.Require(t, q != nil, "the run asks nothing")
			rest, _ := write(t, a.ResumeEvents(t.Context(), theRun, accepted(t, q, map[string]any{"name": "Ann"})))
			live = append(live, rest...)
			check.Equal(t, "status", load(t, tt.opts.Durable.Store, theRun).Head.Status, run.StatusFinished)
			resumes(t, a, live)
		})
	}
}

// Sub-agents that work side by side do not mix up the positions of each other's events.
func TestReplayOfSubAgentsSideBySide(t *testing.T) {
	helper := boxed(t, play(onInput(uses(toolCall("1", "echo", `{}`)), says("helped"))), nil)
	calls := repeated(8, "helper", `{"task":"help"}`)
	a := boss(t, play(uses(calls...), says("done")), sub(t, helper, agent.NewSubAgent), agent.Options{Durable: agent.Durable{Store: record.NewMemory()}})
	live, _ := write(t, a.Events(t.Context(), human("go"), agent.WithRun(theRun.ID)))
	resumes(t, a, live)
}

// A call that does not run is replayed as it was: with the arguments that the model wrote, whoever refused it and wherever.
func TestReplayOfDenials(t *testing.T) {
	const spaced = `{ "x": 1 }`
	deny := func(context.Context, *approval.Request) (approval.Decision, error) {
		return approval.Decision{Reason: "no"}, nil
	}
	hook := agent.Hook{BeforeTool: func(context.Context, *agent.State, *agent.Call) error { return agent.DenyCall("no") }}
	for name, opts := range map[string]agent.Options{
		"approval": {Person: agent.Person{Approve: deny}}, "hook": {Hooks: []agent.Hook{hook}}, "limit": {Limits: run.Limits{Calls: -1, Turns: 1}},
		"person": {Person: agent.Person{Approve: agent.AskPerson}}, "allowed": {},
	} {
		t.Run(name, func(t *testing.T) {
			opts.Durable.Store = record.NewMemory()
			a := boxed(t, play(uses(toolCall("1", "echo", spaced), toolCall("2", "none", spaced)), says("done")), &opts)
			live, q := write(t, a.Events(t.Context(), human("go"), agent.WithRun(theRun.ID)))
			if q != nil {
				again, _ := write(t, a.ResumeEvents(t.Context(), theRun))
				last := live[len(live)-1].At
				check.That(t, len(again) == 1 && again[0].At == last, "got %+v while the run waits, want one event at %+v", again, last)
				rest, _ := write(t, a.ResumeEvents(t.Context(), theRun, q.Deny("no")))
				live = append(live, rest...)
			}
			resumes(t, a, live)
		})
	}
}

// An answer of a hook is replayed as it was: empty after an input or a reply, and instead of a call with rewritten arguments.
func TestReplayOfStop(t *testing.T) {
	const secret = "SECRET"
	var stop bool
	echo := adapter.Func("echo", "x", func(context.Context, struct{ X int }) (string, error) { return "", nil }, nil)
	for name, tt := range map[string]struct {
		hook agent.Hook
		says step
	}{
		"before the model": {agent.Hook{BeforeModel: func(context.Context, *agent.State, *model.Request) error {
			if stop {
				return agent.StopRun("")
			}
			return nil
		}}, says("hi")},
		"after the model": {agent.Hook{AfterModel: func(context.Context, *agent.State, *run.Message) error { return agent.StopRun("") }}, says(secret)},
		"before a tool": {agent.Hook{BeforeTool: func(context.Context, *agent.State, *agent.Call) error { return agent.StopRun("no") }},
			uses(toolCall("1", "echo", `{"X":"7"}`))},
		"after a tool": {agent.Hook{AfterTool: func(context.Context, *agent.State, *agent.Call, *run.Part) error { return agent.StopRun("") }},
			uses(toolCall("1", "echo", `{"X":7}`))},
	} {
		t.Run(name, func(t *testing.T) {
			stop = false
			a := newAgent(t, play(tt.says), &agent.Options{Durable: agent.Durable{Store: record.NewMemory()}, Hooks: []agent.Hook{tt.hook}, Tools: []adapter.Source{echo}})
			var live []written
			for range 2 {
				events, _ := write(t, a.Events(t.Context(), human("go"), agent.WithRun(theRun.ID)))
				live, stop = append(live, events...), true
			}
			for _, e := range live {
				check.Equal(t, e.JSON+": has what was stopped", strings.Contains(e.JSON, secret), false)
			}
			resumes(t, a, live)
		})
	}
}

// A structured answer is replayed without a turn of its own.
func TestReplayOfOutput(t *testing.T) {
	a := newAgent(t, play(uses(toolCall("1", "final_answer", `{"city":"Oslo","degree":7}`))),
		&agent.Options{Durable: agent.Durable{Store: record.NewMemory()}})
	check.Must(t, errorOf3(agent.RunAs[weatherReport](t.Context(), a, human("go"), agent.WithRun(theRun.ID))))
	var types []string
	for e := range each(t, a.Replay(t.Context(), theRun, agent.Position{})) {
		types = append(types, agent.KindOf(e))
	}
	check.Same(t, "events", types, []string{"model_start", "model_end", "tool_start", "tool_end", "turn_end", "answer"})
}

// emptyLogs is a broken store, whose runs have no records.
type emptyLogs struct{ record.Store }

func (s emptyLogs) Load(ctx context.Context, key run.Key) (*record.Log, error) {
	log, err := s.Store.Load(ctx, key)
	if err == nil {
		log.Records = nil
	}
	return log, err
}

// A log without records is an error.
func TestReplayOfNoRecords(t *testing.T) {
	a := newAgent(t, play(says("done")), &agent.Options{Durable: agent.Durable{Store: emptyLogs{record.NewMemory()}}})
	mustRun(t, a, human("go"), agent.WithRun(theRun.ID))
	check.Is(t, replayed(t, a, theRun), record.ErrCorrupt)
}

// A position that the run has not come to is an error, not a page without events.
func TestReplayBehindTheEnd(t *testing.T) {
	a := newAgent(t, play(says("done")), &agent.Options{Durable: agent.Durable{Store: record.NewMemory()}})
	got := mustRun(t, a, human("go"), agent.WithRun(theRun.ID))
	for behind := range uint64(2) {
		var failed error
		for e, err := range a.Replay(t.Context(), theRun, agent.Position{Seq: agent.Inside(got.State).Seq + behind}) {
			check.Equal(t, "event", e, nil)
			failed = err
		}
		check.Equal(t, fmt.Sprint(behind, " records behind the end"), errors.Is(failed, agent.ErrPosition), behind > 0)
	}
}

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

// A conversation continues whose old records are gone: the model reads the same history, and a replay says what is missing.
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
