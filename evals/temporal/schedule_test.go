package main

import (
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/temporal"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestSchedule lets a schedule of a Temporal server begin a run with a question.
func TestSchedule(t *testing.T) {
	s := newService(t)
	a := s.agent(t, play{{asks}}, "short", 0)
	s.work(t, a, nil)
	action := check.Value(s.runs.ScheduleAction(a, run.Key{Tenant: "acme", ID: "report"}, agent.Text("Write it.")))(t)
	handle, err := s.client.ScheduleClient().Create(t.Context(), client.ScheduleOptions{
		ID: "acme-report", Spec: client.ScheduleSpec{CronExpressions: []string{"0 3 1 1 *"}},
		Action: action,
	})
	check.Must(t, err)
	check.Must(t, handle.Trigger(t.Context(), client.ScheduleTriggerOptions{}))
	key := s.begun(t)
	about, err := s.client.DescribeWorkflowExecution(t.Context(), temporal.WorkflowID(key), "")
	if got := about.GetWorkflowExecutionInfo().GetPriority().GetFairnessKey(); err != nil || got != "acme" {
		t.Errorf("got the fairness key %q, %v, want the tenant", got, err)
	}
	first := s.client.GetWorkflow(t.Context(), temporal.WorkflowID(key), "").GetRunID()
	check.NoError(t, s.runs.Reply(t.Context(), key, s.waits(t, key)[0].Allow()))
	got, err := s.runs.Result(t.Context(), key)
	check.That(t, err == nil && got.Status == run.StatusFinished && got.Messages[0].Text() == "Write it." && len(s.notes) == 1,
		"got %+v, %v, notes %v, want a run that is done", got, err, s.notes)
	check.That(t, key.Tenant == "acme" && strings.HasPrefix(key.ID, "report-20"), "got run %v, want one of acme's with a time", key)
	s.replay(t, key, first, "scheduled")
}

func (s *service) begun(t *testing.T) run.Key {
	t.Helper()
	for range 1200 {
		for head, err := range s.store.List(t.Context(), record.Query{AllTenants: true}) {
			check.Must(t, err)
			return head.Key
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("the schedule has begun no run")
	return run.Key{}
}
