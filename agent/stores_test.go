package agent_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// A store with a function around its methods, see [ledgertest.Watch].
type (
	watched   = ledgertest.Watched
	storeCall = ledgertest.Call
)

var watch = ledgertest.Watch

func changesOf[C ledger.Change](records []run.Record) (all []C) {
	for _, r := range records {
		if c, ok := ledger.ChangeOf(r).(C); ok {
			all = append(all, c)
		}
	}
	return all
}

// Errors that do not pass: nothing is tried again.
var (
	errDead = fmt.Errorf("the process has died: %w", record.ErrTooLarge)
	errFull = fmt.Errorf("disk full: %w", record.ErrTooLarge)
)

// dying is the store of a process that dies at a write, before or after it.
type dying struct {
	watched
	at   int                         // number of the write; 0: it lives
	keep bool                        // the write is kept
	die  func(context.Context) error // at that write and at later ones; nil: the error is errDead

	writes atomic.Int64
}

// in has the process write to a store.
func (d *dying) in(store record.Store) *dying {
	d.watched = *watch(store, d.write)
	return d
}

func (d *dying) write(c *storeCall) error {
	n := int(d.writes.Load())
	switch c.Method {
	case "create", "append", "reply", "put":
		n = int(d.writes.Add(1))
		if n == d.at && d.keep {
			_ = c.Do() // nobody learns of it
		}
	case "release":
		if d.die != nil {
			return c.Do()
		}
	default:
		return c.Do()
	}
	switch {
	case d.at == 0 || n < d.at:
		return c.Do()
	case d.die != nil:
		return d.die(c.Ctx)
	}
	return errDead
}

// survives is a run whose first process dies, perhaps. process makes the agents of both: that of the
// next process by what the store has.
func survives(t *testing.T, store record.Store, first *dying, process func(record.Store, *record.Log) *agent.Agent) *agent.Result {
	t.Helper()
	got, err := process(first.in(store), nil).Run(t.Context(), human("go"), agent.WithRun(theRun.ID))
	check.Require(t, errors.Is(err, errDead) == (first.at > 0), "the first process: got %v", err)
	if first.at == 0 {
		check.Must(t, err)
		return got
	}
	log, err := store.Load(t.Context(), theRun)
	if errors.Is(err, record.ErrNotFound) {
		return mustRun(t, process(store, nil), human("go"), agent.WithRun(theRun.ID))
	}
	check.Must(t, err)
	check.Must(t, store.Release(t.Context(), record.Lease{Key: theRun, Epoch: log.Head.Epoch}))
	if log.Head.Status.Ended() {
		return got
	}
	return resumed(t, process(store, log))
}
