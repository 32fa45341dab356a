package suites

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	agenteval "github.com/mcpchain/mcpchain/evals/agent"
	"github.com/mcpchain/mcpchain/evals/agent/model"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/evals/agent/trial"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
)

// patience is how long a trial may take on a slow machine.
const patience = 10 * time.Minute

// Every task of the repository is done by its script.
func TestScripted(t *testing.T) {
	names := check.Value(filepath.Glob("*.yaml"))(t)
	var all []*suite.Suite
	for _, name := range names {
		all = append(all, check.Value(suite.Open(name))(t))
	}
	settings := trial.Settings{Model: model.Spec{Mode: results.Scripted}, Dir: t.TempDir(), Patience: patience}
	lines := check.Value(agenteval.Lines(t.Context(), all, agenteval.Options{Settings: settings, Parallel: runtime.GOMAXPROCS(0)}))(t)
	for _, l := range lines {
		check.That(t, l.Outcome == results.Pass, "%s/%s: %s: %s", l.Suite, l.Task, l.Outcome, l.Reason)
	}
	check.That(t, len(lines) >= 45, "got %d trials, want at least 45", len(lines))
}

// The reference servers of npm do the same kind of tasks.
func TestNPM(t *testing.T) {
	set := testenv.InstallNPM(t, os.DirFS("../../interop/testdata/npm"))
	s := check.Value(suite.Open("testdata/npm.yaml"))(t)
	for _, server := range s.Servers {
		server.Command[0], server.Command[1] = set.Node(), set.Module(server.Command[1])
	}
	settings := trial.Settings{Model: model.Spec{Mode: results.Scripted}, Dir: t.TempDir(), Patience: patience}
	lines := check.Value(agenteval.Lines(t.Context(), []*suite.Suite{s}, agenteval.Options{Settings: settings}))(t)
	for _, l := range lines {
		check.That(t, l.Outcome == results.Pass, "%s: %s: %s", l.Task, l.Outcome, l.Reason)
	}
	check.Equal(t, "lines", len(lines), len(s.Tasks))
}
