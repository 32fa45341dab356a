package agent_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

func slowTool(takes time.Duration) adapter.Source {
	return adapter.Func("slow", "Waits.", func(ctx context.Context, _ struct{}) (string, error) {
		select {
		case <-time.After(takes):
			return "done", nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}, nil)
}

// slowAgent has a tool that takes a time, as a function of the bubble's clock.
func slowAgent(t *testing.T, store record.Store, takes time.Duration) *agent.Agent {
	m := instant{onInput(uses(toolCall("1", "slow", `{}`)), says("so be it"))}
	return newAgent(t, m, &agent.Options{Durable: agent.Durable{Store: store, LeaseTTL: 6 * time.Second}, Tools: []adapter.Source{slowTool(takes)}})
}

// renewals counts how often the leases of a memory store are renewed, until fails.
func renewals() (store record.Store, all *atomic.Int64, fails *atomic.Bool) {
	all, fails = new(atomic.Int64), new(atomic.Bool)
	return watch(record.NewMemory(), func(c *storeCall) error {
		if c.Method == "renew" {
			all.Add(1)
			if fails.Load() {
				return errors.New("no connection is free")
			}
		}
		return c.Do()
	}), all, fails
}

// TestLeasesAreRenewedTogether has a thousand runs of a process renew their leases by one statement at a time.
func TestLeasesAreRenewedTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, all, _ := renewals()
		a := slowAgent(t, store, time.Minute)
		var group sync.WaitGroup
		for i := range 1000 {
			group.Go(func() {
				got, err := a.Run(t.Context(), human("go"), agent.WithRun(fmt.Sprint("r", i)))
				check.Same(t, i, []any{got.Output, err}, []any{"so be it", nil})
			})
		}
		group.Wait()
		within(t, "renewals of all in a minute, one each 2 s", all.Load(), 25, 35)
	})
}

// TestReleaseDuringARenewal has a run end while its lease is renewed: it must not be held again.
func TestReleaseDuringARenewal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := watch(record.NewMemory(), func(c *storeCall) error {
			if c.Method == "renew" {
				time.Sleep(time.Second)
			}
			return c.Do()
		})
		a := slowAgent(t, store, 2500*time.Millisecond) // a renewal begins after 2 s
		var group sync.WaitGroup
		for i := range 2 {
			group.Go(func() {
				time.Sleep(time.Duration(i) * 700 * time.Millisecond)
				check.NoError(t, check.Err(a.Run(t.Context(), human("go"), agent.WithRun(fmt.Sprint(i)))))
			})
		}
		group.Wait()
		for i := range 2 {
			check.Equal(t, "the end of the lease", load(t, store, run.Key{ID: fmt.Sprint(i)}).Head.HeldUntil, time.Time{})
		}
	})
}

// TestLeaseThatIsLate stops the work on runs whose leases cannot be renewed, and does not say that
// somebody has them; a run that was taken over stops alone.
func TestLeaseThatIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, _, fails := renewals()
		a := slowAgent(t, store, time.Minute)
		failed := make(chan error, 2)
		for _, id := range []string{"taken", "late"} {
			go func() {
				_, err := a.Run(t.Context(), human("go"), agent.WithRun(id))
				failed <- err
			}()
		}
		time.Sleep(5 * time.Second)
		key := run.Key{ID: "taken"}
		check.Must(t, store.Release(t.Context(), record.Lease{Key: key, Epoch: load(t, store, key).Head.Epoch}))
		check.Must(t, check.Err(store.Acquire(t.Context(), key, record.Holder{TTL: time.Hour})))
		err := <-failed
		check.Is(t, err, record.ErrConflict, "taken")
		check.Text(t, err, "held by another process", "taken")
		fails.Store(true)
		start := time.Now()
		err = <-failed
		check.Text(t, err, "could not be renewed for 6s", "late")
		check.Text(t, err, "no connection is free", "late")
		within(t, "the time of the lease, after which the work is stopped", time.Since(start), 4*time.Second, 10*time.Second)
	})
}

const leaseTTL = time.Minute

// halting is the store of a process that is stopped after the commit of an intent, for two leases:
// neither that commit nor a renewal under way returns before. Renewals after it have the error.
func halting(store record.Store, renewal error) *watched {
	var woken atomic.Bool
	return watch(store, func(c *storeCall) error {
		switch c.Method {
		case "append":
			err := c.Do()
			if len(changesOf[*ledger.Intent](c.Records)) > 0 {
				time.Sleep(2 * leaseTTL)
				woken.Store(true)
			}
			return err
		case "renew":
			c.Ctx = context.WithoutCancel(c.Ctx)
			if !woken.Load() {
				time.Sleep(3 * leaseTTL)
			}
			if renewal != nil {
				return renewal
			}
		}
		return c.Do()
	})
}

// A process that is stopped between the commit of an intent and the call sends nothing
// unless it still holds the run, and leaves the run as it is.
func TestNothingIsSentWithoutTheRun(t *testing.T) {
	down := errors.New("the store is down")
	for name, tt := range map[string]struct {
		taken        bool // another process has taken the run
		renewal, err error
		effects      int
	}{
		"taken over":     {true, nil, record.ErrConflict, 0},
		"not taken over": {false, nil, nil, 1},
		"not renewed":    {false, down, down, 0},
	} {
		for _, tool := range []string{"remote", "local"} {
			synctestRun(t, tool+" "+name, func(t *testing.T) {
				effects, s := 0, emptyServer()
				s.addTool("remote", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					effects++
					return text("done"), nil
				})
				toolset := s.box(t, nil)
				local := adapter.Func("local", "", func(context.Context, struct{}) (string, error) { effects++; return "done", nil }, nil)
				store := record.NewMemory()
				a := withTools(t, play(uses(toolCall("1", tool, "{}")), says("done")), toolset, &agent.Options{
					Durable: agent.Durable{Store: halting(store, tt.renewal), LeaseTTL: leaseTTL}, Tools: []adapter.Source{local},
				})
				ended := begin(t.Context(), a)
				time.Sleep(leaseTTL + leaseTTL/2)
				if tt.taken {
					check.Must(t, check.Err(store.Acquire(t.Context(), theRun, record.Holder{Name: "other", TTL: time.Hour})))
				}
				end := <-ended
				check.Is(t, end.err, tt.err)
				check.Same(t, "effects, and whether the run has ended", []any{effects, load(t, store, theRun).Head.Status.Ended()},
					[]any{tt.effects, tt.err == nil})
			})
		}
	}
}
