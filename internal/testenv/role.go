package testenv

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

const (
	roleVariable     = "MCPCHAIN_TEST_ROLE" // the name of a role, a comma, and the folder for its coverage
	coverageVariable = "GOCOVERDIR"
)

// Main is the TestMain of a package whose tests start their own program as a process in one
// of these roles. The role returns the exit status.
func Main(m *testing.M, roles map[string]func() (status int)) {
	name, coverage, isRole := strings.Cut(os.Getenv(roleVariable), ",")
	if !isRole {
		os.Exit(runTests(m))
	}
	role, ok := roles[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "testenv: no role %q\n", name)
		os.Exit(2)
	}
	status := role()
	if coverage != "" {
		_ = os.Setenv(coverageVariable, coverage)
	}
	os.Exit(status)
}

// runTests runs the tests. With -cover and without a folder for coverage, their processes write their counts to a
// temporary one: without any they would write a warning to stderr, which tests read.
func runTests(m *testing.M) (status int) {
	if testing.CoverMode() != "" && os.Getenv(coverageVariable) == "" {
		if dir, err := os.MkdirTemp("", "mcpchain-coverage"); err == nil {
			defer func() { _ = os.RemoveAll(dir) }()
			_ = os.Setenv(coverageVariable, dir)
		}
	}
	return m.Run()
}

// Role returns the environment variable that gives a process of os.Args[0] a role.
func Role(name string) string { return roleVariable + "=" + name + "," + os.Getenv(coverageVariable) }

// Stay is a role that waits to be killed, for an hour.
func Stay() (status int) {
	<-time.After(time.Hour)
	return 0
}
