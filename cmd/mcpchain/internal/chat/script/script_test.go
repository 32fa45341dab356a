package script

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/lines"
	"github.com/mcpchain/mcpchain/internal/check"
)

// A turn has the sum of its model calls, and each tool call with its outcome.
func TestTurn(t *testing.T) {
	var out bytes.Buffer
	w := New(&out, lines.New(io.Discard, io.Discard, lines.NewInput(t.Context(), strings.NewReader(""), false), lines.Options{}))
	w.Begin()
	for range 2 {
		w.Show(&agent.ModelEnd{Model: "m", Usage: run.Usage{Turns: 1, Input: 10, Output: 3, Cached: 4, Reasoning: 2, Cost: map[string]int64{"EUR": 7}}})
	}
	good := agent.Call{ID: "1", Name: "s__add", Server: "s", Tool: "add", Arguments: `{"a":1}`}
	w.Show(&agent.ToolEnd{Call: good, Result: &adapter.Result{Text: "2"}, Duration: 1500 * time.Microsecond})
	bad := agent.Call{ID: "2", Name: "none", Arguments: "{"}
	w.Show(&agent.ToolEnd{Call: bad, Result: &adapter.Result{IsError: true, Text: "no such tool"}})
	w.Show(&agent.Output{Text: "two <b>\u202e", StopReason: agent.StopOutput})
	check.Must(t, w.Close())
	check.That(t, !strings.ContainsRune(out.String(), '\u202e') && strings.Contains(out.String(), "<b>") && strings.Count(out.String(), "\n") == 1,
		"got %q, want one line without invisible characters, and < as it is", out.String())
	var got map[string]any
	check.Must(t, json.Unmarshal(out.Bytes(), &got))
	delete(got, "duration_ms")
	want := map[string]any{
		"answer": "two <b>\u202e", "stop_reason": "answer", "error": nil, "model": "m", "problems": []any{},
		"usage": map[string]any{
			"model_calls": 2.0, "input_tokens": 20.0, "output_tokens": 6.0, "cached_tokens": 8.0, "reasoning_tokens": 4.0, "sampling_requests": 0.0, "sampling_tokens": 0.0,
			"cost_micros": map[string]any{"EUR": 14.0},
		},
		"calls": []any{
			map[string]any{"server": "s", "tool": "add", "id": "1", "arguments": map[string]any{"a": 1.0}, "denied": false, "is_error": false, "text": "2", "duration_ms": 1.5},
			map[string]any{"server": "", "tool": "none", "id": "2", "arguments": "{", "denied": false, "is_error": true, "text": "no such tool", "duration_ms": 0.0},
		},
	}
	check.Same(t, "", got, want)
}

// An answer that is cut off is told as such, in the object and to who looks on.
func TestCutAnswer(t *testing.T) {
	var out, errs bytes.Buffer
	w := New(&out, lines.New(io.Discard, &errs, lines.NewInput(t.Context(), strings.NewReader(""), false), lines.Options{}))
	w.Begin()
	w.Show(&agent.Output{Text: "half", StopReason: agent.StopOutput, FinishReason: model.FinishLength})
	check.Must(t, w.Close())
	check.Contains(t, "the object", out.String(), `"stop_reason":"length"`)
	check.Contains(t, "the notes", errs.String(), "the answer is cut off")
}
