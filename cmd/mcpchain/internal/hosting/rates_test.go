package hosting

import (
	"fmt"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// TestRates has users wait who send too much, and forgets those who have gone.
func TestRates(t *testing.T) {
	r := NewRates(1, 2)
	for _, who := range []string{"ada", "ada", "bob"} {
		check.Equal(t, who, r.Take(who), 0)
	}
	if wait := r.Take("ada"); wait <= 0 {
		t.Errorf("got a wait of %v, want some", wait)
	}
	for i := range 2 * maxRated {
		r.Take(fmt.Sprint(i))
	}
	if n := len(r.limiters); n > maxRated {
		t.Errorf("got %d users in memory, want at most %d", n, maxRated)
	}
}
