package agent

import (
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
)

// A run with which processes have died, of a tenant that has its share, keeps no other run waiting.
func TestSuspectBeyondItsShare(t *testing.T) {
	g := newGate(1)
	head := func(tenant, id string, takeovers int) run.Head {
		return run.Head{Key: run.Key{Tenant: tenant, ID: id}, Takeovers: takeovers, Updated: time.Now().Add(-time.Hour)}
	}
	for _, tt := range []struct {
		head run.Head
		want bool
	}{{head("acme", "1", 0), true}, {head("acme", "2", 5), false}, {head("other", "3", 0), true}} {
		if got := g.start(tt.head); got != tt.want {
			t.Errorf("%v: got %t, want %t", tt.head.Key, got, tt.want)
		}
	}
}
