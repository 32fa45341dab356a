// Package testenv starts what tests need: their own program in roles, MCP servers that a function answers, programs of
// npm packages, a Postgres server. Its flag -soak makes tests try all their cases.
package testenv

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// Patience bounds waits for events that need a moment, also on a busy machine.
const Patience = 2 * time.Minute

const roleVariable = "MCPCHAIN_TEST_ROLE"

// Main is the TestMain of a package whose tests start their own program as a process in one
// of these roles. The role returns the exit status.
func Main(m *testing.M, roles map[string]func() (status int)) {
	role := os.Getenv(roleVariable)
	if role == "" {
		os.Exit(m.Run())
	}
	status := roles[role]()
	discardCoverage()
	os.Exit(status)
}

// discardCoverage makes a process of a test with -cover write its counts to a temporary folder: without a folder it
// writes a warning to stderr, which tests read.
func discardCoverage() {
	if testing.CoverMode() == "" {
		return
	}
	dir := filepath.Join(os.TempDir(), "mcpchain-coverage")
	if os.MkdirAll(dir, 0o700) == nil {
		_ = os.Setenv("GOCOVERDIR", dir)
	}
}

// Role returns the environment variable that gives a process of os.Args[0] a role.
func Role(name string) string { return roleVariable + "=" + name }

// Stay is a role that waits to be killed, for an hour.
func Stay() (status int) {
	<-time.After(time.Hour)
	return 0
}

// NoGoroutines fails if a goroutine with one of these functions does not end. A goroutine
// that has done its work may take a moment to end.
func NoGoroutines(t testing.TB, functions ...string) {
	t.Helper()
	buf := make([]byte, 1<<20)
	for deadline := time.Now().Add(Patience); ; time.Sleep(time.Millisecond) {
		stacks := string(buf[:runtime.Stack(buf, true)])
		if !slices.ContainsFunc(functions, func(f string) bool { return strings.Contains(stacks, f) }) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("goroutines are left:\n%s", stacks)
		}
	}
}
