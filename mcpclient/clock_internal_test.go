package mcpclient

import (
	"testing"
	"time"
)

// Times for later comparison have a monotonic clock reading: if the wall clock is set,
// cached results live neither longer nor shorter.
func TestClockJumps(t *testing.T) {
	c := new(Client)
	c.cache.put(&request{method: "tools/list"}, []byte(`{"ttlMs":60000}`), 0, 1<<20)
	if len(c.cache.entries) != 1 {
		t.Fatal("the result was not kept")
	}
	for _, e := range c.cache.entries {
		wantSteady(t, "the end of a cached result", e.expires)
	}

	rounds := inputRounds{questioner: &gatherer{life: newLife(t)}}
	if err := rounds.wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantSteady(t, "the first time that a call was deferred", rounds.deferred)
}

func wantSteady(t *testing.T, what string, at time.Time) {
	t.Helper()
	if at == at.Round(0) { // Round strips the monotonic reading
		t.Errorf("%s: %v has no monotonic clock reading", what, at)
	}
}
