package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
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

// away is a store whose server cannot be reached for a while.
type away struct {
	record.Store
	gone atomic.Bool
}

var errAway = errors.New("connection refused")

func (s *away) Append(ctx context.Context, lease record.Lease, head run.Head, records []run.Record, replies ...run.Reply) error {
	if s.gone.Load() {
		return errAway
	}
	return s.Store.Append(ctx, lease, head, records, replies...)
}

func (s *away) Load(ctx context.Context, key run.Key) (*record.Log, error) {
	if s.gone.Load() {
		return nil, errAway
	}
	return s.Store.Load(ctx, key)
}

func (s *away) Acquire(ctx context.Context, key run.Key, h record.Holder) (record.Lease, error) {
	if s.gone.Load() {
		return record.Lease{}, errAway
	}
	return s.Store.Acquire(ctx, key, h)
}

func (s *away) Renew(ctx context.Context, lease record.Lease, ttl time.Duration) error {
	if s.gone.Load() {
		return errAway
	}
	return s.Store.Renew(ctx, lease, ttl)
}

func (s *away) List(ctx context.Context, q record.Query) iter.Seq2[run.Head, error] {
	if s.gone.Load() {
		return func(yield func(run.Head, error) bool) { yield(run.Head{}, errAway) }
	}
	return s.Store.List(ctx, q)
}

// awayTogether renews the leases of its runs together.
type awayTogether struct{ *away }

func (s awayTogether) RenewAll(ctx context.Context, leases []record.Lease, ttl time.Duration) ([]record.Lease, error) {
	if s.gone.Load() {
		return nil, errAway
	}
	return s.Store.(record.BatchRenewer).RenewAll(ctx, leases, ttl)
}

// A result that comes while the store is away for longer than the lease is stored afterwards, unless another process has the run: the
// call is not in doubt.
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
			server := &away{Store: memory}
			var store record.Store = server
			if tt.together {
				store = awayTogether{server}
			}
			a := slowAgent(t, store, 3*time.Second) // with leases of 6 s
			begun(t, a, agent.In(theRun.ID))
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- agent.Recover(ctx, store, []*agent.Agent{a}, nil) }()
			time.Sleep(2 * time.Second)
			server.gone.Store(true)
			time.Sleep(14 * time.Second)
			if tt.taken {
				check(t, errorOf(memory.Acquire(t.Context(), theRun, record.Holder{TTL: time.Second})))
			}
			server.gone.Store(false)
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
		store := &away{Store: record.NewMemory()}
		a := slowAgent(t, store, 3*time.Second)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := a.Run(ctx, human("go"), agent.In(theRun.ID))
			ended <- err
		}()
		time.Sleep(2 * time.Second)
		store.gone.Store(true)
		time.Sleep(14 * time.Second) // longer than the lease
		stop()
		began := time.Now()
		if err := <-ended; err == nil || time.Since(began) > 6*time.Second {
			t.Errorf("got %v after %v, want an error within the time for last writes", err, time.Since(began))
		}
	})
}

// slowAppends is a store whose third append is stored, but does not say so before its context ends.
type slowAppends struct {
	record.Store
	n int
}

func (s *slowAppends) Append(ctx context.Context, lease record.Lease, head run.Head, records []run.Record, replies ...run.Reply) error {
	err := s.Store.Append(ctx, lease, head, records, replies...)
	if s.n++; s.n == 3 {
		<-ctx.Done()
		return ctx.Err()
	}
	return err
}

// An append that was stored although its context ended is not a conflict: what is known afterwards is stored, too.
func TestCancelledAppendThatWasStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := record.NewMemory()
		store := &slowAppends{Store: memory}
		first, _ := process(t, store, play(uses(toolCall("1", "echo", `{"x":1}`), sleep("2", 1))), agent.Options{ParallelWrites: true})
		ctx, kill := context.WithTimeout(t.Context(), 5*time.Second)
		defer kill()
		if _, err := first.Run(ctx, human("go"), agent.In(theRun.ID)); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		log := load(t, memory, theRun)
		outcomes := 0
		for _, r := range log.Records {
			if _, ok := ledger.ChangeOf(r).(*ledger.Outcome); ok {
				outcomes++
			}
		}
		if outcomes != 2 {
			t.Errorf("got %d outcomes, want 2", outcomes)
		}
	})
}

// Recover names the runs of processes that have died.
func TestRecoverLogsTakeovers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := record.NewMemory()
		first, _ := process(t, store, play(uses(sleep("1", 60))), agent.Options{})
		ctx, kill := context.WithTimeout(t.Context(), time.Second)
		defer kill()
		if _, err := first.Run(ctx, human("go"), agent.In(theRun.ID), agent.ForTenant("ann")); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
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

// stale lists a run as due that has ended since.
type stale struct {
	record.Store
	head run.Head
}

func (s *stale) List(context.Context, record.Query) iter.Seq2[run.Head, error] {
	return func(yield func(run.Head, error) bool) { yield(s.head, nil) }
}

// A run that another process ends between the list of due runs and their start is not reported again.
func TestRecoverPassesOverEndedRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &stale{Store: record.NewMemory()}
		a, _ := process(t, store, play(says("done")), agent.Options{})
		begun(t, a, agent.In(theRun.ID))
		log := load(t, store, theRun)
		store.head = log.Head
		resumed(t, a)
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Second)
		defer stop()
		_ = agent.Recover(ctx, store, []*agent.Agent{a}, &agent.RecoverOptions{
			OnEvent: func(_ run.Key, e agent.Event) { t.Errorf("got the event %T", e) },
			OnEnd:   func(_ run.Key, r *agent.Result, err error) { t.Errorf("got the end %s, %v", r.Status, err) },
		})
	})
}

// unreleased is a store that panics when a lease is released.
type unreleased struct{ record.Store }

func (unreleased) Release(context.Context, record.Lease) error { panic("released twice") }

// A store that panics when a run is released does not end the program.
func TestReleasePanics(t *testing.T) {
	store := unreleased{record.NewMemory()}
	a, _ := process(t, store, play(says("done")), agent.Options{})
	if got, err := a.Run(t.Context(), human("go"), agent.In(theRun.ID)); err != nil || got.Output != "done" {
		t.Errorf("got %+v, %v", got, err)
	}
}
