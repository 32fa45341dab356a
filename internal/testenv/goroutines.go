package testenv

import (
	"runtime"
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
		stacks := allStacks()
		if !slices.ContainsFunc(functions, func(f string) bool { return strings.Contains(stacks, f) }) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("goroutines are left:\n%s", stacks)
		}
	}
}

// allStacks returns the stacks of all goroutines.
func allStacks() string {
	for buf := make([]byte, 1<<20); ; buf = make([]byte, 2*len(buf)) {
		if n := runtime.Stack(buf, true); n < len(buf) {
			return string(buf[:n])
		}
	}
}
