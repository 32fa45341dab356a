package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

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
				store := &watched{open(t), func(c *storeCall) error {
					if c.method != "append" || failures == 0 && len(changesOf[*ledger.Outcome](c.records)) == 0 {
						return c.do()
					}
					err, kept := test.fail(failures)
					failures++
					if err == nil || kept {
						err = errors.Join(err, c.do())
					}
					return err
				}}
				a, _ := process(t, store, play(uses(sleep("1", 1)), says("done")), agent.Options{})
				began := time.Now()
				got, err := a.Run(t.Context(), human("go"), agent.In("r"))
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
