package run_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/agent/run"
)

var start = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

// records numbers changes, a second apart.
func records(changes ...run.Change) []run.Record {
	out := make([]run.Record, len(changes))
	for i, c := range changes {
		out[i] = run.Record{Seq: uint64(i + 1), At: start.Add(time.Duration(i) * time.Second), Change: c}
	}
	return out
}

// turn is a run with one tool call, which a person allows.
func turn() []run.Record {
	return records(
		&run.Begun{V: run.Version, ID: "run_1", Messages: []run.Message{run.Text(run.User, "go")}},
		&run.Called{},
		&run.Replied{
			Message: run.Message{Role: run.Assistant, Parts: []run.Part{{Type: run.CallPart, ID: "1", Name: "echo", Arguments: `{"x":1}`}}},
			Calls:   []run.Call{{ID: "1", Key: "k", Name: "echo", At: run.Proposed, Asked: `{"x":1}`}},
			Usage:   run.Spent{Turns: 1, Input: 10, Output: 2, Total: 12},
		},
		&run.Opened{Ask: run.Ask{ID: "ask_1", Kind: run.AskApproval, Call: "1", Survives: true}},
		&run.Suspended{},
		&run.Answered{Answer: run.Answer{Ask: "ask_1", Action: run.Allow}},
		&run.Woken{},
		&run.Decided{Call: "1", Decision: run.Decision{Allow: true}, Args: json.RawMessage(`{"x":1}`)},
		&run.Intent{Call: "1"},
		&run.Outcome{Call: "1", Result: run.Part{Type: run.ResultPart, ID: "1", Name: "echo", Text: "1"}},
		&run.TurnEnded{},
		&run.Called{},
		&run.Replied{Message: run.Text(run.Assistant, "done"), Finish: "stop", Usage: run.Spent{Turns: 1, Total: 3}},
		&run.Ended{Status: run.Finished, Stop: "answer", Answer: "done"},
	)
}

// TestFoldOfATurn follows a run to its answer, by way of JSON.
func TestFoldOfATurn(t *testing.T) {
	data, err := json.Marshal(turn())
	if err != nil {
		t.Fatal(err)
	}
	var read []run.Record
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	s, err := run.Fold(read)
	if err != nil {
		t.Fatal(err)
	}
	if s.Status != run.Finished || s.Answer != "done" || s.Spent.Total != 15 || s.Spent.Calls != 1 || len(s.Asks) != 0 {
		t.Errorf("got %+v", s)
	}
	var roles []run.Role
	for _, m := range s.History {
		roles = append(roles, m.Role)
	}
	if want := []run.Role{run.User, run.Assistant, run.Tool, run.Assistant}; !cmp.Equal(roles, want) {
		t.Errorf("got %v, want %v", roles, want)
	}
}
