package agent_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/price"
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

// The next model is asked if one cannot answer, and only if nothing was shown.
func TestFallback(t *testing.T) {
	fails := func(kind model.ErrorKind, shown string) step {
		return shows(shown, breaks(&model.Error{Kind: kind, Retried: true, Err: errors.New("sorry")}))
	}
	for name, tt := range map[string]struct {
		first step
		next  bool
	}{
		"overloaded": {fails(model.ErrorRateLimit, ""), true}, "unreachable": {fails(model.ErrorUnavailable, ""), true},
		"key refused": {fails(model.ErrorAuth, ""), true}, "no such model": {fails(model.ErrorNotFound, ""), true},
		"after a text": {fails(model.ErrorUnavailable, "He"), false}, "too late": {fails(model.ErrorTimeout, ""), false},
		"refused content": {fails(model.ErrorRefused, ""), false}, "invalid": {fails(model.ErrorInvalid, ""), false},
		"it answers": {says("hello"), false},
	} {
		synctestRun(t, name, func(t *testing.T) {
			first, second := play(tt.first).as(model.Info{Name: "a"}), play(uses(toolCall("1", "x", "{}")), says("hello")).as(model.Info{Name: "b"})
			got, err := newAgent(t, agent.Fallback(first, second), nil).Run(t.Context(), human("go"))
			if !tt.next {
				answered := name == "it answers"
				check.That(t, answered == (err == nil) && len(second.prompts()) == 0 && (!answered || len(got.Warnings) == 0), "got %v after %d calls of the second model", err, len(second.prompts()))
				return
			}
			check.Must(t, err)
			// The run stays with the model that answers.
			check.Same(t, "answer, whose it is, and the calls of both",
				[]any{got.Output, got.Messages[1].Model, len(first.prompts()), len(second.prompts())}, []any{"hello", "b", 1, 2})
			told := warningsOf(got)
			check.That(t, len(told) == 1 && strings.Contains(told[0], "model a failed, so b was asked: sorry"), "got the warnings %q", told)
		})
	}
}

// Each change of the model is reported, with what the model itself reports; if all fail, the run's error has each
// failure. The model that has answered before is asked first the next time.
func TestFallbackOfAll(t *testing.T) {
	down := func(why string) step {
		return breaks(&model.Error{Kind: model.ErrorUnavailable, Retried: true, Err: errors.New(why)})
	}
	warns := changed(says("hello"), func(r *model.Response) { r.Warning = "an option was left out" })
	a, b := play(down("a is down"), says("a is back")).called("a"), play(uses(toolCall("1", "x", "{}")), down("b is down")).called("b")
	got := mustRun(t, newAgent(t, agent.Fallback(a, b), nil), human("go"))
	check.Same(t, "answer, and warnings", []any{got.Output, len(warningsOf(got))}, []any{"a is back", 2})
	none, poor := play(down("no key")).called("a"), play(down("no money")).called("b")
	check.Same(t, "warnings", warningsOf(mustRun(t, newAgent(t, agent.Fallback(none, poor, play(warns).called("c")), nil), human("go"))), []string{
		"model a failed, so b was asked: no key; model b failed, so c was asked: no money; an option was left out",
	})
	_, err := newAgent(t, agent.Fallback(none, poor, play(down("no network"))), nil).Run(t.Context(), human("go"))
	check.Text(t, err, "no network; before that, model a failed, so b was asked: no key; model b failed, so 3 was asked: no money")
}

// Under a limit each model gets at most its own bound of a reply, as that of another may be more than it has, and none may
// write more than is reserved, also if its own bound is unknown, or would be higher for the effort.
func TestFallbackUnderALimit(t *testing.T) {
	down := breaks(&model.Error{Kind: model.ErrorUnavailable, Retried: true, Err: errors.New("down")})
	for _, tt := range []struct {
		limit                   int64
		own, other, first, most int
	}{{1_000_000, 5000, 7000, 5000, 7000}, {1_000_000, 5000, 0, 5000, 8192}, {9000, 5000, 100, 4999, 100}, {2000, 5000, 0, 1999, 1999}} {
		first, next := play(down).as(model.Info{Name: "a", MaxTokens: tt.own}), play(using(says("hello"), 10, 5)).as(model.Info{Name: "b", MaxTokens: tt.other})
		mustRun(t, newAgent(t, agent.Fallback(first, next), &agent.Options{Limits: run.Limits{Tokens: tt.limit}, Model: agent.ModelSettings{Effort: "max"}}), human("go"))
		for i, m := range []*script{first, next} {
			got, most := m.prompts()[0].Request.MaxTokens, []int{tt.first, tt.most}[i]
			check.That(t, got <= most && (got > 0) == (most > 0), "%+v: got the bound %d, want at most %d", tt, got, most)
		}
	}
}

// Several models are described by what all of them take, and each needs a price.
func TestFallbackInfo(t *testing.T) {
	yes, images := func(bool) bool { return true }, func(mime string) bool { return mime == "image/png" }
	first := play(says("x")).as(model.Info{Name: "m-1", Profile: "anthropic", Window: 200, MaxTokens: 5, Formats: yes})
	second := play(says("x")).as(model.Info{Name: "other", Profile: "openai", Window: 100, MaxTokens: 7, Media: images, ToolsErr: errors.New("no tools")})
	got := agent.Fallback(first, second).Info()
	check.That(t, got.Name == "m-1" && got.Profile == "anthropic" && got.Window == 100 && got.MaxTokens == 7 && got.ToolsErr != nil && slices.Equal(got.OtherNames, []string{"other"}) && !got.Formats(false) && got.Media("image/png") && !got.Media("image/gif"),
		"got %+v", got)
	func() {
		defer func() { check.Contains(t, "the panic", fmt.Sprint(recover()), "model 2 is a nil *openaimodel.Model") }()
		agent.Fallback(first, (*openaimodel.Model)(nil))
	}()
	limits := run.Limits{Cost: map[string]int64{"USD": 1000}}
	check.Text(t, check.Err(agent.New(agent.Fallback(first, second), &agent.Options{Model: agent.ModelSettings{Prices: prices}, Limits: limits})),
		`"other" has no price`)
}

// A reply costs what its own model costs, also if the host names it otherwise, and whatever the order of the models.
func TestFallbackCost(t *testing.T) {
	table := &price.Table{Date: "2026-11-22", Models: []price.Price{
		{Model: "m", Currency: "USD", Input: 9_000_000, Output: 9_000_000}, {Model: "m-small", Currency: "USD", Input: 1_000_000, Output: 2_000_000},
	}}
	down := play(breaks(&model.Error{Kind: model.ErrorAuth, Err: errors.New("no key")})).called("m")
	small := func(replies string) agent.Model {
		return play(changed(counted(says("hello")), func(r *model.Response) { r.Message.Model = replies })).called("m-small")
	}
	dated, deployed := small("m-small-2026-10-01"), small("vendor-9b")
	for _, models := range [][]agent.Model{{down, dated}, {dated, down}, {down, deployed}, {down, agent.Fallback(down, deployed)}} {
		got := mustRun(t, newAgent(t, agent.Fallback(models...), &agent.Options{Model: agent.ModelSettings{Prices: table}, Limits: run.Limits{Cost: map[string]int64{"USD": 1_000_000}}}), human("go"))
		check.Equal(t, "cost, that of the small model", got.Usage.Cost["USD"], 200)
		compactor := compact.Summarize(agent.Fallback(models...), &compact.Options{Window: 1000, KeepTurns: 1, Prices: table})
		history := []run.Message{run.Text(run.RoleUser, "go")}
		for range 10 {
			history = append(history, run.Text(run.RoleAssistant, strings.Repeat("x", 1000)))
		}
		short, err := compactor(t.Context(), history, compact.Budget{})
		check.That(t, err == nil && short.Usage.Cost["USD"] == 200, "got a summary for %+v, %v, want the cost of the small model", short, err)
	}
}
