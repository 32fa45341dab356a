package agenteval

import (
	"encoding/json"
	"flag"
	"math"
	"os"
	"testing"

	"github.com/mcpchain/mcpchain/evals/agent/model"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/internal/check"
)

var update = flag.Bool("update", false, "write testdata/bad.golden.json")

// A bad script scores what arithmetic demands, and fails. Each task is named by the grader that it is for.
func TestBadScripts(t *testing.T) {
	data, err := os.ReadFile("testdata/bad.yaml")
	check.Must(t, err)
	got := map[string]map[string]float64{}
	for task, l := range run(t, string(data), model.Spec{Mode: results.Scripted}) {
		check.That(t, l.Outcome == results.Fail, "%s: got %s: %s", task, l.Outcome, l.Reason)
		got[task] = map[string]float64{}
		for _, s := range l.Scores {
			got[task][s.Grader] = s.Value
		}
	}
	if *update {
		data, err := json.MarshalIndent(got, "", "  ")
		if err == nil {
			err = os.WriteFile("testdata/bad.golden.json", append(data, '\n'), 0o644)
		}
		check.Must(t, err)
	}
	want := map[string]map[string]float64{}
	if data, err = os.ReadFile("testdata/bad.golden.json"); err == nil {
		err = json.Unmarshal(data, &want)
	}
	check.Require(t, err == nil && len(got) == len(want), "got %d tasks, want %d, %v", len(got), len(want), err)
	for task, scores := range want {
		for grader, value := range scores {
			if math.Abs(got[task][grader]-value) > 1e-12 || len(got[task]) != len(scores) {
				t.Errorf("%s: got %v, want %v", task, got[task], scores)
				break
			}
		}
	}
	for grader, value := range map[string]float64{
		"status": 0, "answer": 2.0 / 3, "state": 0.5, "effects": 1.0 / 3, "calls": 4.0 / 6, "arguments": (2.0/3 + 1) / 2, "order": 2.0 / 3,
		"forbidden": 0, "questions": 0.5, "budget": 0.5, "schema": 0,
	} {
		check.That(t, math.Abs(want[grader][grader]-value) <= 1e-12, "%s: the golden score is %v, want %v", grader, want[grader][grader], value)
	}
}
