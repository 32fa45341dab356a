package temporal_test

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/worker"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/temporal"
)

// TestReplay replays histories of earlier versions, written by evals/temporal on a server, with
// another model, other tools and other options. Add files, but never change one, because such
// workflows may be running.
func TestReplay(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	check(t, err)
	for _, name := range []string{"answers", "cancelled", "cancelled_waiting", "changed", "continued", "done", "expired", "scheduled", "stopped"} {
		if !slices.Contains(files, filepath.Join("testdata", name+".json")) {
			t.Errorf("there is no history %s", name)
		}
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			r := worker.NewWorkflowReplayer()
			a := newWorld().agent(t, script{{text: "another answer"}}, agent.Options{System: "Another prompt."})
			o := &temporal.WorkerOptions{Steps: 1, StepTimeout: time.Hour, Grace: time.Minute}
			check(t, temporal.Register(r, []*agent.Agent{a}, o))
			if err := r.ReplayWorkflowHistoryFromJSONFile(silent{}, file); err != nil {
				t.Error(err)
			}
		})
	}
}
