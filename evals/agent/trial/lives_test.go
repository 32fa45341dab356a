package trial

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/evals/agent/model"
	"github.com/mcpchain/mcpchain/evals/agent/results"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/internal/check"
)

// An agent that is killed keeps the lease of its run, as if its process was killed, until it is released.
func TestKilledHoldsItsRun(t *testing.T) {
	task := &suite.Task{ID: "t", Prompt: "p", Script: []suite.Step{{Say: "x"}}}
	for _, at := range []int{1, -1} {
		p := &player{
			Trial: &Trial{Suite: &suite.Suite{Name: "s"}, Task: task, Model: model.Spec{Mode: results.Scripted}},
			dir:   t.TempDir(),
			store: record.NewMemory(),
			line:  &results.Line{},
		}
		check.Must(t, p.openModels())
		killed, err := p.runAgent(t.Context(), at)
		check.That(t, killed && err == nil, "kill %d: got %v, %v, want true", at, killed, err)
		check.Equal(t, "held after the kill", held(t, p.store), true)
		check.Must(t, p.release(t.Context()))
		check.Equal(t, "held after the release", held(t, p.store), false)
	}
}

func held(t *testing.T, s record.Store) bool {
	t.Helper()
	log, err := s.Load(t.Context(), run.Key{ID: runID})
	check.Must(t, err)
	return log.Head.HeldAt(time.Now())
}

// An agent that was killed writes nothing more, also not with a context that has not ended.
func TestKilledWritesNothing(t *testing.T) {
	s := &killingStore{kill: func() {}} // a store that it reached would panic
	s.die()
	check.Is(t, s.Append(t.Context(), record.Lease{}, run.Head{}, nil), context.Canceled, "append")
	check.Is(t, s.Reply(t.Context(), run.Key{}, nil), context.Canceled, "reply")
	check.Is(t, s.Renew(t.Context(), record.Lease{}, time.Minute), context.Canceled, "renew")
	check.Is(t, s.Release(t.Context(), record.Lease{}), context.Canceled, "release")
}

// Content of the suite that does not fit the form is a fault of the suite, not of the agent.
func TestUnfitReplyIsVoid(t *testing.T) {
	s, err := suite.Parse([]byte(`
name: s
servers: {desk: {inprocess: people, era: modern}}
tasks:
  - id: t
    prompt: Ask me for my name.
    suspend: true
    people: {forms: [{action: accept, content: {name: 7}}]}
    script: [{calls: [{tool: ask_name}]}, {say: x}]
    expect: {}
`))
	check.Must(t, err)
	l := (&Trial{Suite: s, Task: s.Tasks[0], Model: model.Spec{Mode: results.Scripted}, Dir: t.TempDir(), Patience: time.Minute}).Run(t.Context())
	check.That(t, l.Outcome == results.Void && l.Cause == "harness" && strings.Contains(l.Reason, "answer question"), "got %s (%s): %s", l.Outcome, l.Cause, l.Reason)
}
