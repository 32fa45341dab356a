package anthropicmodel_test

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/tmc/langchaingo/chains"
	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/prompts"

	"github.com/mcpchain/mcpchain/agent/anthropicmodel"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/fakehost"
)

// TestLangchaingo uses the model in langchaingo's own ways: with tools, and in a chain.
func TestLangchaingo(t *testing.T) {
	h := &fakehost.Claude{Key: "key-1", Reply: func(r *fakehost.ClaudeRequest) []fakehost.Block {
		if len(r.Messages) == 1 && len(r.Tools) > 0 {
			return thinkAndCall(r)
		}
		return []fakehost.Block{{Type: "text", Text: "It is sunny."}}
	}}
	var m llms.Model = serve(t, h, "claude-opus-5", anthropicmodel.Options{})
	messages := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeSystem, "Be brief."), llms.TextParts(llms.ChatMessageTypeHuman, "Weather?")}
	tools := llms.WithTools([]llms.Tool{{Type: "function", Function: &llms.FunctionDefinition{Name: "weather", Parameters: map[string]any{"type": "object"}}}})
	streamed := ""
	got, err := m.GenerateContent(t.Context(), messages, tools, llms.WithTemperature(0), llms.WithStreamingFunc(func(_ context.Context, piece []byte) error {
		streamed += string(piece)
		return nil
	}))
	check.Must(t, err)
	choice := got.Choices[0]
	check.That(t, choice.Content == "Let me see." && streamed == choice.Content && len(choice.ToolCalls) == 2 && choice.ReasoningContent == "Two cities, two calls." && choice.GenerationInfo["PromptTokens"] != 0,
		"got %+v, streamed %q", choice, streamed)
	answer := llms.MessageContent{Role: llms.ChatMessageTypeAI, Parts: []llms.ContentPart{llms.TextContent{Text: choice.Content}}}
	results := llms.MessageContent{Role: llms.ChatMessageTypeTool}
	for _, call := range choice.ToolCalls {
		answer.Parts = append(answer.Parts, call)
		results.Parts = append(results.Parts, llms.ToolCallResponse{ToolCallID: call.ID, Name: "weather", Content: "sun"})
	}
	got, err = m.GenerateContent(t.Context(), append(messages, answer, results), tools)
	check.That(t, err == nil && got.Choices[0].Content == "It is sunny.", "got %+v, %v", got, err)
	chain := chains.NewLLMChain(m, prompts.NewPromptTemplate("Weather in {{.city}}?", []string{"city"}))
	check.Equal(t, "chain", check.Value(chains.Predict(t.Context(), chain, map[string]any{"city": "Rome"}))(t), "It is sunny.")
	check.That(t, len(h.Invalid()) == 0, "refused: %q", h.Invalid())
	stop := errors.New("enough")
	check.Is(t, check.Err(m.GenerateContent(t.Context(), messages, llms.WithStreamingFunc(func(context.Context, []byte) error { return stop }))), stop)
}

func TestErrorsOfLangchaingo(t *testing.T) {
	m := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(529) }), "claude-opus-5", anthropicmodel.Options{Retries: -1})
	_, err := m.GenerateContent(t.Context(), []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "Hi")})
	check.That(t, llms.IsRateLimitError(err), "got %v, want a limit of the rate", err)
}
