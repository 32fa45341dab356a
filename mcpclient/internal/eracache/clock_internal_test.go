package eracache

import (
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// The age of an entry has the reading of a clock that is never set, so that a clock that
// is set neither keeps an entry for longer nor drops it.
func TestClockJumps(t *testing.T) {
	var c Cache
	c.Keep("https://example.com", "2025-11-25")
	for _, found := range c.known {
		if found.Since == found.Since.Round(0) { // which takes out that reading
			t.Errorf("%v is of the clock on the wall only", found.Since)
		}
	}
	check.Equal(t, "the entry is gone", c.Find("https://example.com"), "2025-11-25")
}
