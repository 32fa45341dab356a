package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// leaseTTL is that of the tests' processes.
const leaseTTL = time.Minute

// halting is the store of a process that is stopped after the commit of an intent, for two leases: neither that commit nor
// a renewal under way returns before. Renewals after it have the error.
func halting(store record.Store, renewal error) *watched {
	var woken atomic.Bool
	return &watched{store, func(c *storeCall) error {
		switch c.method {
		case "append":
			err := c.do()
			if len(changesOf[*ledger.Intent](c.records)) > 0 {
				time.Sleep(2 * leaseTTL)
				woken.Store(true)
			}
			return err
		case "renew", "renewAll":
			if !woken.Load() {
				time.Sleep(3 * leaseTTL)
			}
			if renewal != nil {
				return renewal
			}
		}
		return c.do()
	}}
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
			tool, _, inOne := strings.Cut(how, " ")
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
				halted := record.Store(halting(store, tt.renewal))
				if inOne {
					halted = together{halting(store, tt.renewal)}
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
