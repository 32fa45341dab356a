package talk

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestStopWhileHeld stops, deletes or continues a conversation that another process holds: one that
// was killed for as long as its lease lasts, and one that never ends.
func TestStopWhileHeld(t *testing.T) {
	stop := func(s *Service, t *testing.T, id string) error { return s.Stop(t.Context(), "Ada", id) }
	remove := func(s *Service, t *testing.T, id string) error { return s.Delete(t.Context(), "Ada", id) }
	say := func(s *Service, t *testing.T, id string) error { return s.Say(t.Context(), "Ada", id, "and?") }
	for name, tt := range map[string]struct {
		held time.Duration
		do   func(*Service, *testing.T, string) error
		want error
		wait time.Duration // at most
	}{
		"killed, stop":   {leaseTTL, stop, nil, leaseTTL + heldInterval},
		"killed, say":    {leaseTTL, say, nil, leaseTTL + heldInterval},
		"killed, delete": {leaseTTL, remove, nil, leaseTTL + heldInterval},
		"alive, say":     {time.Hour, say, ErrElsewhere, leaseTTL + 2*time.Second},
		"alive, stop":    {time.Hour, stop, ErrElsewhere, leaseTTL + 2*time.Second},
		"alive, delete":  {time.Hour, remove, ErrElsewhere, leaseTTL + 2*time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := record.NewMemory()
				s, err := New(Options{Model: agenttest.PlayRepeating(agenttest.Say("hello")), Store: store})
				check.Must(t, err)
				defer s.Close()
				id, err := s.Begin(t.Context(), "Ada", "hello")
				check.Must(t, err)
				synctest.Wait() // the turn is over, and the run is let go
				key := run.Key{Tenant: "Ada", ID: id}
				check.Must(t, check.Err(store.Acquire(t.Context(), key, record.Holder{TTL: tt.held})))
				start := time.Now()
				check.Is(t, tt.do(s, t, id), tt.want)
				if took := time.Since(start); took > tt.wait { // by the clock of the bubble
					t.Errorf("it took %v, want %v at most", took, tt.wait)
				}
			})
		})
	}
}
