package agent_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// A store with a function around its methods, see [ledgertest.Watch].
type (
	watched   = ledgertest.Watched
	storeCall = ledgertest.Call
)

var watch = ledgertest.Watch

// together is a store that renews the leases of a process together, and says renewAll then.
type together struct{ *watched }

func (w together) RenewAll(ctx context.Context, leases []record.Lease, ttl time.Duration) (lost []record.Lease, err error) {
	c := &storeCall{Method: "renewAll", Ctx: ctx}
	c.Do = func() error {
		lost, err = w.Store.(record.BatchRenewer).RenewAll(c.Ctx, leases, ttl)
		return err
	}
	err = w.Around(c)
	return lost, err
}

// changesOf are the changes of a type in records.
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
