package record_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger/ledgertest"
)

// TestErrorsOfAChange reads the errors of CancelRun and Revive: each names the run once.
func TestErrorsOfAChange(t *testing.T) {
	store, key := record.NewMemory(), run.Key{ID: "run_1"}
	check.Must(t, suspended(t.Context(), store, key))
	ended, end := context.WithCancel(t.Context())
	end()
	for want, err := range map[string]error{
		`load run "none": not found`:                         record.CancelRun(t.Context(), store, run.Key{ID: "none"}),
		`load run "gone": not found`:                         record.Revive(t.Context(), store, run.Key{ID: "gone"}),
		`revive run "run_1": run is waiting, and not parked`: record.Revive(t.Context(), store, key),
		`load run "run_1": context canceled`:                 record.CancelRun(ended, store, key),
	} {
		check.That(t, err != nil && strings.HasPrefix(err.Error(), want) && strings.Count(err.Error(), "run \"") == 1, "got %v, want %s", err, want)
	}
}

// TestCancelWithoutRequest ends the context before a request can be stored: the error does not say that it was.
func TestCancelWithoutRequest(t *testing.T) {
	key := run.Key{ID: "run_1"}
	ctx, cancel := context.WithCancel(t.Context())
	store := interfering(record.NewMemory(), func(run.Key) error { cancel(); return record.ErrHeld })
	check.Must(t, suspended(t.Context(), store, key))
	err := record.CancelRun(ctx, store, key)
	check.That(t, errors.Is(err, context.Canceled) && !strings.Contains(err.Error(), "requested"), "got %v, want no claim of a request", err)
}

// TestCancelDoesNotHang has a store that does not respond to a release: the caller gets its result.
func TestCancelDoesNotHang(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner, key := record.NewMemory(), run.Key{ID: "run_1"}
		check.Must(t, suspended(t.Context(), inner, key))
		check.Must(t, record.CancelRun(t.Context(), ledgertest.Watch(inner, func(c *ledgertest.Call) error {
			if c.Method != "release" {
				return c.Do()
			}
			<-c.Ctx.Done()
			return c.Ctx.Err()
		}), key))
	})
}

// TestCancelInDoubt ends the context while a request is stored, so that nobody knows whether it is.
func TestCancelInDoubt(t *testing.T) {
	key := run.Key{ID: "run_1"}
	ctx, cancel := context.WithCancel(t.Context())
	store := interrupted{record.NewMemory(), cancel}
	check.Must(t, suspended(t.Context(), store, key))
	err := record.CancelRun(ctx, store, key)
	check.Is(t, err, record.ErrHeld)
	check.Is(t, err, context.Canceled)
	check.Text(t, err, "may be requested")
}

// interrupted is a store whose runs are held, and whose caller leaves while a request is stored.
type interrupted struct {
	record.Store
	leave context.CancelFunc
}

func (interrupted) Acquire(context.Context, run.Key, record.Holder) (record.Lease, error) {
	return record.Lease{}, record.ErrHeld
}

func (s interrupted) RequestCancel(ctx context.Context, key run.Key) error {
	err := s.Store.RequestCancel(ctx, key)
	s.leave()
	return errors.Join(err, ctx.Err())
}
