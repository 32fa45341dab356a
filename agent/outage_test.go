package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

var errAway = errors.New("connection refused")

// away is a store whose server cannot be reached while gone is true.
func away(store record.Store) (s *watched, gone *atomic.Bool) {
	gone = new(atomic.Bool)
	return watch(store, func(c *storeCall) error {
		if gone.Load() {
			return errAway
		}
		return c.Do()
	}), gone
}

// A result that comes while the store is away for longer than the lease is stored afterwards,
// unless another process has the run: the call is not in doubt.
func TestResultDuringAnOutage(t *testing.T) {
	for name, tt := range map[string]struct {
		together, taken bool
		want            string
	}{
		"renewed alone":    {want: "done"},
		"renewed together": {together: true, want: "done"},
		"taken over":       {taken: true, want: "unknown whether the call ran"},
	} {
		synctestRun(t, name, func(t *testing.T) {
			memory := record.NewMemory()
			server, gone := away(memory)
			var store record.Store = server
			if tt.together {
				store = together{server}
			}
			a := slowAgent(t, store, 3*time.Second) // with leases of 6 s
			begun(t, a, agent.WithRun(theRun.ID))
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- agent.Recover(ctx, store, []*agent.Agent{a}, nil) }()
			time.Sleep(2 * time.Second)
			gone.Store(true)
			time.Sleep(14 * time.Second)
			if tt.taken {
				check(t, errorOf(memory.Acquire(t.Context(), theRun, record.Holder{TTL: time.Second})))
			}
			gone.Store(false)
			time.Sleep(2 * time.Minute)
			log, err := memory.Load(t.Context(), theRun)
			if err != nil || log.Head.Status != run.StatusFinished {
				t.Fatalf("got %+v, %v, want the end of the run", log, err)
			}
			state, err := ledger.StateOf(log.Records)
			check(t, err)
			if got := state.History[2].Parts[0].Text; !strings.Contains(got, tt.want) {
				t.Errorf("the model reads %q, want %q", got, tt.want)
			}
			stop()
			<-ended
		})
	}
}

// The host does not wait for a store that is away when it stops.
func TestStopDuringAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, gone := away(record.NewMemory())
		a := slowAgent(t, store, 3*time.Second)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := a.Run(ctx, human("go"), agent.WithRun(theRun.ID))
			ended <- err
		}()
		time.Sleep(2 * time.Second)
		gone.Store(true)
		time.Sleep(14 * time.Second) // longer than the lease
		stop()
		began := time.Now()
		if err := <-ended; err == nil || time.Since(began) > 6*time.Second {
			t.Errorf("got %v after %v, want an error within the time for last writes", err, time.Since(began))
		}
	})
}

// An append that was stored although its context ended is not a conflict: what is known afterwards is stored, too.
func TestCancelledAppendThatWasStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := record.NewMemory()
		appends := 0
		store := watch(memory, func(c *storeCall) error {
			err := c.Do()
			if c.Method == "append" {
				if appends++; appends == 3 { // it does not say that it is stored before its context ends
					<-c.Ctx.Done()
					return c.Ctx.Err()
				}
			}
			return err
		})
		first, _ := process(t, store, play(uses(toolCall("1", "echo", `{"x":1}`), sleep("2", 1))), agent.Options{ParallelWrites: true})
		killed(t, first, 5*time.Second, agent.WithRun(theRun.ID))
		log := load(t, memory, theRun)
		if n := len(changesOf[*ledger.Outcome](log.Records)); n != 2 {
			t.Errorf("got %d outcomes, want 2", n)
		}
	})
}

// Recover names the runs of processes that have died.
func TestRecoverLogsTakeovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := record.NewMemory()
		first, _ := process(t, store, play(uses(sleep("1", 60))), agent.Options{})
		killed(t, first, time.Second, agent.WithRun(theRun.ID), agent.WithTenant("ann"))
		second, _ := process(t, store, play(says("done")), agent.Options{})
		var log bytes.Buffer
		opts := &agent.RecoverOptions{UntilIdle: true, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		check(t, agent.Recover(t.Context(), store, []*agent.Agent{second}, opts))
		want := fmt.Sprintf(`level=INFO msg="a run was taken over" run=%s tenant=ann turn=1 calls=1`, theRun.ID)
		if !strings.Contains(log.String(), want) || strings.Count(log.String(), "taken over") != 1 {
			t.Errorf("got\n%s\nwant one line with %s", &log, want)
		}
	})
}

// A run that another process ends between the list of due runs and their start is not reported again.
func TestRecoverPassesOverEndedRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var listed run.Head
		store := watch(record.NewMemory(), func(c *storeCall) error {
			if c.Method == "list" {
				c.Heads = func(yield func(run.Head, error) bool) { yield(listed, nil) }
				return nil
			}
			return c.Do()
		})
		a, _ := process(t, store, play(says("done")), agent.Options{})
		begun(t, a, agent.WithRun(theRun.ID))
		listed = load(t, store, theRun).Head
		resumed(t, a)
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
		defer stop()
		_ = agent.Recover(ctx, store, []*agent.Agent{a}, &agent.RecoverOptions{
			OnEvent: func(_ run.Key, e agent.Event) { t.Errorf("got the event %T", e) },
			OnEnd:   func(_ run.Key, r *agent.Result, err error) { t.Errorf("got the end %s, %v", r.Status, err) },
		})
	})
}

// A store that panics when a run is released does not end the program.
func TestReleasePanics(t *testing.T) {
	store := watch(record.NewMemory(), func(c *storeCall) error {
		if c.Method == "release" {
			panic("released twice")
		}
		return c.Do()
	})
	a, _ := process(t, store, play(says("done")), agent.Options{})
	if got, err := a.Run(t.Context(), human("go"), agent.WithRun(theRun.ID)); err != nil || got.Output != "done" {
		t.Errorf("got %+v, %v", got, err)
	}
}

// A store that fails for a while loses no outcome that the process knows, also if it has kept it and
// could not say so. What it refuses for good ends the work; the result has the status of the store.
func TestStoreThatFails(t *testing.T) {
	down := errors.New("the connection is lost")
	for name, test := range map[string]struct {
		fail func(n int) (error, bool)
		ok   bool
	}{
		"once":              {func(n int) (error, bool) { return map[bool]error{true: down}[n == 0], false }, true},
		"once, kept":        {func(n int) (error, bool) { return map[bool]error{true: down}[n == 0], true }, true},
		"for ten seconds":   {func(n int) (error, bool) { return map[bool]error{true: down}[n < 10], false }, true},
		"for good":          {func(int) (error, bool) { return down, false }, false},
		"too large":         {func(int) (error, bool) { return record.ErrTooLarge, false }, false},
		"held by another":   {func(int) (error, bool) { return record.ErrConflict, false }, false},
		"a deadline of its": {func(n int) (error, bool) { return map[bool]error{true: context.DeadlineExceeded}[n == 0], false }, true},
	} {
		for kind, open := range everyStore {
			synctestRun(t, name+" in "+kind, func(t *testing.T) {
				failures := 0
				store := watch(open(t), func(c *storeCall) error {
					if c.Method != "append" || failures == 0 && len(changesOf[*ledger.Outcome](c.Records)) == 0 {
						return c.Do()
					}
					err, kept := test.fail(failures)
					failures++
					if err == nil || kept {
						err = errors.Join(err, c.Do())
					}
					return err
				})
				a, _ := process(t, store, play(uses(sleep("1", 1)), says("done")), agent.Options{})
				began := time.Now()
				got, err := a.Run(t.Context(), human("go"), agent.WithRun("r"))
				if took := time.Since(began); took > 70*time.Second {
					t.Errorf("it took %v", took)
				}
				log, failure := store.Load(t.Context(), run.Key{ID: "r"})
				if failure != nil {
					t.Fatal(failure)
				}
				if test.ok {
					if err != nil || got.Status != run.StatusFinished || log.Head.Status != run.StatusFinished {
						t.Errorf("got %s, %v, and %s in the store", got.Status, err, log.Head.Status)
					}
					return
				}
				if err == nil || got.Status != run.StatusRunning || log.Head.Status != run.StatusRunning || got.Output != "" {
					t.Errorf("got %s %q, %v, and %s in the store, want what the store has", got.Status, got.Output, err, log.Head.Status)
				}
				if said, _, _ := strings.Cut(err.Error(), "\n"); strings.Count(err.Error(), said) != 1 {
					t.Errorf("the error says the same twice: %v", err)
				}
				synctest.Wait()
			})
		}
	}
}
