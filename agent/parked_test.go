package agent_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

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
			_, _ = a.Run(ctx, human("go"), agent.In(id))
		} else {
			_, _ = a.ResumeRun(ctx, run.Key{ID: id})
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
