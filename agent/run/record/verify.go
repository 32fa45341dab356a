package record

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Verify reads the runs of a query and compares each with its head. It yields the runs with
// defects, and the defect: a run that cannot be read, records that contradict each other, a
// snapshot or a head that the records do not produce, a blob that is missing or differs. An
// error of the store itself has an empty key and is the last pair.
func Verify(ctx context.Context, store Store, q Query) iter.Seq2[run.Key, error] {
	return func(yield func(run.Key, error) bool) {
		for head, err := range store.List(ctx, q) {
			var defect error
			switch {
			case err == nil:
				defect, err = verify(ctx, store, head.Key)
			case errors.Is(err, ErrDamaged):
				defect, err = err, nil
			}
			if err != nil {
				yield(run.Key{}, fmt.Errorf("verify runs: %w", err))
				return
			}
			if defect != nil && !yield(head.Key, defect) {
				return
			}
		}
	}
}

// verify returns the defect of a run, or the error of a store that cannot even list the run.
func verify(ctx context.Context, store Store, key run.Key) (defect, err error) {
	defect = findDefect(ctx, store, key)
	if err = ctx.Err(); err == nil && defect != nil {
		err = checkStore(ctx, store, key)
	}
	return defect, err
}

// findDefect returns the defect of a run. A run that was deleted in the meantime has none.
func findDefect(ctx context.Context, store Store, key run.Key) error {
	log, err := store.Load(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	s, err := ledger.StateOf(log.Records)
	if err != nil {
		return fmt.Errorf("run %q: %w: %w", key.ID, err, ErrCorrupt)
	}
	want, got := ledger.HeadOf(s), log.Head
	got.Epoch, got.HeldUntil, got.TTL, got.ReplyCount = want.Epoch, want.HeldUntil, want.TTL, want.ReplyCount
	if len(got.Questions) == 0 { // by a store that encrypts
		want.Questions = nil
	}
	if a, b := encodeHead(want), encodeHead(got); !bytes.Equal(a, b) {
		return fmt.Errorf("run %q: its head is %s, and its records make %s: %w", key.ID, b, a, ErrCorrupt)
	}
	if current := ledger.Current(log.Head, log.Records); len(current) < len(log.Records) {
		if err := checkSnapshot(current, s); err != nil {
			return fmt.Errorf("run %q: its snapshot in record %d: %w: %w", key.ID, log.Head.Snapshot, err, ErrCorrupt)
		}
	}
	return verifyBlobs(ctx, store, s)
}

// checkSnapshot returns an error if the records from the last snapshot on do not lead to a state.
func checkSnapshot(current []run.Record, want *ledger.State) error {
	s, err := ledger.StateOf(current)
	if err != nil {
		return err
	}
	first, err := want.MarshalJSON()
	if err != nil {
		return err
	}
	second, err := s.MarshalJSON()
	if err == nil && !bytes.Equal(first, second) {
		err = errors.New("leads to another state")
	}
	return err
}

// encodeHead returns the JSON of a head, or the text of its error, which differs from any head.
func encodeHead(h run.Head) []byte {
	data, err := json.Marshal(h)
	if err != nil {
		return []byte(err.Error())
	}
	return data
}

// verifyBlobs compares the results that are stored beside the records with what these say of them.
func verifyBlobs(ctx context.Context, store Store, s *ledger.State) error {
	all, err := blobsOf(ctx, store, run.Key{Tenant: s.Tenant, ID: s.ID})
	if err != nil {
		return err
	}
	for _, k := range s.Kept {
		data, ok := all[k.Handle]
		if !ok {
			return fmt.Errorf("run %q: the result %q is missing: %w", s.ID, k.Handle, ErrCorrupt)
		}
		if err := ledger.CheckKept(k, data); err != nil {
			return fmt.Errorf("run %q: %w: %w", s.ID, err, ErrCorrupt)
		}
	}
	return nil
}
