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
	"github.com/mcpchain/mcpchain/agent/filestore"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Recover continues a run whose process has ended once its lease is over, and with one
// that waits once its answer is there.
func TestRecover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := record.NewMemory()
		first, _ := process(t, store, play(uses(sleep("1", 60))), agent.Options{})
		killed(t, first, time.Second, agent.WithRun("killed"))
		check(t, errorOf(store.Acquire(t.Context(), run.Key{ID: "killed"}, record.Holder{Name: "dead", TTL: time.Minute})))
		asking, _ := process(t, store, play(uses(toolCall("1", "ask", "{}"))), agent.Options{})
		waiting := mustRun(t, asking, human("go"), agent.WithRun("waiting"))

		second, _ := process(t, store, play(says("done")), agent.Options{})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- agent.Recover(ctx, store, []*agent.Agent{second}, nil) }()
		status := func(id string) run.Status {
			log := load(t, store, run.Key{ID: id})
			return log.Head.Status
		}
		time.Sleep(30 * time.Second)
		if a, b := status("killed"), status("waiting"); a != run.StatusRunning || b != run.StatusWaiting {
			t.Errorf("got %s and %s, want both to wait", a, b)
		}
		answer := accepted(t, waiting.Questions[0], map[string]any{"name": "Ann"})
		check(t, first.Reply(t.Context(), run.Key{ID: "waiting"}, answer))
		time.Sleep(time.Minute)
		if a, b := status("killed"), status("waiting"); a != run.StatusFinished || b != run.StatusFinished {
			t.Errorf("got %s and %s, want both over", a, b)
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want the end of the context", err)
		}
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
		wake := make(chan struct{})
		ended := make(chan *agent.Result)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error)
		var works []context.Context
		go func() {
			done <- agent.Recover(ctx, store, []*agent.Agent{a}, &agent.RecoverOptions{
				PollInterval: time.Hour, Wake: wake,
				Context: func(ctx context.Context, key run.Key) context.Context {
					works = append(works, ctx)
					return context.WithValue(ctx, userKey{}, key.Tenant)
				},
				OnEnd: func(_ run.Key, result *agent.Result, _ error) { ended <- result },
			})
		}()
		synctest.Wait()
		for _, user := range []string{"ada", "bob"} {
			began := time.Now()
			begun(t, a, agent.WithTenant(user))
			wake <- struct{}{}
			result := <-ended
			if got, want := result.Messages[2].Parts[0].Text, "of "+user; got != want || time.Since(began) > 0 {
				t.Errorf("got %q after %v, want %q at once", got, time.Since(began), want)
			}
			synctest.Wait()
			if works[len(works)-1].Err() == nil {
				t.Errorf("the context of %s's run has not ended with it", user)
			}
		}
		stop()
		<-done
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
		ended := map[string]time.Duration{}
		began := time.Now()
		for _, user := range []string{"ada", "ada", "ada", "ada", "ada", "bob"} {
			begun(t, a, agent.WithTenant(user))
		}
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Minute)
		defer stop()
		_ = agent.Recover(ctx, store, []*agent.Agent{a}, &agent.RecoverOptions{
			PerTenant: 2, PollInterval: time.Hour,
			Context: func(ctx context.Context, key run.Key) context.Context {
				return context.WithValue(ctx, userKey{}, key.Tenant)
			},
			OnEnd: func(key run.Key, result *agent.Result, err error) {
				if err != nil || result.Status != run.StatusFinished {
					t.Errorf("got %+v, %v", result, err)
				}
				mu.Lock()
				defer mu.Unlock()
				ended[key.Tenant] = time.Since(began).Round(time.Second)
			},
		})
		if most["ada"] != 2 || most["bob"] != 1 {
			t.Errorf("got %v runs at the same time, want 2 of ada at most", most)
		}
		if ended["ada"] != 3*time.Minute || ended["bob"] != time.Minute {
			t.Errorf("got %v, want bob's after a minute and ada's after three", ended)
		}
	})
}

// Recover with a share lists the store again only for runs that wait, also after a run that fails, and
// once for runs that end together.
func TestRecoverListsForRunsThatWait(t *testing.T) {
	for name, tc := range map[string]struct {
		tenants, each, share, most int
		model                      func(context.Context, prompt) (*model.Response, error)
	}{
		"none waits":     {100, 1, 1, 1, says("done")},
		"they wait":      {2, 20, 5, 4, says("done")},
		"they wait long": {1, 20, 1, 20, says("done")},
		"they fail":      {2, 20, 5, 4, says("")},
	} {
		synctestRun(t, name, func(t *testing.T) {
			lists := 0
			store := watch(record.NewMemory(), func(c *storeCall) error {
				if c.Method == "list" {
					lists++
				}
				return c.Do()
			})
			model := play(func(ctx context.Context, p prompt) (*model.Response, error) {
				time.Sleep(time.Second)
				return tc.model(ctx, p)
			})
			a := newAgent(t, model, &agent.Options{Durable: agent.Durable{Store: store}})
			for i := range tc.tenants * tc.each {
				begun(t, a, agent.WithTenant(fmt.Sprint(i%tc.tenants)))
			}
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			var ended atomic.Int64
			_ = agent.Recover(ctx, store, []*agent.Agent{a}, &agent.RecoverOptions{
				PerTenant: tc.share, PollInterval: time.Hour, Logger: slog.New(slog.DiscardHandler),
				OnEnd: func(run.Key, *agent.Result, error) { ended.Add(1) },
			})
			if got := int(ended.Load()); got != tc.tenants*tc.each {
				t.Errorf("got %d ends, want %d", got, tc.tenants*tc.each)
			}
			if lists > tc.most {
				t.Errorf("got %d lists, want %d at most", lists, tc.most)
			}
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
		late := make(chan error)
		go func() {
			_, err := first.Run(t.Context(), human("go"), agent.WithRun(theRun.ID))
			late <- err
		}()
		time.Sleep(20 * time.Second) // the lease is over
		second, _ := process(t, store, play(says("done")), agent.Options{})
		got, err := second.Resume(t.Context(), theRun)
		if err != nil || got.Output != "done" {
			t.Fatalf("got %+v, %v", got, err)
		}
		if err := <-late; !errors.Is(err, record.ErrConflict) {
			t.Errorf("got %v, want a conflict", err)
		}
		if _, err := store.Load(t.Context(), theRun); err != nil {
			t.Error(err)
		}
	})
}

// An outcome that is known when the process ends, or when a step is cut short, is kept, and so is not in doubt.
func TestKnownOutcomeIsKept(t *testing.T) {
	for name, work := range map[string]func(*testing.T, context.Context, *agent.Agent) error{
		"a process": func(_ *testing.T, ctx context.Context, a *agent.Agent) error {
			return errorOf(a.Run(ctx, human("go"), agent.WithRun(theRun.ID)))
		},
		"a step": func(t *testing.T, ctx context.Context, a *agent.Agent) error {
			next, err := a.Advance(ctx, begun(t, a, agent.WithRun(theRun.ID)), nil)
			if next.Status != run.StatusRunning {
				t.Errorf("got %+v, want a run that continues", next)
			}
			return err
		},
	} {
		synctestRun(t, name, func(t *testing.T) {
			store := record.NewMemory()
			ctx, kill := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer kill()
			first, _ := process(t, store, play(uses(toolCall("1", "echo", `{"x":1}`), sleep("2", 60))), agent.Options{})
			if err := work(t, ctx, first); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			second, _ := process(t, store, play(says("done")), agent.Options{})
			if text := lines(resumed(t, second).Messages)[2]; text != `tool: 1/echo→"{\"x\":1}"` {
				t.Errorf("the model is told %s", text)
			}
		})
	}
}

// A store that fails stops the calls that are under way, and a panic of it is an error.
func TestStoreFails(t *testing.T) {
	for _, panics := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			store := (&dying{at: 4, die: func(context.Context) error {
				if panics {
					panic("disk gone")
				}
				return errFull
			}}).in(record.NewMemory())
			a, _ := process(t, store, play(uses(toolCall("1", "echo", `{"x":1}`), sleep("2", 3600))), agent.Options{})
			start := time.Now()
			if _, err := a.Run(t.Context(), human("go")); err == nil || time.Since(start) > time.Minute {
				t.Errorf("got %v after %v, want the failure of the store at once", err, time.Since(start))
			}
		})
	}
}

// An answer that comes before the run is suspended is taken.
func TestAnswerWhileOthersRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := record.NewMemory()
		a, _ := process(t, store, play(uses(toolCall("1", "ask", "{}"), sleep("2", 60)), says("done")), agent.Options{})
		ended := make(chan *agent.Result)
		go func() {
			got, err := a.Run(t.Context(), human("go"), agent.WithRun(theRun.ID))
			if err != nil {
				t.Error(err)
			}
			ended <- got
		}()
		time.Sleep(10 * time.Second)
		log := load(t, store, theRun)
		state, err := ledger.StateOf(log.Records)
		if err != nil || len(state.Questions) != 1 {
			t.Fatalf("got %+v, %v", state, err)
		}
		answer := accepted(t, state.Questions[0], map[string]any{"name": "Ann"})
		check(t, a.Reply(t.Context(), theRun, answer))
		if got := <-ended; got.Output != "done" {
			t.Errorf("got %+v, want the run to go on", got)
		}
	})
}

// A callback that panics, or ends its goroutine, keeps its run from being driven for a while,
// and no other run.
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
			ctx, stop := context.WithTimeout(t.Context(), time.Minute)
			defer stop()
			if err := agent.Recover(ctx, store, []*agent.Agent{a}, opts); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
			if !strings.Contains(log.String(), "a run cannot continue") {
				t.Errorf("got the log %q", log.String())
			}
			for _, id := range []string{theRun.ID, "other"} {
				if kept, err := store.Load(t.Context(), run.Key{ID: id}); err != nil || kept.Head.Status != run.StatusFinished {
					t.Errorf("run %s: got %+v, %v, want that it is done", id, kept.Head, err)
				}
			}
		})
	}
}

// A run that cannot be driven is tried again after longer and longer waits, which are
// forgotten if it is not due for a while.
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
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- agent.Recover(ctx, store, []*agent.Agent{a}, &agent.RecoverOptions{Logger: slog.New(slog.DiscardHandler)})
		}()
		for range 2 {
			due.Store(true)
			var waits []int
			last := <-tries
			for range 8 {
				next := <-tries
				waits, last = append(waits, int(next.Sub(last)/time.Second)), next
			}
			diff(t, "seconds between tries", waits, []int{1, 2, 4, 8, 16, 32, 60, 60})
			due.Store(false)
			time.Sleep(3 * time.Minute)
		}
		stop()
		<-ended
	})
}

// A run that cannot be read holds up no other one, and is logged once.
func TestRecoverBesideADamagedRun(t *testing.T) {
	dir := t.TempDir()
	store, err := filestore.Open(dir, nil)
	check(t, err)
	var worked atomic.Int64
	a := worker(t, turnsOf{turns: 1}, func() { worked.Add(1) }, agent.Options{Durable: agent.Durable{Store: store}, Person: agent.Person{Approve: agent.AskPerson}})
	suspend(t, a, 0, 10)
	for i := range 10 {
		id := fmt.Sprint(i)
		check(t, store.Reply(t.Context(), run.Key{ID: id}, []run.Reply{{Question: question(t, store, id), Action: run.ActionAllow}}))
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	check(t, err)
	damaged := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err == nil && bytes.Contains(data, []byte(`"id":"3"`)) {
			data[len(data)-20] ^= 1
			damaged++
			err = os.WriteFile(file, data, 0o600)
		}
		check(t, err)
	}
	var log bytes.Buffer
	err = agent.Recover(t.Context(), store, []*agent.Agent{a}, &agent.RecoverOptions{UntilIdle: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if n := worked.Load(); n != 9 || damaged != 1 || err != nil {
		t.Errorf("%d runs continued beside %d damaged ones, %v, want 9 beside 1", n, damaged, err)
	}
	if n := strings.Count(log.String(), "a run cannot be read"); n != 1 {
		t.Errorf("the damage was logged %d times:\n%s", n, log.String())
	}
}

// An outage of the store is logged once, and its end, too.
func TestRecoverLogsAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := 0
		store := watch(record.NewMemory(), func(c *storeCall) error {
			if c.Method == "list" {
				if lists++; lists <= 3 {
					return errors.New("store away")
				}
			}
			return c.Do()
		})
		a, _ := process(t, store, play(), agent.Options{})
		var log bytes.Buffer
		opts := &agent.RecoverOptions{UntilIdle: true, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		check(t, agent.Recover(t.Context(), store, []*agent.Agent{a}, opts))
		for _, want := range []string{`cannot be listed" error="store away"`, "can be listed again"} {
			if n := strings.Count(log.String(), want); n != 1 {
				t.Errorf("got %d lines with %s, want 1:\n%s", n, want, &log)
			}
		}
	})
}

// A run whose processes end again and again without progress is parked with its reason, and its host
// is told. Revive has it run again. Progress in between counts from the start.
func TestParkedRun(t *testing.T) {
	for name, open := range everyStore {
		t.Run(name, func(t *testing.T) { parkedRun(t, open) })
	}
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

func parkedRun(t *testing.T, open func(testing.TB) record.Store) {
	synctest.Test(t, func(t *testing.T) {
		store, key := open(t), theRun
		calls := dies(t, store, key.ID, 11)
		log, err := store.Load(t.Context(), key)
		if err != nil || log.Head.Status != run.StatusRunning || log.Head.Takeovers != 10 || calls != 11 {
			t.Fatalf("got %s after %d takeovers and %d calls, %v", log.Head.Status, log.Head.Takeovers, calls, err)
		}
		var told error
		healthy, _ := process(t, store, play(says("done")), agent.Options{})
		options := &agent.RecoverOptions{Logger: slog.New(slog.DiscardHandler), OnEnd: func(_ run.Key, r *agent.Result, err error) { told = err }}
		recovers := func(limit time.Duration) {
			ctx, stop := context.WithTimeout(t.Context(), limit)
			defer stop()
			if err := agent.Recover(ctx, store, []*agent.Agent{healthy}, options); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
		}
		recovers(30 * time.Second)
		if told != nil {
			t.Fatalf("the run was taken up too soon: %v", told)
		}
		recovers(10 * time.Minute)
		log, err = store.Load(t.Context(), key)
		if err != nil || log.Head.Status != run.StatusFailed || !errors.Is(told, agent.ErrFailed) || !strings.Contains(told.Error(), "10 processes in a row") {
			t.Fatalf("got %s, %v, %v, want a parked run", log.Head.Status, told, err)
		}
		check(t, record.Revive(t.Context(), store, key))
		if err := record.Revive(t.Context(), store, key); err == nil {
			t.Error("a run that is not parked was revived")
		}
		told = nil
		recovers(time.Minute)
		log, err = store.Load(t.Context(), key)
		if err != nil || log.Head.Status != run.StatusFinished || log.Head.Takeovers != 0 || told != nil {
			t.Errorf("got %s after %d takeovers, %v, %v, want an answer", log.Head.Status, log.Head.Takeovers, told, err)
		}
	})
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
			if together++; together > most {
				most = together
			}
			time.Sleep(5 * time.Second)
			together--
			return says("done")(ctx, p)
		}
		a, _ := process(t, store, play(slow), agent.Options{})
		check(t, agent.Recover(t.Context(), store, []*agent.Agent{a}, &agent.RecoverOptions{UntilIdle: true, Logger: slog.New(slog.DiscardHandler)}))
		for _, id := range []string{"bad", "good"} {
			if log, err := store.Load(t.Context(), run.Key{ID: id}); err != nil || log.Head.Status != run.StatusFinished {
				t.Errorf("%s is %s, %v", id, log.Head.Status, err)
			}
		}
		if most != 1 {
			t.Errorf("%d runs were under way together, want one after the other", most)
		}
	})
}

// A reply is durable before anything that takes time: a hook, or what decides on its calls.
func TestReplyIsKeptFirst(t *testing.T) {
	for name, set := range map[string]func(*agent.Options, func()){
		"approval": func(o *agent.Options, look func()) {
			o.Person.Approve = func(context.Context, *approval.Request) (approval.Decision, error) {
				look()
				return approval.Allow(), nil
			}
		},
		"hook": func(o *agent.Options, look func()) {
			o.Hooks = []agent.Hook{{BeforeTool: func(context.Context, *agent.State, *agent.ToolCall) error { look(); return nil }}}
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
			if kept != 1 {
				t.Error("the store does not have the reply")
			}
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
