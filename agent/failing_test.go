package agent_test

import (
	"context"
	"fmt"
	"sync"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// errDown is not passing: nothing is tried again.
var errDown = fmt.Errorf("the store is down: %w", record.ErrTooLarge)

// failing is a store that is down from its write at on, which is kept or not.
type failing struct {
	record.Store
	at   int
	keep bool

	mu     sync.Mutex
	writes int
}

func (f *failing) write(write func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.writes++
	if f.writes < f.at {
		return write()
	}
	if f.writes == f.at && f.keep {
		if err := write(); err != nil {
			return err
		}
	}
	return errDown
}

func (f *failing) Append(ctx context.Context, lease record.Lease, head run.Head, records []run.Record, answers ...run.Reply) error {
	return f.write(func() error { return f.Store.Append(ctx, lease, head, records, answers...) })
}

func (f *failing) Reply(ctx context.Context, key run.Key, answers []run.Reply) error {
	return f.write(func() error { return f.Store.Reply(ctx, key, answers) })
}

// errFull is not passing, either.
var errFull = fmt.Errorf("disk full: %w", record.ErrTooLarge)
