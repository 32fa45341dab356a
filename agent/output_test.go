package agent_test

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
)

func synctestRun(t *testing.T, name string, f func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

type weatherReport struct {
	City   string `json:"city"`
	Degree int    `json:"degree"`
}

func TestAs(t *testing.T) {
	good := uses(toolCall("f", "final_answer", `{"city":"Oslo","degree":7}`))
	for name, tt := range map[string]struct {
		steps []step
		opts  agent.Options
		turns int
		err   error
	}{
		"at once":       {[]step{good}, agent.Options{}, 1, nil},
		"after a tool":  {[]step{uses(toolCall("1", "echo", "{}")), good}, agent.Options{}, 2, nil},
		"does not fit":  {[]step{uses(toolCall("f", "final_answer", `{"city":1}`)), good}, agent.Options{}, 2, nil},
		"in words":      {[]step{says("7 degrees"), good}, agent.Options{}, 2, nil},
		"only in words": {[]step{says("7 degrees")}, agent.Options{}, 3, agent.ErrNoOutput},
		"at a limit":    {[]step{uses(toolCall("", "nothing", "{}")), good}, agent.Options{Limits: run.Limits{Turns: 1}}, 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			toolset, _ := open(t, nil)
			model := play(tt.steps...)
			got, result, err := agent.As[weatherReport](t.Context(), withTools(t, model, toolset, &tt.opts), human("go"))
			if !errors.Is(err, tt.err) || tt.err == nil && got != (weatherReport{"Oslo", 7}) || result.Spent.Turns != tt.turns {
				t.Errorf("got %+v, %v after %d turns", got, err, result.Spent.Turns)
			}
			if name == "in words" {
				if p := lines(model.prompts()[1].messages); !strings.Contains(p[len(p)-1], "final_answer") {
					t.Errorf("the model is asked again with %s", p[len(p)-1])
				}
			}
		})
	}
}

// A structured answer may come after a wait.
func TestResumeAs(t *testing.T) {
	store := run.NewMemory()
	opts := agent.Options{Approve: agent.AskPerson}
	first, _ := process(t, store, play(uses(toolCall("1", "echo", "{}"))), opts)
	_, got, err := agent.As[weatherReport](t.Context(), first, human("go"), agent.In(theRun.ID))
	if err != nil || got.Status != run.Waiting {
		t.Fatalf("got %+v, %v", got, err)
	}
	second, _ := process(t, store, play(uses(toolCall("f", "final_answer", `{"city":"Oslo","degree":7}`))), opts)
	report, _, err := agent.ResumeAs[weatherReport](t.Context(), second, theRun, got.Asks[0].Allow())
	if err != nil || report != (weatherReport{"Oslo", 7}) {
		t.Errorf("got %+v, %v", report, err)
	}
}

// A model whose answers never fit comes to its limit.
func TestAsComesToAnEnd(t *testing.T) {
	model := play(uses(toolCall("", "final_answer", `{"city":1}`)))
	_, got, err := agent.As[weatherReport](t.Context(), newAgent(t, model, &agent.Options{Limits: run.Limits{Turns: 3}}), human("go"))
	if !errors.Is(err, agent.ErrNoOutput) || got.Spent.Turns != 4 {
		t.Errorf("got %v after %d turns", err, got.Spent.Turns)
	}
}
