package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

//lint:file-ignore SA1019 sampling is deprecated, but servers use it

// everyEvent has each type of event, with all members.
func everyEvent() []agent.Event {
	at := time.Date(2026, 11, 5, 12, 0, 0, 0, time.UTC)
	meta := agent.Meta{Run: "r", Seq: 7, Time: at, Path: []string{"helper"}}
	call := agent.Call{Turn: 1, ID: "1", Name: "box_echo", Arguments: `{"x":1}`, Server: "box", Tool: "echo"}
	ask := &run.Question{ID: "ask_7", Kind: run.QuestionApproval, Call: "1", Server: "box", Tool: "box_echo", Path: []string{"helper"}, Arguments: []byte(`{"x":1}`), Survives: true, Created: at, Expires: at}
	answer := run.Reply{Question: "ask_7", Action: run.ActionDeny, Reason: "no", By: "Ann", At: at}
	part := run.Part{Type: run.PartCall, ID: "1", Name: "box_echo", Arguments: `{"x":1}`}
	result := run.Part{Type: run.PartResult, ID: "1", Name: "box_echo", Text: "1", Structured: []byte(`{"x":1}`), IsError: true}
	spent := run.Spent{Turns: 1, Calls: 1, Input: 3, Output: 2, Cost: map[string]int64{"USD": 5}}
	question := &agent.Elicitation{Server: "box", Call: &call, Params: &mcp.ElicitParams{Mode: mcp.ElicitForm, Message: "who?"}}
	sampling := &mcp.CreateMessageParams{MaxTokens: 10, Messages: []mcp.SamplingMessage{}}
	return []agent.Event{
		&agent.ModelStart{Meta: meta, Turn: 1, Model: "m", Final: true, Messages: 2},
		&agent.ReasoningDelta{Meta: meta, Turn: 1, Text: "hm"},
		&agent.TextDelta{Meta: meta, Turn: 1, Text: "hi"},
		&agent.ModelEnd{Meta: meta, Turn: 1, Model: "m", Text: "hi", Reasoning: "hm", ToolCalls: []run.Part{part}, StopReason: "stop", Usage: spent, Streamed: true, Duration: 5,
			Window: &agent.WindowUse{Size: 8, Servers: []agent.ServerTools{{Server: "box", Tools: 1, Tokens: 2}}, Input: 3}},
		&agent.ApprovalAsked{Meta: meta, Call: call},
		&agent.ApprovalDecided{Meta: meta, Call: call, Decision: approval.Decision{Allow: true, Arguments: []byte(`{"x":2}`), Remember: approval.ScopeTool}, Duration: 5},
		&agent.ToolStart{Meta: meta, Call: call},
		&agent.ToolProgress{Meta: meta, Call: call, Progress: mcp.Progress{Progress: 1, Message: "half"}},
		&agent.ToolEnd{Meta: meta, Call: call, Part: result, Duration: 5},
		&agent.Asked{Meta: meta, Question: ask},
		&agent.ReplyStart{Meta: meta, Question: ask},
		&agent.ReplyEnd{Meta: meta, Question: ask, Reply: &answer, Err: errors.New("no form"), Duration: 5},
		&agent.Replied{Meta: meta, Question: ask, Reply: answer},
		&agent.ElicitationStart{Meta: meta, Elicitation: question},
		&agent.ElicitationEnd{Meta: meta, Elicitation: question, Result: &mcp.ElicitResult{Action: mcp.ElicitDecline}, Err: errors.New("no form"), Duration: 5},
		&agent.SamplingStart{Meta: meta, Server: "box", Call: &call, Params: sampling},
		&agent.SamplingEnd{Meta: meta, Server: "box", Call: &call, Params: sampling, Usage: run.Spent{Input: 3, Total: 3, Sampling: run.Sampling{Requests: 1, Tokens: 3}}, Err: errors.New("no model"), Duration: 5},
		&agent.ServerLost{Meta: meta, Server: "box", Err: errors.New("it crashed")},
		&agent.Compacted{Meta: meta, Replaced: 4, By: 1},
		&agent.Warning{Meta: meta, Text: "careful"},
		&agent.TurnEnd{Meta: meta, Turn: 1, Messages: []run.Message{{Role: run.RoleTool, Parts: []run.Part{result}, Model: "m", At: at}}},
		&agent.Suspended{Meta: meta, Questions: []*run.Question{ask}, Wake: at},
		&agent.Output{Meta: meta, Text: "hi", StopReason: agent.StopOutput, FinishReason: "stop"},
	}
}

// A position goes to a page and back as text.
func TestPositionAsText(t *testing.T) {
	for text, want := range map[string]agent.Position{"": {}, "17": {Seq: 17}, "17.2": {Seq: 17, More: 2}} {
		if got, err := agent.ParsePosition(text); err != nil || got != want || text != "" && got.String() != text {
			t.Errorf("%q: got %v, %v, want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"x", "17.", "17.0", ".2", "-1", "+1", "017", "1.2.3", "1.99999999999", "99999999999999999999"} {
		if got, err := agent.ParsePosition(text); err == nil || got != (agent.Position{}) {
			t.Errorf("%q: got %v, %v, want an error", text, got, err)
		}
	}
}

// The JSON of events is for other programs: its names never change.
func TestEventsAsJSON(t *testing.T) {
	var got bytes.Buffer
	var types []string
	for _, e := range everyEvent() {
		data, err := agent.MarshalEvent(e)
		check(t, err)
		if !json.Valid(data) {
			t.Fatalf("%s is no JSON: %s", agent.TypeOf(e), data)
		}
		got.Write(append(data, '\n'))
		types = append(types, agent.TypeOf(e))
	}
	want, err := os.ReadFile("testdata/events.jsonl")
	check(t, err)
	diff(t, "events", got.String(), string(want))

	source, err := os.ReadFile("events_kind.go")
	check(t, err)
	var declared []string
	for _, m := range regexp.MustCompile(`kind\(\) string +{ return "(\w+)" }`).FindAllStringSubmatch(string(source), -1) {
		declared = append(declared, m[1])
	}
	slices.Sort(types)
	slices.Sort(declared)
	diff(t, "types of events", types, declared)
}

// What a caller does to the calls of a ModelEnd changes neither the calls nor the history.
func TestCallsOfAnEventAreACopy(t *testing.T) {
	got := ""
	work := adapter.Func("work", "", func(_ context.Context, in struct{ X string }) (string, error) {
		got = in.X
		return "ok", nil
	}, &adapter.FuncOptions{ReadOnly: true})
	a := newAgent(t, play(uses(toolCall("1", "work", `{"X":"mine"}`)), says("done")), &agent.Options{Tools: []adapter.Source{work}})
	result := &agent.Result{}
	for e := range each(t, a.Events(t.Context(), human("go"))) {
		if end, ok := e.(*agent.ModelEnd); ok {
			for i := range end.ToolCalls {
				end.ToolCalls[i] = run.Part{Type: run.PartCall, ID: "2", Name: "other", Arguments: `{"X":"theirs"}`}
			}
		}
		result.Add(e)
	}
	diff(t, "argument", got, "mine")
	diff(t, "history", lines(history(result)), []string{`ai: 1=work({"X":"mine"})`, `tool: 1/work→"ok"`, `ai: "done"`})
}
