package compact_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/price"
)

// TestSummarize follows a run through two summaries.
func TestSummarize(t *testing.T) {
	var seen []string
	c := compact.SummarizeWith(func(_ context.Context, old []run.Message) (string, run.Usage, error) {
		var b strings.Builder
		for _, m := range old {
			b.WriteString(m.Text() + "/")
			for _, p := range m.Parts {
				b.WriteString(p.ID + " ")
			}
		}
		seen = append(seen, b.String())
		return fmt.Sprintf(" summary %d ", len(seen)), run.Usage{Turns: 1, Total: 5}, nil
	}, &compact.Options{Window: 5000, KeepTurns: 1})
	h := turns(60, 250)
	for i := range 2 {
		got, err := c(t.Context(), h, compact.Budget{})
		check.Require(t, err == nil && got != nil && got.Usage.Total == 5, "%v %v", got, err)
		summary := run.Part{Type: run.PartSummary, Text: fmt.Sprintf("[Summary of older messages]\nsummary %d", i+1)}
		want := []run.Message{run.Text(run.RoleUser, "go"), {Role: run.RoleUser, Parts: []run.Part{summary}}}
		check.Same(t, fmt.Sprint("summary ", i+1), got.Messages, want)
		h = append(append(slices.Clone(got.Messages), h[got.Replaced:]...), turns(60, 250)[1:]...)
	}
	for i, want := range []string{"go/ /0 /0 /1 /1 ", "go/ [Summary of older messages]\nsummary 1/ /"} {
		check.That(t, strings.HasPrefix(seen[i], want), "summary %d is of %q, want it to begin with %q", i+1, seen[i], want)
	}
}

func TestSummarizerFails(t *testing.T) {
	down := errors.New("down")
	for _, test := range []struct {
		text string
		err  error
		want string
	}{{"", down, "down"}, {" \n", nil, "summary is empty"}} {
		c := compact.SummarizeWith(func(context.Context, []run.Message) (string, run.Usage, error) {
			return test.text, run.Usage{Total: 5}, test.err
		}, &compact.Options{Window: 1000})
		got, err := c(t.Context(), turns(60, 250), compact.Budget{})
		check.That(t, err != nil && strings.Contains(err.Error(), test.want) && (test.err == nil || errors.Is(err, down)),
			"got %v, want %q", err, test.want)
		check.That(t, got != nil && got.Replaced == 0 && got.Usage.Total == 5, "got %+v, want the usage alone", got)
	}
}

// TestLongSummary bounds what a summarizer returns.
func TestLongSummary(t *testing.T) {
	c := compact.SummarizeWith(func(context.Context, []run.Message) (string, run.Usage, error) {
		return strings.Repeat("x", 1<<20), run.Usage{}, nil
	}, &compact.Options{Window: 1000})
	n := len(check.Value(c(t.Context(), turns(60, 250), compact.Budget{}))(t).Messages[1].Text())
	check.That(t, n <= 17<<10, "the summary has %d bytes, want at most 17 KiB", n)
}

func TestSummarizeWithoutAModel(t *testing.T) {
	defer func() {
		check.Equal(t, "panic", recover(), any("compact: Summarize: the model is nil: check the error of its constructor"))
	}()
	compact.Summarize(nil, nil)
}

func plays(answer string, err error) *agenttest.Model {
	return agenttest.PlayRepeating(func(context.Context, agenttest.Turn) (*model.Response, error) {
		m := run.Text(run.RoleAssistant, answer)
		m.Model = "mini-1"
		return &model.Response{Message: m, Usage: run.Usage{Input: 100, Output: 20, Total: 120}}, err
	})
}

func TestByModel(t *testing.T) {
	m := plays("They compared logs.", nil).WithInfo(model.Info{Name: "large", OtherNames: []string{"mini"}, NoStreaming: true}) // as of agent.Fallback
	prices := &price.Table{Date: "2026-11-22", Models: []price.Price{
		{Model: "large", Currency: "USD", Input: 9_000_000, Output: 9_000_000}, {Model: "mini", Currency: "USD", Input: 1_000_000, Output: 2_000_000},
	}}
	old := []run.Message{
		run.Text(run.RoleUser, "Compare."),
		{Role: run.RoleAssistant, Parts: []run.Part{
			{Type: run.PartReasoning, Text: "hm"}, {Type: run.PartText, Text: "I look."}, {Type: run.PartCall, ID: "1", Name: "read", Arguments: `{"n":1}`}}},
		{Role: run.RoleTool, Parts: []run.Part{{Type: run.PartResult, ID: "1", Name: "read", Text: strings.Repeat("x", 5000)}}},
		{Role: run.RoleUser, Parts: []run.Part{picture()}},
	}
	text, used, err := compact.ByModel(m, &compact.Options{Prices: prices})(t.Context(), old)
	check.Must(t, err)
	check.Equal(t, "summary", text, "They compared logs.")
	check.Same(t, "usage", used, run.Usage{Turns: 1, Input: 100, Output: 20, Total: 120, Cost: map[string]int64{"USD": 140}})
	got := m.Turns()[0].Request.Messages[0].Text()
	head, _, _ := strings.Cut(got, "xxx")
	check.Equal(t, "", head, "user: Compare.\n\nassistant: I look.\n\nassistant calls read: {\"n\":1}\n\nresult of read: ")
	check.That(t, strings.HasSuffix(got, "user: [image: image/png]\n\n") && len(got) <= 1300, "the model got %q", got)
}

func TestByModelOptions(t *testing.T) {
	m := plays("ok", nil)
	_, used, err := compact.ByModel(m, &compact.Options{Prompt: "Be brief."})(t.Context(), []run.Message{run.Text(run.RoleUser, strings.Repeat("é", 150_000))})
	check.That(t, err == nil && used.Cost == nil, "got %+v, %v, want no cost without prices", used, err)
	asked := m.Turns()[0].Request
	check.Equal(t, "prompt", asked.System, "Be brief.")
	got := asked.Messages[0].Text()
	check.That(t, len(got) <= 200_000 && strings.ToValidUTF8(got, "") == got, "the model got %d bytes, want at most 200,000 in whole characters", len(got))
	down := errors.New("down")
	_, _, err = compact.ByModel(plays("", down), nil)(t.Context(), nil)
	check.Is(t, err, down)
	refuses := agenttest.PlayRepeating(func(context.Context, agenttest.Turn) (*model.Response, error) {
		return &model.Response{Message: run.Text(run.RoleAssistant, "I can't."), Finish: model.FinishRefusal, Usage: run.Usage{Total: 9}}, nil
	})
	_, used, err = compact.ByModel(refuses, nil)(t.Context(), nil)
	check.That(t, used.Total == 9, "got %+v, want what the refusal cost", used)
	check.Text(t, err, `call model: it refused: "I can't."`)
}
