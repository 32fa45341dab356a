package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

func recovers(t *testing.T, store record.Store, a *agent.Agent, limit time.Duration, opts *agent.RecoverOptions) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), limit)
	defer stop()
	check.Is(t, agent.Recover(ctx, store, []*agent.Agent{a}, opts), context.DeadlineExceeded)
}

// recovering has a process work on the runs of a store until it is stopped.
func recovering(t *testing.T, store record.Store, a *agent.Agent, opts *agent.RecoverOptions) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- agent.Recover(ctx, store, []*agent.Agent{a}, opts) }()
	return func() { cancel(); check.Is(t, <-ended, context.Canceled) }
}

// Recover continues a run whose process has ended once its lease is over, and with one that waits once its answer is there.
func TestRecover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := record.NewMemory()
		first, _ := process(t, store, play(uses(sleep("1", 60))), agent.Options{})
		killed(t, first, time.Second, agent.WithRun("killed"))
		check.Must(t, check.Err(store.Acquire(t.Context(), run.Key{ID: "killed"}, record.Holder{Name: "dead", TTL: time.Minute})))
		asking, _ := process(t, store, play(uses(toolCall("1", "ask", "{}"))), agent.Options{})
		waiting := mustRun(t, asking, human("go"), agent.WithRun("waiting"))
		second, _ := process(t, store, play(says("done")), agent.Options{})
		defer recovering(t, store, second, nil)()
		statuses := func() []run.Status {
			return []run.Status{load(t, store, run.Key{ID: "killed"}).Head.Status, load(t, store, run.Key{ID: "waiting"}).Head.Status}
		}
		time.Sleep(30 * time.Second)
		check.Same(t, "while both wait", statuses(), []run.Status{run.StatusRunning, run.StatusWaiting})
		check.Must(t, first.Reply(t.Context(), run.Key{ID: "waiting"}, accepted(t, waiting.Questions[0], map[string]any{"name": "Ann"})))
		time.Sleep(time.Minute)
		check.Same(t, "in the end", statuses(), []run.Status{run.StatusFinished, run.StatusFinished})
	})
}

// Recover looks at once for what is due if it is woken, and works on each run in a context of its own.
func TestRecoverForUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := record.NewMemory()
		model := play(uses(toolCall("1", "whose", "{}")), says("done"), uses(toolCall("1", "whose", "{}")), says("done"))
		whose := adapter.Func("whose", "Says whose call it is.", func(ctx context.Context, _ struct{}) (string, error) {
			return "of " + userOf(ctx), nil
		}, nil)
		a := newAgent(t, model, &agent.Options{Durable: agent.Durable{Store: store}, Tools: []adapter.Source{whose}})
		wake, ended := make(chan struct{}), make(chan *agent.Result)
		var works []context.Context
		defer recovering(t, store, a, &agent.RecoverOptions{
			PollInterval: time.Hour, Wake: wake,
			Context: func(ctx context.Context, key run.Key) context.Context {
				works = append(works, ctx)
				return context.WithValue(ctx, userKey{}, key.Tenant)
			},
			OnEnd: func(_ run.Key, result *agent.Result, _ error) { ended <- result },
		})()
		synctest.Wait()
		for _, user := range []string{"ada", "bob"} {
			began := time.Now()
			begun(t, a, agent.WithTenant(user))
			wake <- struct{}{}
			result := <-ended
			check.Same(t, "result, at once", []any{result.Messages[2].Parts[0].Text, time.Since(began)}, []any{"of " + user, time.Duration(0)})
			synctest.Wait()
			check.Equal(t, "the context of "+user+"'s run has ended with it", works[len(works)-1].Err() != nil, true)
		}
	})
}

// Recover drives no more runs of a tenant than its share, and others meanwhile.
func TestRecoverShares(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := record.NewMemory()
		var mu sync.Mutex
		now, most := map[string]int{}, map[string]int{}
		wait := adapter.Func("wait", "Waits.", func(ctx context.Context, _ struct{}) (string, error) {
			user := userOf(ctx)
			mu.Lock()
			now[user]++
			most[user] = max(most[user], now[user])
			mu.Unlock()
			time.Sleep(time.Minute)
			mu.Lock()
			now[user]--
			mu.Unlock()
			return "waited", nil
		}, &adapter.FuncOptions{Options: &adapter.Options{User: userOf}})
		model := play(onInput(uses(toolCall("1", "wait", "{}")), says("done")))
		a := newAgent(t, model, &agent.Options{Durable: agent.Durable{Store: store}, Tools: []adapter.Source{wait}})
		ended, began := map[string]time.Duration{}, time.Now()
		for _, user := range []string{"ada", "ada", "ada", "ada", "ada", "bob"} {
			begun(t, a, agent.WithTenant(user))
		}
		recovers(t, store, a, 10*time.Minute, &agent.RecoverOptions{
			PerTenant: 2, PollInterval: time.Hour,
			Context: func(ctx context.Context, key run.Key) context.Context {
				return context.WithValue(ctx, userKey{}, key.Tenant)
			},
			OnEnd: func(key run.Key, result *agent.Result, err error) {
				check.Same(t, key.Tenant, []any{err, result.Status}, []any{nil, run.StatusFinished})
				mu.Lock()
				defer mu.Unlock()
				ended[key.Tenant] = time.Since(began).Round(time.Second)
			},
		})
		check.Same(t, "runs at the same time", most, map[string]int{"ada": 2, "bob": 1})
		check.Same(t, "ends", ended, map[string]time.Duration{"ada": 3 * time.Minute, "bob": time.Minute})
	})
}

// Recover with a share lists the store again only for runs that wait, also after a failure, and once for runs that end together.
func TestRecoverListsForRunsThatWait(t *testing.T) {
	for name, tc := range map[string]struct {
		tenants, each, share, most int
		model                      step
	}{
		"none waits": {100, 1, 1, 1, says("done")}, "they wait": {2, 20, 5, 4, says("done")},
		"they wait long": {1, 20, 1, 20, says("done")}, "they fail": {2, 20, 5, 4, says("")},
	} {
		synctestRun(t, name, func(t *testing.T) {
			lists := 0
			store := watch(record.NewMemory(), func(c *storeCall) error {
				if c.Method == "list" {
					lists++
				}
				return c.Do()
			})
			a := newAgent(t, play(slowly(tc.model)), &agent.Options{Durable: agent.Durable{Store: store}})
			for i := range tc.tenants * tc.each {
				begun(t, a, agent.WithTenant(fmt.Sprint(i%tc.tenants)))
			}
			var ended atomic.Int64
			recovers(t, store, a, time.Minute, &agent.RecoverOptions{
				PerTenant: tc.share, PollInterval: time.Hour, Logger: slog.New(slog.DiscardHandler),
				OnEnd: func(run.Key, *agent.Result, error) { ended.Add(1) },
			})
			check.Equal(t, "ends", int(ended.Load()), tc.tenants*tc.each)
			within(t, "lists", lists, 0, tc.most)
		})
	}
}

// A stopped process that wakes up after another one has taken its run appends nothing.
func TestWokenProcessIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := record.NewMemory()
		stalled := watch(store, func(c *storeCall) error {
			if c.Method == "renew" {
				return nil
			}
			return c.Do()
		})
		first, _ := process(t, stalled, play(uses(sleep("1", 60)), says("late")), agent.Options{Durable: agent.Durable{LeaseTTL: 10 * time.Second}})
		late := begin(t.Context(), first)
		time.Sleep(20 * time.Second) // the lease is over
		second, _ := process(t, store, play(says("done")), agent.Options{})
		check.Equal(t, "answer", resumed(t, second).Output, "done")
		check.Is(t, (<-late).err, record.ErrConflict)
		load(t, store, theRun)
	})
}

// An outcome that is known when the process ends, or when a step is cut short, is kept, and so is not in doubt.
func TestKnownOutcomeIsKept(t *testing.T) {
	for name, work := range map[string]func(*testing.T, context.Context, *agent.Agent) error{
		"a process": func(_ *testing.T, ctx context.Context, a *agent.Agent) error {
			return check.Err(a.Run(ctx, human("go"), agent.WithRun(theRun.ID)))
		},
		"a step": func(t *testing.T, ctx context.Context, a *agent.Agent) error {
			next, err := a.Advance(ctx, begun(t, a, agent.WithRun(theRun.ID)), nil)
			check.Equal(t, "status", next.Status, run.StatusRunning)
			return err
		},
	} {
		synctestRun(t, name, func(t *testing.T) {
			store := record.NewMemory()
			ctx, kill := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer kill()
			first, _ := process(t, store, play(uses(toolCall("1", "echo", `{"x":1}`), sleep("2", 60))), agent.Options{})
			check.Is(t, work(t, ctx, first), context.DeadlineExceeded)
			second, _ := process(t, store, play(says("done")), agent.Options{})
			check.Equal(t, "what the model is told", lines(resumed(t, second).Messages)[2], `tool: 1/echo→"{\"x\":1}"`)
		})
	}
}

// An answer that comes before the run is suspended is taken.
func TestAnswerWhileOthersRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := record.NewMemory()
		a, _ := process(t, store, play(uses(toolCall("1", "ask", "{}"), sleep("2", 60)), says("done")), agent.Options{})
		ended := begin(t.Context(), a)
		time.Sleep(10 * time.Second)
		open := stateOf(t, store, theRun).Questions
		check.Require(t, len(open) == 1, "got the questions %v, want one", open)
		check.Must(t, a.Reply(t.Context(), theRun, accepted(t, open[0], map[string]any{"name": "Ann"})))
		got := <-ended
		check.Same(t, "answer", []any{got.err, got.Output}, []any{nil, "done"})
	})
}

// A callback that panics, or ends its goroutine, keeps its run from being driven for a while, and no other run.
func TestRecoverFromOnEvent(t *testing.T) {
	for name, fails := range map[string]func(){"panic": func() { panic("boom") }, "goexit": runtime.Goexit} {
		synctestRun(t, name, func(t *testing.T) {
			store := record.NewMemory()
			a := newAgent(t, play(says("done")), &agent.Options{Durable: agent.Durable{Store: store}})
			for _, id := range []string{theRun.ID, "other"} {
				begun(t, a, agent.WithRun(id))
			}
			var log strings.Builder
			failed := false
			opts := &agent.RecoverOptions{Parallel: 1, Logger: slog.New(slog.NewTextHandler(&log, nil)), OnEvent: func(key run.Key, _ agent.Event) {
				if key == theRun && !failed {
					failed = true
					fails()
				}
			}}
			recovers(t, store, a, time.Minute, opts)
			check.Contains(t, "log", log.String(), "a run cannot continue")
			for _, id := range []string{theRun.ID, "other"} {
				check.Equal(t, "status of "+id, load(t, store, run.Key{ID: id}).Head.Status, run.StatusFinished)
			}
		})
	}
}

// A store that fails with the error of a context is a failure to report: only who cancels a run knows that already.
func TestRecoverLogsCancellationsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := false
		store := watch(record.NewMemory(), func(c *storeCall) error {
			if c.Method == "append" && !failed {
				failed = true
				return fmt.Errorf("pool: %w", context.Canceled)
			}
			return c.Do()
		})
		a := newAgent(t, play(says("done")), &agent.Options{Durable: agent.Durable{Store: store}})
		begun(t, a)
		var log strings.Builder
		recovers(t, store, a, time.Minute, &agent.RecoverOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		check.Contains(t, "log", log.String(), "a run cannot continue")
	})
}

// A run that cannot be driven is tried again after longer and longer waits, which are forgotten if it is not due for a while.
func TestRecoverForgetsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var due atomic.Bool
		tries := make(chan time.Time, 100)
		store := watch(record.NewMemory(), func(c *storeCall) error {
			if c.Method == "load" {
				tries <- time.Now()
				return errors.New("down")
			}
			c.Heads = func(yield func(run.Head, error) bool) {
				if due.Load() {
					yield(run.Head{Key: theRun, Agent: "agent", Status: run.StatusRunning}, nil)
				}
			}
			return nil
		})
		a := newAgent(t, play(says("x")), &agent.Options{Durable: agent.Durable{Store: store}})
		defer recovering(t, store, a, &agent.RecoverOptions{Logger: slog.New(slog.DiscardHandler)})()
		for range 2 {
			due.Store(true)
			var waits []int
			last := <-tries
			for range 8 {
				next := <-tries
				waits, last = append(waits, int(next.Sub(last)/time.Second)), next
			}
			check.Same(t, "seconds between tries", waits, []int{1, 2, 4, 8, 16, 32, 60, 60})
			due.Store(false)
			time.Sleep(3 * time.Minute)
		}
	})
}

// Agents and stores that Recover cannot use are refused, and named.
func TestRecoverRefusesAgents(t *testing.T) {
	store := record.NewMemory()
	a := newAgent(t, play(), &agent.Options{Durable: agent.Durable{Store: store}})
	other := newAgent(t, play(), &agent.Options{Name: "b", Durable: agent.Durable{Store: record.NewMemory()}})
	for want, agents := range map[string][]*agent.Agent{
		"agents[1] is nil": {a, nil},
		`agent "b" has another Options.Durable.Store`: {a, other},
		`two agents have the name "agent"`:            {a, a},
	} {
		check.Text(t, agent.Recover(t.Context(), store, agents, &agent.RecoverOptions{UntilIdle: true}), want)
	}
	unkept := []*agent.Agent{newAgent(t, play(), nil)}
	check.Text(t, agent.Recover(t.Context(), nil, unkept, &agent.RecoverOptions{UntilIdle: true}), "recover: store is nil")
	check.Text(t, agent.Recover(t.Context(), (*emptyLogs)(nil), nil, &agent.RecoverOptions{UntilIdle: true}),
		"recover: store is a nil *agent_test.emptyLogs")
	type byValue struct {
		record.Store
		settings map[string]string
	}
	valued := byValue{store, nil}
	holder := newAgent(t, play(), &agent.Options{Durable: agent.Durable{Store: valued}})
	check.Text(t, agent.Recover(t.Context(), valued, []*agent.Agent{holder}, &agent.RecoverOptions{UntilIdle: true}), "byValue, which cannot be compared")
}

// A run that cannot be read holds up no other one, and is logged once.
func TestRecoverBesideADamagedRun(t *testing.T) {
	dir := t.TempDir()
	store := filesIn(t, dir)
	var worked atomic.Int64
	a := worker(t, turnsOf{turns: 1}, func() { worked.Add(1) }, agent.Options{Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson}})
	suspend(t, a, 0, 10)
	for i := range 10 {
		id := fmt.Sprint(i)
		check.Must(t, store.Reply(t.Context(), run.Key{ID: id}, []run.Reply{{Question: question(t, store, id), Action: run.ActionAllow}}))
	}
	damaged := 0
	for _, file := range check.Value(filepath.Glob(filepath.Join(dir, "*.jsonl")))(t) {
		data, err := os.ReadFile(file)
		if err == nil && bytes.Contains(data, []byte(`"id":"3"`)) {
			data[len(data)-20] ^= 1
			damaged++
			err = os.WriteFile(file, data, 0o600)
		}
		check.Must(t, err)
	}
	var log bytes.Buffer
	err := agent.Recover(t.Context(), store, []*agent.Agent{a}, &agent.RecoverOptions{UntilIdle: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	check.Same(t, "runs that continued, damaged ones, and the error", []any{worked.Load(), damaged, err}, []any{int64(9), 1, nil})
	check.Equal(t, log.String(), strings.Count(log.String(), "a run cannot be read"), 1)
}

// An outage of the store is logged once, and its end, too.
func TestRecoverLogsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := 0
		store := watch(record.NewMemory(), func(c *storeCall) error {
			if c.Method == "list" {
				if lists++; lists <= 3 || lists == 5 { // also the list that confirms that nothing is due
					return errors.New("store away")
				}
			}
			return c.Do()
		})
		a, _ := process(t, store, play(), agent.Options{})
		var log bytes.Buffer
		opts := &agent.RecoverOptions{UntilIdle: true, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		check.Must(t, agent.Recover(t.Context(), store, []*agent.Agent{a}, opts))
		for _, want := range []string{`cannot be listed" error="store away"`, "can be listed again"} {
			check.Equal(t, log.String()+want, strings.Count(log.String(), want), 1)
		}
	})
}

// A run whose processes end again and again without progress is parked with its reason, and its host
// is told. Revive has it run again. Progress in between counts from the start.
func TestParkedRun(t *testing.T) {
	inEveryStore(t, func(t *testing.T, store record.Store) {
		calls := dies(t, store, theRun.ID, 11)
		head := load(t, store, theRun).Head
		check.Same(t, "status, takeovers and calls", []any{head.Status, head.Takeovers, calls}, []any{run.StatusRunning, 10, 11})
		var told error
		healthy, _ := process(t, store, play(says("done")), agent.Options{})
		options := &agent.RecoverOptions{Logger: slog.New(slog.DiscardHandler), OnEnd: func(_ run.Key, r *agent.Result, err error) { told = err }}
		recovers(t, store, healthy, 30*time.Second, options)
		check.Must(t, told) // the run is not taken up so soon
		recovers(t, store, healthy, 10*time.Minute, options)
		check.Equal(t, "status", load(t, store, theRun).Head.Status, run.StatusFailed)
		check.Is(t, told, agent.ErrFailed)
		check.Text(t, told, "10 processes in a row")
		check.Must(t, record.Revive(t.Context(), store, theRun))
		check.Fails(t, record.Revive(t.Context(), store, theRun), "a run that has not failed")
		told = nil
		recovers(t, store, healthy, time.Minute, options)
		head = load(t, store, theRun).Head
		check.Same(t, "status, takeovers and error", []any{head.Status, head.Takeovers, told}, []any{run.StatusFinished, 0, nil})
	})
}

// dies has so many processes end, one after the other, during a model call of a run.
func dies(t *testing.T, store record.Store, id string, deaths int) (calls int) {
	for n := range deaths {
		ctx, kill := context.WithTimeout(t.Context(), time.Second)
		a, _ := process(t, store, play(func(ctx context.Context, _ prompt) (*model.Response, error) {
			calls++
			<-ctx.Done()
			return nil, ctx.Err()
		}), agent.Options{})
		if n == 0 {
			_, _ = a.Run(ctx, human("go"), agent.WithRun(id))
		} else {
			_, _ = a.Resume(ctx, run.Key{ID: id})
		}
		kill()
	}
	return calls
}

// A suspicious run begins when the process works on nothing else, and others wait for it a while.
func TestSuspiciousRunBeginsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := record.NewMemory()
		dies(t, store, "bad", 4)
		dies(t, store, "good", 1)
		time.Sleep(time.Minute)
		var together, most int
		slow := func(ctx context.Context, p prompt) (*model.Response, error) {
			together++
			most = max(most, together)
			time.Sleep(5 * time.Second)
			together--
			return says("done")(ctx, p)
		}
		a, _ := process(t, store, play(slow), agent.Options{})
		check.Must(t,
			agent.Recover(t.Context(), store, []*agent.Agent{a}, &agent.RecoverOptions{UntilIdle: true, Logger: slog.New(slog.DiscardHandler)}))
		for _, id := range []string{"bad", "good"} {
			check.Equal(t, id, load(t, store, run.Key{ID: id}).Head.Status, run.StatusFinished)
		}
		check.Equal(t, "runs that were under way together", most, 1)
	})
}

// A reply is durable before anything that takes time: a hook, or what decides on its calls.
func TestReplyIsKeptFirst(t *testing.T) {
	for name, set := range map[string]func(*agent.Options, func()){
		"approval": func(o *agent.Options, look func()) { o.Person.Approve = allowing(func(*approval.Request) { look() }) },
		"hook": func(o *agent.Options, look func()) {
			o.Hooks = []agent.Hook{{BeforeTool: func(context.Context, *agent.State, *agent.Call) error { look(); return nil }}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, kept := record.NewMemory(), 0
			echo := adapter.Func("echo", "Echoes.", func(context.Context, struct{}) (string, error) { return "ok", nil }, nil)
			opts := &agent.Options{Durable: agent.Durable{Store: store}, Tools: []adapter.Source{echo}}
			set(opts, func() {
				if s, err := folded(t.Context(), store); err == nil && len(s.Calls) == 1 {
					kept++
				}
			})
			mustRun(t, newAgent(t, play(uses(toolCall("1", "echo", "{}")), says("done")), opts), human("go"), agent.WithRun(theRun.ID))
			check.Equal(t, "how often the store had the reply", kept, 1)
		})
	}
}

// What a reply took counts although a hook refuses the reply.
func TestRefusedReplyCounts(t *testing.T) {
	no := errors.New("no")
	hook := agent.Hook{AfterModel: func(context.Context, *agent.State, *run.Message) error { return no }}
	for _, limits := range []run.Limits{{}, {Tokens: 100_000}} {
		got, err := newAgent(t, play(counted(says("secret"))), &agent.Options{Hooks: []agent.Hook{hook}, Limits: limits}).Run(t.Context(), human("go"))
		if taken := agent.Inside(got.State).Taken().Tokens; !errors.Is(err, no) || taken < 150 || limits.Tokens == 0 && got.Usage.Total != 150 {
			t.Errorf("got %v and %d tokens, %+v", err, taken, got.Usage)
		}
	}
}

// What OnEnd gets of a run whose end could not be stored is what the store has, as with Run.
func TestEndThatTheStoreLacks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := watch(record.NewMemory(), func(c *storeCall) error {
			if c.Method == "append" && len(changesOf[*ledger.Ended](c.Records)) > 0 {
				return record.ErrTooLarge
			}
			return c.Do()
		})
		a := newAgent(t, play(says("done")), &agent.Options{Durable: agent.Durable{Store: store}})
		begun(t, a)
		var got []any
		options := &agent.RecoverOptions{Logger: slog.New(slog.DiscardHandler), OnEnd: func(_ run.Key, r *agent.Result, err error) {
			got = []any{r.Status, r.Output, errors.Is(err, record.ErrTooLarge)}
		}}
		recovers(t, store, a, time.Second, options)
		check.Same(t, "end", got, []any{run.StatusRunning, "", true})
	})
}
