package agent_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// leaseTTL is that of the tests' processes.
const leaseTTL = time.Minute

// stopped is the store of a process that is stopped after the commit of an intent, for two
// leases: neither that commit nor a renewal under way returns before.
type stopped struct {
	record.Store
	woken   atomic.Bool
	renewal error // after the stop
}

func (s *stopped) Append(ctx context.Context, lease record.Lease, head run.Head, records []run.Record, answers ...run.Reply) error {
	err := s.Store.Append(ctx, lease, head, records, answers...)
	if slices.ContainsFunc(records, func(r run.Record) bool { _, ok := ledger.ChangeOf(r).(*ledger.Intent); return ok }) {
		time.Sleep(2 * leaseTTL)
		s.woken.Store(true)
	}
	return err
}

func (s *stopped) Renew(ctx context.Context, lease record.Lease, ttl time.Duration) error {
	if !s.woken.Load() {
		time.Sleep(3 * leaseTTL)
	}
	if s.renewal != nil {
		return s.renewal
	}
	return s.Store.Renew(context.WithoutCancel(ctx), lease, ttl)
}

// stoppedTogether is a stopped process that renews the leases of its runs together.
type stoppedTogether struct{ *stopped }

func (s *stoppedTogether) RenewAll(ctx context.Context, leases []record.Lease, ttl time.Duration) (lost []record.Lease, err error) {
	for _, lease := range leases {
		switch err := s.Renew(ctx, lease, ttl); {
		case errors.Is(err, record.ErrConflict):
			lost = append(lost, lease)
		case err != nil:
			return nil, err
		}
	}
	return lost, nil
}

// A process that is stopped between the commit of an intent and the call sends nothing
// unless it still holds the run, and leaves the run as it is.
func TestNothingIsSentWithoutTheRun(t *testing.T) {
	down := errors.New("the store is down")
	for name, tt := range map[string]struct {
		taken   bool // another process has taken the run
		renewal error
		err     error
		effects int
	}{
		"taken over":     {true, nil, record.ErrConflict, 0},
		"not taken over": {false, nil, nil, 1},
		"not renewed":    {false, down, down, 0},
	} {
		for _, how := range []string{"remote", "local", "remote together", "local together"} {
			tool, _, together := strings.Cut(how, " ")
			synctestRun(t, how+" "+name, func(t *testing.T) {
				effects := 0
				s := emptyServer()
				s.addTool("remote", func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
					effects++
					return text("done"), nil
				})
				toolset := openAll(t, nil, adapter.Server{Name: "box", Transport: s.connect(t)})
				local := adapter.Func("local", "", func(context.Context, struct{}) (string, error) { effects++; return "done", nil }, nil)
				store := record.NewMemory()
				var halted record.Store = &stopped{Store: store, renewal: tt.renewal}
				if together {
					halted = &stoppedTogether{halted.(*stopped)}
				}
				a := withTools(t, play(uses(toolCall("1", tool, "{}")), says("done")), toolset, &agent.Options{
					Durable: agent.Durable{Store: halted, LeaseTTL: leaseTTL}, Tools: []adapter.Source{local},
				})
				ended := make(chan error)
				go func() {
					_, err := a.Run(t.Context(), human("go"), agent.In(theRun.ID))
					ended <- err
				}()
				time.Sleep(leaseTTL + leaseTTL/2)
				if tt.taken {
					check(t, errorOf(store.Acquire(t.Context(), theRun, record.Holder{Name: "other", TTL: time.Hour})))
				}
				if err := <-ended; !errors.Is(err, tt.err) || effects != tt.effects {
					t.Errorf("got %v and %d effects, want %v and %d", err, effects, tt.err, tt.effects)
				}
				log, err := store.Load(t.Context(), theRun)
				if err != nil || log.Head.Status.Ended() != (tt.err == nil) {
					t.Errorf("got %+v, %v", log.Head, err)
				}
			})
		}
	}
}
