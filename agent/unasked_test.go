package agent_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
)

// unasked is what a server gets that no person was asked for, and failed what the tool makes of it.
const unasked = "the user was not asked: the conversation is unknown, or nobody can be asked now"

func failed(text string) string {
	return "Error: the server answered with an error: calling \"elicitation/create\": " + text + " (code -32603)"
}

func warningsOf(r *agent.Result) (texts []string) {
	for _, w := range r.Warnings {
		texts = append(texts, w.Text)
	}
	return texts
}

// The host is warned if a question reaches no person because nothing is there to answer it.
func TestWarningOfAQuestionThatIsNotAsked(t *testing.T) {
	notAsked := `server "box" asked the user in a call of quiz, and was told that the user was not asked: Options.Person.Reply is nil, and the run is not kept; ` +
		"set Options.Person.Reply, or Options.Durable.Store for an answer from elsewhere"
	for name, tt := range map[string]struct {
		opts  agent.Options
		store record.Store
		want  []string
	}{
		"neither":                   {agent.Options{}, nil, []string{notAsked}},
		"a host that answers later": {agent.Options{Person: agent.Person{Reply: notNow}}, nil, nil},
		"a host that never holds":   {agent.Options{Person: agent.Person{Legacy: agent.LegacyQuestions{Hold: -1}}}, record.NewMemory(), nil},
	} {
		t.Run(name, func(t *testing.T) {
			a, _ := legacyProcess(t, tt.store, play(quiz(1), says("done")), tt.opts)
			got := mustRun(t, a, human("go"))
			diff(t, "result of the call", lines(history(got))[2], fmt.Sprintf("tool: 1/quiz→%q", failed(unasked)))
			diff(t, "warnings", warningsOf(got), tt.want)
		})
	}
}

// The host is warned if a run waits, and only the caller's result can go on.
func TestWarningOfAWaitThatIsNotKept(t *testing.T) {
	pay := adapter.Func("pay", "Pays.", func(context.Context, struct{}) (string, error) { return "paid", nil }, nil)
	for name, tt := range map[string]struct {
		opts agent.Options
		want []string
	}{
		"neither":                   {agent.Options{}, []string{"the run waits for answers, and nothing keeps it: Options.Person.Reply and Options.Durable.Store are nil; set one of them, or continue Result.State by Agent.ResumeState"}},
		"a store":                   {agent.Options{Durable: agent.Durable{Store: record.NewMemory()}}, nil},
		"a host that answers later": {agent.Options{Person: agent.Person{Reply: notNow}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tt.opts.Tools, tt.opts.Person.Approve = []adapter.Source{pay}, agent.AskPerson
			got, err := newAgent(t, play(uses(toolCall("1", "pay", "{}"))), &tt.opts).Run(t.Context(), human("go"))
			if err != nil || got.Status != run.StatusWaiting {
				t.Fatalf("got %s, %v, want a run that waits", got.Status, err)
			}
			diff(t, "warnings", warningsOf(got), tt.want)
		})
	}
}
