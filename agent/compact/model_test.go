package compact_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/price"
)

// model answers with one text or error, and keeps what it was asked.
type model struct {
	answer string
	err    error
	asked  []llms.MessageContent
}

func (m *model) GenerateContent(_ context.Context, messages []llms.MessageContent, _ ...llms.CallOption) (*llms.ContentResponse, error) {
	m.asked = messages
	return &llms.ContentResponse{Choices: []*llms.ContentChoice{{
		Content: m.answer, GenerationInfo: map[string]any{"Model": "mini-1", "PromptTokens": 100, "CompletionTokens": 20},
	}}}, m.err
}

func (m *model) Call(context.Context, string, ...llms.CallOption) (string, error) {
	return "", errors.New("not used")
}

func TestByModel(t *testing.T) {
	m := &model{answer: "They compared logs."}
	prices := &price.Table{Date: "2026-11-22", Models: []price.Price{{Model: "mini*", Currency: "USD", Input: 1_000_000, Output: 2_000_000}}}
	old := []run.Message{
		run.Text(run.User, "Compare."),
		{Role: run.Assistant, Parts: []run.Part{
			{Type: run.ReasoningPart, Text: "hm"}, {Type: run.TextPart, Text: "I look."}, {Type: run.CallPart, ID: "1", Name: "read", Arguments: `{"n":1}`}}},
		{Role: run.Tool, Parts: []run.Part{{Type: run.ResultPart, ID: "1", Name: "read", Text: strings.Repeat("x", 5000)}}},
		{Role: run.User, Parts: []run.Part{picture()}},
	}
	text, used, err := compact.ByModel(m, &compact.ModelOptions{Prices: prices})(t.Context(), old)
	if err != nil || text != "They compared logs." {
		t.Fatalf("got %q, %v", text, err)
	}
	if diff := cmp.Diff(run.Spent{Turns: 1, Input: 100, Output: 20, Total: 120, Cost: map[string]int64{"USD": 140}}, used); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	got := m.asked[1].Parts[0].(llms.TextContent).Text
	head, _, _ := strings.Cut(got, "xxx")
	if want := "user: Compare.\n\nassistant: I look.\n\nassistant calls read: {\"n\":1}\n\nresult of read: "; head != want {
		t.Errorf("the model got %q, want %q", head, want)
	}
	if !strings.HasSuffix(got, "user: [image: image/png]\n\n") || len(got) > 1300 {
		t.Errorf("the model got %q", got)
	}
}

func TestByModelOptions(t *testing.T) {
	m := &model{answer: "ok"}
	_, used, err := compact.ByModel(m, &compact.ModelOptions{Prompt: "Be brief.", MaxBytes: 1000})(t.Context(), []run.Message{run.Text(run.User, strings.Repeat("é", 10_000))})
	if err != nil || used.Cost != nil {
		t.Errorf("got %+v, %v, want no cost without prices", used, err)
	}
	if got := m.asked[0].Parts[0].(llms.TextContent).Text; got != "Be brief." {
		t.Errorf("got the prompt %q", got)
	}
	if got := m.asked[1].Parts[0].(llms.TextContent).Text; len(got) > 1000 || strings.ToValidUTF8(got, "") != got {
		t.Errorf("the model got %d bytes, want at most 1000 in whole characters", len(got))
	}
	down := &model{err: errors.New("down")}
	if _, _, err := compact.ByModel(down, nil)(t.Context(), nil); !errors.Is(err, down.err) {
		t.Errorf("got %v, want %v", err, down.err)
	}
}
