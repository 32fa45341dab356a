package record

import (
	"context"
	"fmt"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Submit checks replies against their questions, and stores them for the present or next holder
// of the run. Replies without a time get the present one. The errors are those of [run.Check],
// [Store].Load and [Store].Reply. With an error of this package no reply was stored; after any
// other error load the run.
func Submit(ctx context.Context, store Store, key run.Key, answers ...run.Reply) error {
	if len(answers) == 0 {
		return nil
	}
	log, err := LoadCurrent(ctx, store, key)
	if err != nil {
		return err
	}
	s, err := ledger.StateOf(log.Records)
	if err != nil {
		return fmt.Errorf("load run %q: %w", key.ID, err)
	}
	if _, err := ledger.CheckOpen(s, answers); err != nil {
		return err
	}
	return store.Reply(ctx, key, ledger.Dated(answers))
}
