package temporal_test

import (
	"encoding/json"
	"os"
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
		t.Run(filepath.Base(file), func(t *testing.T) { check(t, replayed(t, file)) })
	}
}

// replayed replays a history.
func replayed(t *testing.T, file string) error {
	t.Helper()
	r := worker.NewWorkflowReplayer()
	a := newWorld().agent(t, script{{text: "another answer"}}, agent.Options{System: "Another prompt."})
	o := &temporal.WorkerOptions{Steps: 1, StepTimeout: time.Hour, Grace: time.Minute}
	check(t, temporal.Register(r, []*agent.Agent{a}, o))
	return r.ReplayWorkflowHistoryFromJSONFile(silent, file)
}

// TestCancelBeforeContinueAsNew replays the history of a cancelled workflow whose step ended all the same,
// and was the last one before it continues as new: it cancels the run, because the next execution would
// not know.
func TestCancelBeforeContinueAsNew(t *testing.T) {
	data, err := os.ReadFile("testdata/cancelled.json")
	check(t, err)
	var history struct {
		Events []map[string]any `json:"events"`
	}
	check(t, json.Unmarshal(data, &history))
	payload := func(v any) any {
		data, err := json.Marshal(v)
		check(t, err)
		return map[string]any{"payloads": []any{map[string]any{"metadata": map[string]any{"encoding": []byte("json/plain")}, "data": data}}}
	}
	for _, e := range history.Events {
		switch e["eventType"] {
		case "EVENT_TYPE_WORKFLOW_EXECUTION_STARTED":
			e["workflowExecutionStartedEventAttributes"].(map[string]any)["input"] = payload(map[string]any{
				"after": 1, "attributes": true, "target": map[string]any{"tenant": "acme", "id": "cancelled", "agent": "helper"},
			})
		case "EVENT_TYPE_ACTIVITY_TASK_CANCELED":
			delete(e, "activityTaskCanceledEventAttributes")
			e["eventType"] = "EVENT_TYPE_ACTIVITY_TASK_COMPLETED"
			e["activityTaskCompletedEventAttributes"] = map[string]any{
				"result": payload(map[string]any{"status": "running"}), "scheduledEventId": "6", "startedEventId": "12", "identity": "test",
			}
		}
	}
	data, err = json.Marshal(history)
	check(t, err)
	file := filepath.Join(t.TempDir(), "history.json")
	check(t, os.WriteFile(file, data, 0o600))
	check(t, replayed(t, file))
}
