package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// replayable are the types of events that have a record.
var replayable = map[string]bool{
	"model_start": true, "model_end": true, "tool_start": true, "tool_end": true, "asked": true, "answered": true,
	"compacted": true, "turn_end": true, "suspended": true, "answer": true,
}

// written is an event as JSON without what no record has.
type written struct {
	Seq  uint64
	JSON string
}

// write writes the events that have a record, and returns the last question among them.
func write(t *testing.T, events iter.Seq2[agent.Event, error]) (out []written, asked *run.Ask) {
	t.Helper()
	out = []written{}
	for e, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		if q, ok := e.(*agent.Asked); ok {
			asked = q.Ask
		}
		data, err := agent.MarshalEvent(e)
		if err != nil {
			t.Fatal(err)
		}
		var members map[string]any
		if err := json.Unmarshal(data, &members); err != nil {
			t.Fatal(err)
		}
		delete(members, "duration_ns")
		delete(members, "streamed")
		if data, err = json.Marshal(members); err != nil {
			t.Fatal(err)
		}
		if replayable[e.Type()] {
			out = append(out, written{uint64(members["seq"].(float64)), string(data)})
		}
	}
	return out, asked
}

// What is replayed is what happened, from each number on.
func TestReplay(t *testing.T) {
	asks := func(ctx context.Context, p prompt) (*llms.ContentResponse, error) {
		if p.messages[len(p.messages)-1].Role == llms.ChatMessageTypeHuman {
			return uses(toolCall("1", "ask", `{}`))(ctx, p)
		}
		return says("helped")(ctx, p)
	}
	for name, tt := range map[string]struct {
		model []step
		make  func(*agent.Agent, string, string) (*agent.SubAgent, error)
		opts  agent.Options
	}{
		"sub-agent": {[]step{
			uses(toolCall("a", "echo", `{ "x": 1 }`), toolCall("b", "none", `{}`)), uses(toolCall("c", "helper", `{"task":"help"}`)), says("done"),
		}, agent.Sub, agent.Options{}},
		"handoff": {[]step{uses(toolCall("a", "helper", `{"task":"take it"}`))}, agent.Handoff, agent.Options{}},
		"compaction": {[]step{uses(toolCall("a", "ask", `{}`)), says("done")}, agent.Sub, agent.Options{
			Compact: func(_ context.Context, history []run.Message, _ compact.Budget) (*run.Compacted, error) {
				if len(history) != 1 {
					return nil, nil
				}
				return &run.Compacted{Replaced: 1, Messages: []run.Message{run.Text(run.User, "go on"), run.Text(run.User, "please")}}, nil
			},
		}},
		"limit": {[]step{uses(toolCall("a", "ask", `{}`)), says("done")}, agent.Sub, agent.Options{Limits: run.Limits{Turns: 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			store := run.NewMemory()
			toolset, _ := open(t, &adapter.Options{Client: &mcpclient.Options{Elicitation: agent.OnlyInRuns()}})
			helper := withTools(t, play(asks), toolset, &agent.Options{CallOptions: []llms.CallOption{llms.WithModel("small")}})
			tt.opts.Store, tt.opts.Tools, tt.opts.Stream = store, []adapter.Source{toolset}, agent.StreamAlways
			a := boss(t, play(tt.model...), sub(t, helper, tt.make), tt.opts)
			live, q := write(t, a.Events(t.Context(), human("go"), agent.In(theRun.ID)))
			if q == nil {
				t.Fatal("the run asks nothing")
			}
			answer, err := q.Accept(map[string]any{"name": "Ann"})
			if err != nil {
				t.Fatal(err)
			}
			rest, _ := write(t, a.Resume(t.Context(), theRun, answer))
			live = append(live, rest...)
			log, err := store.Load(t.Context(), theRun)
			if err != nil {
				t.Fatal(err)
			}
			if log.Head.Status != run.Finished {
				t.Fatalf("the run is %s", log.Head.Status)
			}
			for after := range log.Head.Seq + 1 {
				for len(live) > 0 && live[0].Seq <= after {
					live = live[1:]
				}
				replayed, _ := write(t, a.Replay(t.Context(), theRun, after))
				diff(t, fmt.Sprint("after ", after), replayed, live)
			}
		})
	}
}

// A structured answer is replayed without a turn of its own.
func TestReplayOfOutput(t *testing.T) {
	store := run.NewMemory()
	a := newAgent(t, play(uses(toolCall("1", "final_answer", `{"n":7}`))), &agent.Options{Store: store})
	if _, _, err := agent.As[struct {
		N int `json:"n"`
	}](t.Context(), a, human("go"), agent.In(theRun.ID)); err != nil {
		t.Fatal(err)
	}
	var types []string
	for e, err := range a.Replay(t.Context(), theRun, 0) {
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, e.Type())
	}
	diff(t, "events", types, []string{"model_start", "model_end", "tool_start", "tool_end", "turn_end", "answer"})
}

// A run that cannot be read is an error, and leaving the range ends the replay.
func TestReplayErrors(t *testing.T) {
	store := run.NewMemory()
	a := newAgent(t, play(says("done")), &agent.Options{Store: store})
	if _, err := a.Run(t.Context(), human("go"), agent.In(theRun.ID)); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		agent *agent.Agent
		key   run.Key
		want  error // nil: any
	}{
		"no run":        {a, run.Key{ID: "other"}, run.ErrNotFound},
		"no store":      {newAgent(t, play(says("")), nil), theRun, nil},
		"another agent": {newAgent(t, play(says("")), &agent.Options{Name: "other", Store: store}), theRun, nil},
	} {
		var got []error
		for e, err := range tt.agent.Replay(t.Context(), tt.key, 0) {
			if e != nil {
				t.Errorf("%s: got the event %s", name, e.Type())
			}
			got = append(got, err)
		}
		if len(got) != 1 || got[0] == nil || tt.want != nil && !errors.Is(got[0], tt.want) {
			t.Errorf("%s: got %v, want %v", name, got, tt.want)
		}
	}
	for range a.Replay(t.Context(), theRun, 0) {
		break
	}
}
