package sampling_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/fakehost"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/sampling"
)

// TestModelsOfOpenAI samples with tools from each model, with each effort: the host refuses no
// request, and the thoughts that led to calls go back with their results.
func TestModelsOfOpenAI(t *testing.T) {
	weather := &mcp.Tool{Name: "weather", InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)}
	asked := 0
	for _, name := range fakehost.OpenAIModels() {
		host := &fakehost.OpenAI{Key: "key-1", Reply: func(r *fakehost.OpenAIRequest) []fakehost.Block {
			switch {
			case !strings.Contains(string(r.Body), `"tools"`), strings.Contains(string(r.Body), "sun and rain"):
				return []fakehost.Block{{Type: "reasoning", Text: "Hm."}, {Type: "text", Text: "Done."}}
			}
			return []fakehost.Block{{Type: "reasoning", Text: "Two cities."},
				{Type: "call", ID: "call_1", Name: "weather", Arguments: `{"city":"Rome"}`}, {Type: "call", ID: "call_2", Name: "weather", Arguments: `{"city":"Oslo"}`}}
		}}
		server := memhttp.New(host)
		defer server.Close()
		cfg := openai.DefaultConfig("key-1")
		cfg.HTTPClient = server.Client()
		for _, effort := range append([]string{""}, fakehost.OpenAIEfforts(name)...) {
			sampler := check.Value(sampling.New(cfg, name, &sampling.Options{Effort: effort}))(t)
			half := 0.5
			params := &mcp.CreateMessageParams{MaxTokens: 500, Temperature: &half, StopSequences: []string{"END"}, SystemPrompt: "Be brief.",
				Messages: []mcp.SamplingMessage{{Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: "Weather in Rome and Oslo?"}}}}}
			if _, err := sampler.CreateMessage(t.Context(), params); err != nil {
				t.Fatalf("%s, effort %q, without tools: %v %q", name, effort, err, host.Invalid())
			}
			params.Tools = []*mcp.Tool{weather}
			result, err := sampler.CreateMessage(t.Context(), params)
			check.Require(t, err == nil && result.StopReason == "toolUse", "%s, effort %q: got %+v, %v", name, effort, result, err)
			params.Messages = append(params.Messages, mcp.SamplingMessage{Role: "assistant", Content: result.Content}, mcp.SamplingMessage{Role: "user", Content: []mcp.Content{
				&mcp.ToolResultContent{ToolUseID: "call_1", Content: []mcp.Content{&mcp.TextContent{Text: "sun and rain"}}},
				&mcp.ToolResultContent{ToolUseID: "call_2", Content: []mcp.Content{&mcp.TextContent{Text: "rain"}}},
			}})
			result, err = sampler.CreateMessage(t.Context(), params)
			check.Require(t, err == nil && result.StopReason == "endTurn", "%s, effort %q, with results: got %+v, %v", name, effort, result, err)
			asked += 3
		}
		invalid := host.Invalid()
		check.That(t, len(invalid) == 0, "%s: %q", name, invalid)
	}
	t.Logf("%d requests", asked)
}
