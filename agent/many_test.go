package agent_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/sqlstore"
	"github.com/mcpchain/mcpchain/evals/bench/rig"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// keptStores are the stores that outlive a process.
var keptStores = []struct {
	name string
	open func(testing.TB) record.Store
}{{"SQLite", inSQLite}, {"files", func(t testing.TB) record.Store { return inFiles(t, nil) }}}

func inSQLite(t testing.TB) record.Store {
	t.Helper()
	store, db := sqliteIn(t, filepath.Join(t.TempDir(), "runs.db"))
	db.SetMaxOpenConns(8)
	return store
}

// postgres is the server of the tests, once one has asked for it. It ends with the process.
var postgres = sync.OnceValues(testenv.StartPostgres)

var schemas atomic.Int64

func inPostgres(t testing.TB) record.Store {
	t.Helper()
	server, err := postgres()
	switch {
	case errors.Is(err, testenv.ErrNoPostgres) && os.Getenv("CI") == "":
		t.Skip(err)
	case err != nil:
		t.Fatal(err)
	}
	schema := fmt.Sprintf("s%d", schemas.Add(1))
	db := check.Value(sql.Open("pgx", server.DSN("postgres")+" search_path="+schema))(t)
	t.Cleanup(func() { _ = db.Close() })
	check.Must(t, check.Err(db.ExecContext(t.Context(), "CREATE SCHEMA "+schema)))
	return analyzed{check.Value(sqlstore.OpenPostgres(t.Context(), db))(t), db}
}

// analyzed is a store whose server knows what is in the tables, as autovacuum has it know within a minute.
type analyzed struct {
	sqlstore.Store
	db *sql.DB
}

func inFiles(t testing.TB, opts *filestore.Options) record.Store {
	t.Helper()
	return check.Value(filestore.Open(t.TempDir(), opts))(t)
}

// turnsOf is a model that calls the tool in so many turns and then answers. It keeps nothing of its runs.
type turnsOf struct {
	turns int
	takes time.Duration
}

func (turnsOf) Info() model.Info { return model.Info{NoStreaming: true} }

func (m turnsOf) Generate(ctx context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		time.Sleep(m.takes)
		next := says("done")
		if turn := len(r.Messages) / 2; turn < m.turns {
			next = uses(toolCall(fmt.Sprint(turn), "work", "{}"))
		}
		reply, err := next(ctx, prompt{})
		yield(model.Delta{Response: reply}, err)
	}
}

// worker is an agent with one tool. Each run has a user of its own: of one user a toolset asks about one call at a time.
func worker(t testing.TB, m turnsOf, work func(), opts agent.Options) *agent.Agent {
	t.Helper()
	opts.Tools = []adapter.Source{adapter.Func("work", "Works.", func(context.Context, struct{}) (string, error) {
		work()
		return "worked", nil
	}, &adapter.FuncOptions{Options: &adapter.Options{User: userOf}})}
	return newAgent(t, m, &opts)
}

func suspend(t testing.TB, a *agent.Agent, from, to int) {
	t.Helper()
	const side = 256 // runs at one time, which share commits
	var wg sync.WaitGroup
	for part := range side {
		wg.Go(func() {
			for i := from + part; i < to; i += side {
				got, err := a.Run(context.WithValue(context.Background(), userKey{}, fmt.Sprint(i)), human("go"), agent.WithRun(fmt.Sprint(i)))
				if err != nil || got.Status != run.StatusWaiting {
					t.Errorf("run %d: got %s, %v, want it to wait", i, got.Status, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// resume allows what a run waits for, and brings it to its end.
func resume(t testing.TB, store record.Store, a *agent.Agent, id string) {
	t.Helper()
	allow(t, a, id, question(t, store, id))
}

func question(t testing.TB, store record.Store, id string) string {
	t.Helper()
	log := check.Value(store.Load(t.Context(), run.Key{ID: id}))(t)
	check.Require(t, len(log.Head.QuestionIDs) == 1, "run %s: got the questions %q, want one", id, log.Head.QuestionIDs)
	return log.Head.QuestionIDs[0]
}

// allow answers the question of a run, and brings it to its end.
func allow(t testing.TB, a *agent.Agent, id, ask string) {
	t.Helper()
	got := check.Value(a.Resume(t.Context(), run.Key{ID: id}, run.Reply{Question: ask, Action: run.ActionAllow}))(t)
	check.Equal(t, "answer of run "+id, got.Output, "done")
}

// A run that waits for a person is in the store alone: it has no goroutine and no memory.
func TestManySuspendedRuns(t *testing.T) {
	suspended := testenv.Pick(1000, 10_000)
	// A store may start and end goroutines of its own, and keeps some memory for all runs together.
	most, few := min(uint64(2<<20), uint64(suspended)*800), suspended/100
	for _, kind := range []string{"SQLite", "files"} {
		t.Run(kind, func(t *testing.T) {
			store := everyStore[kind](t)
			var worked atomic.Int64
			a := worker(t, turnsOf{turns: 1}, func() { worked.Add(1) }, agent.Options{Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson}})
			suspend(t, a, 0, 8) // what is made once
			resume(t, store, a, "0")
			goroutines, heap := runtime.NumGoroutine(), live()
			suspend(t, a, 8, 8+suspended)
			within(t, fmt.Sprintf("goroutines after %d runs were suspended", suspended), settled(runtime.NumGoroutine, goroutines+few),
				0, goroutines+few)
			within(t, fmt.Sprintf("bytes of the heap after %d runs were suspended", suspended), settled(live, heap+most), 0, heap+most)
			resume(t, store, a, fmt.Sprint(7+suspended))
			check.Equal(t, "calls, in the runs that continued", worked.Load(), 2)
		})
	}
}

// settled is what read returns, once it is at most what is wanted: a goroutine that has returned may be counted for a moment.
func settled[T cmp.Ordered](read func() T, want T) T {
	for end := time.Now().Add(testenv.Patience); read() > want && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	return read()
}

func live() uint64 {
	runtime.GC()
	runtime.GC() // the first one leaves what pools have
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkResume is the time from an answer to the tool call that it allows, for one of 10,000 suspended runs: the run
// is loaded and taken, and the answer is kept with the intent. Its CPU time is that of the whole rest of the run.
func BenchmarkResume(b *testing.B) {
	for _, s := range keptStores {
		b.Run(s.name, func(b *testing.B) {
			store := s.open(b)
			var began time.Time
			var times []float64
			took := func() { times = append(times, float64(time.Since(began).Microseconds())) }
			a := worker(b, turnsOf{turns: 1}, took, agent.Options{Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson}})
			suspend(b, a, 0, max(b.N, 10_000))
			b.ResetTimer()
			var cpu time.Duration
			for i := range b.N {
				id := fmt.Sprint(i)
				ask := question(b, store, id) // which the person has read
				before := rig.CPUTime()
				began = time.Now()
				allow(b, a, id, ask)
				cpu += rig.CPUTime() - before
			}
			b.ReportMetric(float64(cpu.Microseconds())/float64(b.N), "cpu-µs/run")
			b.ReportMetric(rig.Median(times), "µs-p50")
			b.ReportMetric(rig.Quantile(times, 0.99), "µs-p99")
		})
	}
}

// largeAgent asks for n results of so many bytes in one turn.
func largeAgent(t *testing.T, store record.Store, n int, text string) *agent.Agent {
	large := adapter.Func("large", "Gives much.", func(context.Context, struct{}) (string, error) { return text, nil },
		&adapter.FuncOptions{ReadOnly: true, Options: &adapter.Options{Policy: adapter.Policy{MaxResult: len(text)}}})
	calls := repeated(n, "large", `{}`)
	return newAgent(t, play(uses(calls...), says("so much")), &agent.Options{Durable: agent.Durable{Store: store, ResultTokens: -1}, Tools: []adapter.Source{large}})
}

// TestTurnLargerThanACommit has a turn whose results are more than the store keeps at once: they are kept in several writes.
func TestTurnLargerThanACommit(t *testing.T) {
	store := inFiles(t, &filestore.Options{NoSync: true})
	a := largeAgent(t, store, 8, strings.Repeat("much", 5<<18)) // 40 MiB
	answers(t, a, "so much", agent.WithRun("r"))
	kept := slices.DeleteFunc(changesOf[*ledger.Outcome](load(t, store, theRun).Records),
		func(o *ledger.Outcome) bool { return len(o.Result.Text) != 5<<20 })
	check.Equal(t, "results that are whole", len(kept), 8)
}

// TestResultTooLargeToKeep has a result that no store would keep: the model is told, and the run goes its way.
func TestResultTooLargeToKeep(t *testing.T) {
	for _, store := range []record.Store{inFiles(t, &filestore.Options{NoSync: true}), nil} {
		a := largeAgent(t, store, 1, strings.Repeat("\x01", 6<<20)) // 36 MiB as JSON
		kept := results(agent.Inside(answers(t, a, "so much").State).History)[0]
		left := strings.Contains(kept, "is left out: it has 36 MiB, and at most 32 are kept with a run")
		check.That(t, left == (store != nil), "with a store %v: got a result of %d bytes: %.200q", store != nil, len(kept), kept)
	}
}

// numbered are n calls of the function meet, each with its number.
func numbered(n int) (calls []run.Part) {
	for i := range n {
		calls = append(calls, toolCall(fmt.Sprint(i), "meet", fmt.Sprintf(`{"n":%d}`, i)))
	}
	return calls
}

type meeting struct {
	N int `json:"n"`
}

// Functions that wait for each other run at once, turn after turn, among functions that return immediately.
func TestFunctionsRunAtOnce(t *testing.T) {
	for name, store := range map[string]func() record.Store{
		"without a store": func() record.Store { return nil }, "with a store": func() record.Store { return record.NewMemory() },
	} {
		synctestRun(t, name, func(t *testing.T) {
			const n = 64
			met := make(chan int)
			meet := func(_ context.Context, in meeting) (string, error) {
				switch {
				case in.N%4 == 0:
					return "passed", nil
				case in.N < n/2:
					met <- in.N
				default:
					<-met
				}
				return "met", nil
			}
			got := answers(t, newAgent(t, play(uses(numbered(n)...), uses(numbered(n)...), says("done")), &agent.Options{
				Tools:  []adapter.Source{adapter.Func("meet", "Meets another call.", meet, &adapter.FuncOptions{ReadOnly: true})},
				Limits: run.Limits{Parallel: n, Calls: -1}, Durable: agent.Durable{Store: store()},
			}), "done")
			check.Equal(t, "calls", agent.Inside(got.State).Spent.Calls, 2*n)
		})
	}
}

// A function that ends its goroutine fails the run, and the other calls of the turn end: at once, or after some have continued.
func TestFunctionEndsItsGoroutine(t *testing.T) {
	for _, after := range []time.Duration{0, time.Second} {
		synctest.Test(t, func(t *testing.T) {
			meet := func(_ context.Context, in meeting) (string, error) {
				if in.N%2 == 0 {
					time.Sleep(after)
					runtime.Goexit()
				}
				return "passed", nil
			}
			_, err := newAgent(t, play(uses(numbered(8)...)), &agent.Options{
				Tools: []adapter.Source{adapter.Func("meet", "Meets another call.", meet, &adapter.FuncOptions{ReadOnly: true})},
			}).Run(t.Context(), human("go"))
			check.Text(t, err, "ended the goroutine", after)
		})
	}
}
