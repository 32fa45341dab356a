package suites

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	agenteval "github.com/mcpchain/mcpchain/evals/agent"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// patience is how long a trial may take on a slow machine.
const patience = 10 * time.Minute

// pass runs suites with their scripts, and returns how many trials there were. All have to pass.
func pass(t *testing.T, suites ...*suite.Suite) int {
	t.Helper()
	o := agenteval.Options{
		Model: agenteval.Model{Mode: results.Scripted}, Dir: t.TempDir(), Patience: patience, Parallel: runtime.GOMAXPROCS(0),
	}
	lines := check.Value(agenteval.Lines(t.Context(), suites, o))(t)
	for _, l := range lines {
		check.That(t, l.Outcome == results.Pass, "%s/%s: %s: %s", l.Suite, l.Task, l.Outcome, l.Reason)
	}
	return len(lines)
}

// Every task of the repository is done by its script.
func TestScripted(t *testing.T) {
	var all []*suite.Suite
	for _, name := range check.Value(filepath.Glob("*.yaml"))(t) {
		all = append(all, check.Value(suite.Open(name))(t))
	}
	n := pass(t, all...)
	check.That(t, n >= 45, "got %d trials, want at least 45", n)
}

// The reference servers of npm do the same kind of tasks.
func TestNPM(t *testing.T) {
	set := testenv.InstallNPM(t, os.DirFS("../../interop/testdata/npm"))
	s := check.Value(suite.Open("testdata/npm.yaml"))(t)
	for _, server := range s.Servers {
		server.Command[0], server.Command[1] = set.Node(), set.Module(server.Command[1])
	}
	check.Equal(t, "trials", pass(t, s), len(s.Tasks))
}
