package testenv

import (
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"
)

// Patience bounds waits for events that need a moment, also on a busy machine.
const Patience = 2 * time.Minute

// NoGoroutines fails if a goroutine with one of these functions does not end. A goroutine
// that has done its work may take a moment to end.
func NoGoroutines(t testing.TB, functions ...string) {
	t.Helper()
	for deadline := time.Now().Add(Patience); ; time.Sleep(time.Millisecond) {
		var stacks strings.Builder
		_ = pprof.Lookup("goroutine").WriteTo(&stacks, 2) // a Builder never fails
		if !slices.ContainsFunc(functions, func(f string) bool { return strings.Contains(stacks.String(), f) }) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("goroutines are left:\n%s", stacks.String())
		}
	}
}
