package convert

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/fake"
)

func TestOfPackage(t *testing.T) {
	const providers = "github.com/tmc/langchaingo/llms/"
	for path, want := range map[string]Dialect{
		providers + "openai":          OpenAI,
		providers + "anthropic":       Anthropic,
		providers + "bedrock":         Bedrock,
		providers + "googleai":        Google,
		providers + "googleai/vertex": Google,
		providers + "mistral":         Mistral,
		"example.com/fork/anthropic":  OpenAI,
	} {
		if got := ofPackage(path); got != want {
			t.Errorf("ofPackage(%q) = %q, want %q", path, got, want)
		}
	}
}

func TestFor(t *testing.T) {
	claude := new(anthropic.LLM)
	for _, test := range []struct {
		dialect Dialect
		model   llms.Model
		want    Dialect
	}{
		{Auto, claude, Anthropic}, {Auto, fake.NewFakeLLM(nil), OpenAI}, {Auto, nil, OpenAI}, {Google, claude, Google},
	} {
		if got, err := test.dialect.For(test.model); got != test.want || err != nil {
			t.Errorf("%q.For(%T) = %q, %v, want %q", test.dialect, test.model, got, err, test.want)
		}
	}
	if got, err := Dialect("latin").For(claude); err == nil {
		t.Errorf("got dialect %q, want an error", got)
	}
}

func TestToolsForGoogle(t *testing.T) {
	tools := []llms.Tool{
		{Type: "function", Function: &llms.FunctionDefinition{Name: "a", Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"type":"string"}}}`)}},
		{Type: "function", Function: &llms.FunctionDefinition{Name: "b", Parameters: json.RawMessage(`broken`)}},
		{Type: "function"},
	}
	want := []llms.Tool{
		{Type: "function", Function: &llms.FunctionDefinition{Name: "a", Parameters: map[string]any{
			"type": "object", "properties": map[string]any{"x": map[string]any{"type": "string"}},
		}}},
		{Type: "function", Function: &llms.FunctionDefinition{Name: "b", Parameters: json.RawMessage(`broken`)}},
		{Type: "function"},
	}
	if diff := cmp.Diff(want, Google.Tools(tools)); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if _, ok := tools[0].Function.Parameters.(json.RawMessage); !ok {
		t.Error("the caller's definition was changed")
	}
	if got := OpenAI.Tools(tools); &got[0] != &tools[0] {
		t.Error("got other tools for OpenAI, want the same")
	}
}
