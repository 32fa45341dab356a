package agent_test

import (
	"context"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
)

// A call that is allowed starts while the form of another one is open.
func TestCallBesideAnOpenForm(t *testing.T) {
	toolset, err := adapter.Open(t.Context(), []adapter.Server{{Name: "weather", Transport: weather()}}, nil)
	check(t, err)
	defer toolset.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	started, open := make(chan struct{}), make(chan struct{})
	now := adapter.Func("now", "Tells the time.", func(context.Context, struct{}) (string, error) {
		close(started)
		return "noon", nil
	}, nil)
	a := newAgent(t, play(uses(toolCall("1", "forecast", `{}`), toolCall("2", "now", `{}`)), says("done")), &agent.Options{
		Tools: []adapter.Source{toolset, now}, Person: agent.Person{
			Approve: agent.AskPerson,
			Reply: func(ctx context.Context, q *run.Question) (run.Reply, error) {
				answer := q.Allow()
				switch {
				case q.Kind == run.QuestionForm:
					close(open)
					select {
					case <-started:
					case <-ctx.Done():
						return run.Reply{}, context.Cause(ctx)
					}
					return q.Accept(map[string]any{"city": "Oslo"})
				case q.Tool == "now":
					select {
					case <-open:
					case <-ctx.Done():
						return run.Reply{}, context.Cause(ctx)
					}
				}
				return answer, nil
			},
		},
	})
	got, err := a.Run(ctx, human("go"))
	if err != nil || got.Output != "done" {
		t.Fatalf("got %+v, %v", got, err)
	}
}
