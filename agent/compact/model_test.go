package compact_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/price"
)

// plays makes a model that gives one answer, or fails.
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
	if got := asked.Messages[0].Text(); len(got) > 200_000 || strings.ToValidUTF8(got, "") != got {
		t.Errorf("the model got %d bytes, want at most 200,000 in whole characters", len(got))
	}
	down := errors.New("down")
	_, _, err = compact.ByModel(plays("", down), nil)(t.Context(), nil)
	check.Is(t, err, down)
}
