package agent_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/evals/bench/rig"
	"github.com/mcpchain/mcpchain/internal/check"
)

// A call of a turn takes as much memory however many there are, also with hooks that read the state of the run.
func TestManyCallsTakeMemoryEach(t *testing.T) {
	hook := agent.Hook{
		BeforeTool: func(_ context.Context, s *agent.State, _ *agent.Call) error { _ = s.Usage(); return nil },
		AfterTool:  func(_ context.Context, s *agent.State, _ *agent.Call, _ *run.Part) error { _ = s.History(); return nil },
	}
	for name, tt := range map[string]struct {
		reads bool
		hooks []agent.Hook
	}{"reads": {true, nil}, "writes": {false, nil}, "hooks": {true, []agent.Hook{hook}}} {
		work := adapter.Func("work", "", func(context.Context, struct{}) (string, error) { return "ok", nil }, &adapter.FuncOptions{ReadOnly: tt.reads})
		perCall := func(n int) uint64 {
			m := instant{onInput(uses(repeated(n, "work", `{}`)...), says("done"))}
			a := newAgent(t, m, &agent.Options{Tools: []adapter.Source{work}, Hooks: tt.hooks, Limits: run.Limits{Calls: -1}})
			least := uint64(math.MaxUint64)
			for range 3 { // other tests may allocate meanwhile
				least = min(least, check.Allocated(func() { mustRun(t, a, human("go")) })/uint64(n))
			}
			return least
		}
		within(t, name+": bytes for each of 1000 calls", perCall(1000), 0, 2*perCall(100))
	}
}

// instant is a model that keeps nothing.
type instant struct{ step step }

func (instant) Info() model.Info { return model.Info{NoStreaming: true} }

func (m instant) Generate(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		reply, err := m.step(ctx, prompt{Request: *r})
		yield(model.Delta{Response: reply}, err)
	}
}

// BenchmarkDurableTurn is the cost of a turn of function calls that is kept, of 100 turns of a run.
func BenchmarkDurableTurn(b *testing.B) {
	const turns = 100
	for _, s := range []struct {
		name string
		open func(testing.TB) record.Store
	}{
		{"none", func(testing.TB) record.Store { return nil }},
		{"memory", func(testing.TB) record.Store { return record.NewMemory() }},
		{"files", func(t testing.TB) record.Store { return inFiles(t, nil) }},
		{"SQLite", inSQLite},
		{"Postgres", inPostgres},
	} {
		for _, calls := range []int{1, 8, 64} {
			b.Run(fmt.Sprint(s.name, "/", calls), func(b *testing.B) {
				n := 0
				m := instant{func(ctx context.Context, p prompt) (*model.Response, error) {
					if n++; n%(turns+1) == 0 {
						return says("done")(ctx, p)
					}
					var parts []run.Part
					for i := range calls {
						parts = append(parts, toolCall(fmt.Sprint("c", n, "-", i), "work", `{}`))
					}
					return uses(parts...)(ctx, p)
				}}
				work := adapter.Func("work", "", func(context.Context, struct{}) (string, error) { return "ok", nil }, &adapter.FuncOptions{ReadOnly: true})
				a := newAgent(b, m, &agent.Options{Durable: agent.Durable{Store: s.open(b)}, Tools: []adapter.Source{work}, Limits: run.Limits{Turns: -1, Calls: -1}})
				b.ReportAllocs()
				for b.Loop() {
					mustRun(b, a, human("go"))
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*turns), "µs/turn")
			})
		}
	}
}

// BenchmarkOldRun gives an input to a conversation that has had so many, in a process that has not seen it, and moves a run
// on by a turn after so many. The young and the old one take turns: a ratio is of what was measured at the same time.
func BenchmarkOldRun(b *testing.B) {
	for _, kind := range []string{"files", "SQLite", "Postgres"} {
		for _, work := range []struct {
			name       string
			young, old int
			on         func(testing.TB, record.Store, string) func()
		}{{"input", 400, 10_000, inputsTo}, {"step", 100, 1000, stepsOf}} {
			b.Run(kind+"/"+work.name, func(b *testing.B) {
				store := everyStore[kind](b)
				young, old := work.on(b, store, "young"), work.on(b, store, "old")
				for range work.young {
					young()
				}
				for range work.old {
					old()
				}
				if pg, ok := store.(analyzed); ok {
					check.Must(b, check.Err(pg.db.Exec("ANALYZE")))
				}
				compare(b, young, old)
			})
		}
	}
}

// BenchmarkLongHistory asks a model after so many messages: one that keeps nothing, and that of a host without a network.
func BenchmarkLongHistory(b *testing.B) {
	host := canned(replying(`{"role":"assistant","content":"done"}`))
	for _, m := range []struct {
		name  string
		model agent.Model
	}{{"model", instant{says("done")}}, {"openaimodel", atHost(b, "k", host, "m", openaimodel.Options{Host: "compatible"})}} {
		for _, messages := range []int{1, 1000} {
			b.Run(fmt.Sprint(m.name, "/", messages), func(b *testing.B) {
				var in []run.Message
				for len(in) < messages-1 {
					in = append(in, run.Text(run.RoleUser, strings.Repeat("go on ", 10)), run.Text(run.RoleAssistant, strings.Repeat("so be it ", 10)))
				}
				in = append(in, run.Text(run.RoleUser, "and now?"))
				a := newAgent(b, m.model, nil)
				b.ReportAllocs()
				for b.Loop() {
					mustRun(b, a, in)
				}
			})
		}
	}
}

// canned is a host with one answer.
type canned string

func (c canned) Do(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	head := http.Header{"Content-Type": {"application/json"}}
	return &http.Response{StatusCode: http.StatusOK, Header: head, Body: io.NopCloser(strings.NewReader(string(c))), Request: r}, nil
}

// compare reports what two functions take, in turns, as the median of wall time and the mean of CPU time of this process.
func compare(b *testing.B, young, old func()) {
	var cpu [2]time.Duration
	var wall [2][]float64
	for b.Loop() {
		for i, do := range []func(){young, old} {
			began, used := time.Now(), rig.CPUTime()
			do()
			wall[i], cpu[i] = append(wall[i], float64(time.Since(began).Microseconds())), cpu[i]+rig.CPUTime()-used
		}
	}
	b.ReportMetric(0, "ns/op")
	for i, name := range []string{"young", "old"} {
		b.ReportMetric(rig.Median(wall[i]), name+"-µs")
		b.ReportMetric(float64(cpu[i].Microseconds())/float64(b.N), name+"-cpu-µs")
	}
	b.ReportMetric(rig.Median(wall[1])/rig.Median(wall[0]), "old÷young")
	b.ReportMetric(float64(cpu[1])/float64(cpu[0]), "cpu-old÷young")
}

// inputsTo gives inputs to a conversation, each by a process of its own.
func inputsTo(t testing.TB, store record.Store, id string) func() {
	m := instant{says(strings.Repeat("so be it ", 100))}
	return func() {
		a := newAgent(t, m, &agent.Options{Durable: agent.Durable{Store: store}, Compact: compact.Trim(nil)})
		mustRun(t, a, human(strings.Repeat("go on ", 50)), agent.WithRun(id))
	}
}

// stepsOf moves a run on by a turn at a time.
func stepsOf(t testing.TB, store record.Store, id string) func() {
	n := 0
	m := instant{func(ctx context.Context, p prompt) (*model.Response, error) {
		n++
		return uses(toolCall(fmt.Sprint("c", n), "look", `{}`))(ctx, p)
	}}
	look := adapter.Func("look", "Looks.", func(context.Context, struct{}) (string, error) { return strings.Repeat("a tree ", 70), nil }, nil)
	a := newAgent(t, m, &agent.Options{Durable: agent.Durable{Store: store}, Tools: []adapter.Source{look}, Limits: run.Limits{Turns: -1, Calls: -1}})
	key := begun(t, a, agent.WithRun(id))
	return func() {
		next, err := a.Advance(t.Context(), key, nil)
		check.Require(t, err == nil && next.Status == run.StatusRunning, "%v %v", next, err)
	}
}
