package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent"
)

func TestApproval(t *testing.T) {
	toolset, _ := open(t, nil)
	model := play(
		uses(
			toolCall("1", "echo", `{"x":1}`),
			toolCall("2", "echo", `{"x":2}`),
			toolCall("3", "echo", `{"x":3}`),
			toolCall("4", "echo", `{"x":4}`),
			toolCall("5", "nothing", `{}`),
		),
		says("done"),
	)
	decisions := map[string]agent.Decision{
		"1": agent.Allow(),
		"2": agent.Deny("too early"),
		"3": agent.AllowWith(json.RawMessage(`{"x":30}`)),
		// 4: the zero value
	}
	approve := func(_ context.Context, a *agent.Approval) (agent.Decision, error) {
		if a.Server != "box" || a.Tool != "echo" || a.Definition.Description != "echo" {
			t.Errorf("asked about %+v, want echo of box", a)
		}
		return decisions[a.ID], nil
	}
	a := withTools(t, model, toolset, &agent.Options{Approve: approve, Parallelism: 1})
	result := &agent.Result{}
	var got []string
	for e, err := range a.Events(t.Context(), human("go")) {
		if err != nil {
			t.Fatal(err)
		}
		result.Add(e)
		switch e.(type) {
		case *agent.ApprovalAsked, *agent.ApprovalDecided, *agent.ToolStart, *agent.ToolEnd:
			got = append(got, describe(e))
		}
	}
	diff(t, "events", got, []string{
		`turn 1: asked about echo (1) {"x":1}`,
		`turn 1: decided about echo (1): true `,
		`turn 1: asked about echo (2) {"x":2}`,
		`turn 1: decided about echo (2): false too early`,
		`turn 1: tool echo (2) ends: The call was not run: it was not approved: too early`,
		`turn 1: asked about echo (3) {"x":3}`,
		`turn 1: decided about echo (3): true `,
		`turn 1: asked about echo (4) {"x":4}`,
		`turn 1: decided about echo (4): false `,
		`turn 1: tool echo (4) ends: The call was not run: it was not approved.`,
		`turn 1: tool nothing (5) ends: There is no tool "nothing". There are: ask, count, die, echo, fail, picture, sample, sleep.`,
		`turn 1: tool echo (1) starts`,
		`turn 1: tool echo (1) ends: {"x":1}`,
		`turn 1: tool echo (3) starts`,
		"turn 1: tool echo (3) ends: The user changed the arguments to {\"x\":30}.\n{\"x\":30}",
	})
	diff(t, "messages", lines(result.Messages), []string{
		`ai: 1=echo({"x":1}) 2=echo({"x":2}) 3=echo({"x":3}) 4=echo({"x":4}) 5=nothing({})`,
		`tool: 1/echo→"{\"x\":1}"`,
		`tool: 2/echo→"The call was not run: it was not approved: too early"`,
		`tool: 3/echo→"The user changed the arguments to {\"x\":30}.\n{\"x\":30}"`,
		`tool: 4/echo→"The call was not run: it was not approved."`,
		`tool: 5/nothing→"There is no tool \"nothing\". There are: ask, count, die, echo, fail, picture, sample, sleep."`,
		`ai: "done"`,
	})
}

// A name that is off in case only must not get around the approval.
func TestApprovalOfSloppyName(t *testing.T) {
	toolset, _ := open(t, nil)
	model := play(uses(toolCall("1", " ECHO", `{"x":1}`)), says("done"))
	asked := 0
	approve := func(_ context.Context, a *agent.Approval) (agent.Decision, error) {
		asked++
		if a.Name != "echo" {
			t.Errorf("asked about %q, want echo", a.Name)
		}
		return agent.Allow(), nil
	}
	got := run(t, withTools(t, model, toolset, &agent.Options{Approve: approve}), human("go"))
	if asked != 1 {
		t.Errorf("asked %d times, want once", asked)
	}
	// The history goes by the name that the model wrote.
	diff(t, "messages", lines(got.Messages[1:3]), []string{`ai: 1= ECHO({"x":1})`, `tool: 1/ ECHO→"{\"x\":1}"`})
}

// The person sees what is sent, not what the model wrote.
func TestApprovalShowsRepairedArguments(t *testing.T) {
	toolset, _ := open(t, nil)
	model := play(
		uses(
			toolCall("1", "echo", `"{\"x\":1}"`),
			toolCall("2", "echo", `{"path":"/tmp","path":"/etc"}`),
			toolCall("3", "echo", `[1]`),
		),
		says("done"),
	)
	var asked, ran []string
	approve := func(_ context.Context, a *agent.Approval) (agent.Decision, error) {
		asked = append(asked, a.Arguments)
		return agent.Allow(), nil
	}
	got := run(t, withTools(t, model, toolset, &agent.Options{Approve: approve}), human("go"))
	for _, m := range got.Messages[2:4] {
		ran = append(ran, m.Parts[0].(llms.ToolCallResponse).Content)
	}
	diff(t, "asked", asked, []string{`{"x":1}`, `{"path":"/etc"}`})
	diff(t, "ran", ran, asked)
	if content := got.Messages[4].Parts[0].(llms.ToolCallResponse).Content; !strings.Contains(content, "arguments of echo") {
		t.Errorf("the model was told %q, want what is wrong with the arguments", content)
	}
}

func TestApprovalFails(t *testing.T) {
	closed := errors.New("window closed")
	for name, test := range map[string]struct {
		approve agent.ApproveFunc
		is      error
		text    string
	}{
		"error": {
			func(context.Context, *agent.Approval) (agent.Decision, error) { return agent.Allow(), closed },
			closed, `turn 1: approve call of tool "echo": window closed`,
		},
		"panic": {
			func(context.Context, *agent.Approval) (agent.Decision, error) { panic("oh no") },
			nil, "approve callback panicked: oh no",
		},
	} {
		t.Run(name, func(t *testing.T) {
			toolset, _ := open(t, nil)
			a := withTools(t, play(uses(toolCall("1", "echo", "{}"))), toolset, &agent.Options{Approve: test.approve})
			result, err := a.Run(t.Context(), human("go"))
			if err == nil || test.is != nil && !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("error %v, want one with %q that is %v", err, test.text, test.is)
			}
			if result.ToolCalls != 0 {
				t.Error("the tool was called all the same")
			}
		})
	}
}

func TestLeavingTheRangeEndsTheApproval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		toolset, _ := open(t, nil)
		returned := false
		approve := func(ctx context.Context, _ *agent.Approval) (agent.Decision, error) {
			<-ctx.Done()
			returned = true
			return agent.Decision{}, ctx.Err()
		}
		a := withTools(t, play(uses(toolCall("1", "echo", "{}"))), toolset, &agent.Options{Approve: approve})
		for e, err := range a.Events(t.Context(), human("go")) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := e.(*agent.ApprovalAsked); ok {
				synctest.Wait()
				break
			}
		}
		if !returned {
			t.Error("the range was over before the callback returned")
		}
	})
}

func TestDeniedTurnsCount(t *testing.T) {
	toolset, _ := open(t, nil)
	deny := func(context.Context, *agent.Approval) (agent.Decision, error) { return agent.Deny(""), nil }
	model := play(untilFinal(llms.ToolCall{FunctionCall: &llms.FunctionCall{Name: "echo"}}))
	got := run(t, withTools(t, model, toolset, &agent.Options{Approve: deny, MaxConsecutiveFailures: 2}), human("go"))
	if got.StopReason != agent.StopMaxFailures || got.Turns != 3 {
		t.Errorf("stopped with %q after %d turns, want %q after 3", got.StopReason, got.Turns, agent.StopMaxFailures)
	}
}
