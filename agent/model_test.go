package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
)

// streams answers in pieces when it is asked to stream.
func streams(pieces ...string) step {
	return func(_ context.Context, p prompt) (*model.Response, error) {
		for _, piece := range pieces {
			if err := p.Stream(model.Delta{Text: piece}); err != nil {
				return nil, err
			}
		}
		return replied(textPart(strings.Join(pieces, ""))), nil
	}
}

// A model may not stream although it was asked to; what it says is then told once, at the end.
func TestStreaming(t *testing.T) {
	for name, test := range map[string]struct {
		model agent.Model
		want  string
	}{
		"whole": {play(streams("a", "", "b")), ""}, "streaming": {play(streams("a", "", "b")).streaming(), "a|b|"},
		"not asked": {play(streams("a", "", "b")).streaming(), ""}, "does not": {play(says("ab")).streaming(), ""},
	} {
		t.Run(name, func(t *testing.T) {
			var got string
			a := newAgent(t, test.model, &agent.Options{Model: agent.ModelSettings{NoStreaming: name == "not asked"}})
			events, _ := played(t, a.Events(t.Context(), human("go")))
			for _, e := range of[*agent.TextDelta](events) {
				got += e.Text + "|"
			}
			end := of[*agent.ModelEnd](events)[0]
			check.Same(t, "model end", []any{end.Text, end.Streamed}, []any{"ab", test.want != ""})
			check.Equal(t, "streamed", got, test.want)
		})
	}
}

// Reasoning comes as it arrives, whole at the end, and stays in the history. A call that has shown some is not made again.
func TestReasoningDelta(t *testing.T) {
	calls := 0
	busy := &model.Error{Kind: model.ErrorRateLimit, Err: errors.New("slow down")}
	model := play(func(_ context.Context, p prompt) (*model.Response, error) {
		calls++
		for _, piece := range []string{"I ", "", "think"} {
			if err := p.Stream(model.Delta{Reasoning: piece}); err != nil {
				return nil, err
			}
		}
		if p.Request.System != "" {
			return nil, busy
		}
		return replied(run.Part{Type: run.PartReasoning, Text: "I think"}, textPart("x")), nil
	}).streaming()
	var got []string
	for e := range each(t, newAgent(t, model, nil).Events(t.Context(), human("go"))) {
		switch e := e.(type) {
		case *agent.ReasoningDelta:
			got = append(got, e.Text)
		case *agent.ModelEnd:
			got = append(got, "end: "+e.Reasoning)
		case *agent.TurnEnd:
			got = append(got, "kept: "+e.Messages[0].Parts[0].Text)
		}
	}
	check.Same(t, "reasoning", got, []string{"I ", "think", "end: I think", "kept: I think"})

	calls = 0
	check.Is(t, check.Err(newAgent(t, model, &agent.Options{System: "fail"}).Run(t.Context(), human("go"))), busy)
	check.Equal(t, "calls", calls, 1)
}

func TestModelSettings(t *testing.T) {
	m, cold := play(says("x")), 0.0
	mustRun(t, newAgent(t, m, &agent.Options{Model: agent.ModelSettings{MaxTokens: 7, Temperature: &cold, Effort: "low"}}), human("go"))
	mustRun(t, newAgent(t, m, nil), human("go"))
	got, other := m.prompts()[0].Request, m.prompts()[1].Request
	check.That(t, got.MaxTokens == 7 && got.Temperature == &cold && got.Effort == "low" && !got.Stream && got.CacheKey != "" && got.CacheKey != other.CacheKey, "got %+v", got)
}

func TestModelNamesItself(t *testing.T) {
	model := play(changed(says("x"), func(r *model.Response) { r.Message.Model = "m-1-2026" })).called("m-1")
	check.Equal(t, "model", eventOf[*agent.ModelEnd](t, newAgent(t, model, nil)).Model, "m-1-2026")
}
