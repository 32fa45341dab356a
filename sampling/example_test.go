package sampling_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/price"
	"github.com/mcpchain/mcpchain/sampling"
)

func ExampleNew() {
	// This host stands for api.openai.com and always gives the same answer.
	host := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"model":"gpt-5-mini-2025-08-07","choices":[{"message":{"content":"Blue."},"finish_reason":"stop"}]}`)
	}))
	defer host.Close()

	cfg := openai.DefaultConfig("your API key")
	cfg.HTTPClient = host.Client()
	sampler, err := sampling.New(cfg, "gpt-5-mini", &sampling.Options{
		Limits: sampling.Limits{Total: sampling.Budget{Requests: 10}, MaxTokens: 500},
		Review: &sampling.Review{
			Request: func(_ context.Context, r *sampling.Request) error {
				fmt.Printf("a server asks %s for %d tokens\n", r.Model, r.Params.MaxTokens)
				return nil
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}

	// A client calls this for its server; install the sampler with
	// mcpclient.Options{Sampling: sampler}.
	result, err := sampler.CreateMessage(context.Background(), &mcp.CreateMessageParams{
		Messages: []mcp.SamplingMessage{{
			Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: "What is the colour of the sky?"}},
		}},
		MaxTokens: 100_000,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Content[0].(*mcp.TextContent).Text, result.Model, result.StopReason)
	// Output:
	// a server asks gpt-5-mini for 500 tokens
	// Blue. gpt-5-mini-2025-08-07 endTurn
}

// This program has two models and two servers, and trusts one server less.
func ExampleSampler_ForServer() {
	host := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"choices":[{"message":{"content":"Blue."},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":5}}`)
	}))
	defer host.Close()

	cfg := openai.DefaultConfig("your API key")
	cfg.HTTPClient = host.Client()
	sampler, err := sampling.New(cfg, "gpt-5", &sampling.Options{
		Models: []sampling.Model{
			{ID: "gpt-5", Tools: true},
			{ID: "gpt-5-mini", StandsFor: []string{"haiku"}, Tools: true},
		},
		Prices: &price.Table{Date: "2026-11-22", Models: []price.Price{
			{Model: "gpt-5", Currency: "USD", Input: 1_250_000, Output: 10_000_000}, // 1.25 and 10 dollars for a million tokens
			{Model: "gpt-5-mini", Currency: "USD", Input: 250_000, Output: 2_000_000},
		}},
		Limits:  sampling.Limits{Total: sampling.Budget{Cost: map[string]int64{"USD": 1_000_000}}, PerServer: sampling.Budget{Requests: 10}},
		Servers: map[string]sampling.Policy{"stranger": {OutsideCalls: sampling.ModeDeny}},
		Audit: func(_ context.Context, r *sampling.Record) {
			fmt.Printf("%s: %s, %d tokens\n", r.Server, r.Outcome, r.InputTokens+r.OutputTokens)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	params := &mcp.CreateMessageParams{
		Messages: []mcp.SamplingMessage{{
			Role: "user", Content: []mcp.Content{&mcp.TextContent{Text: "What is the colour of the sky?"}},
		}},
		MaxTokens:        100,
		ModelPreferences: &mcp.ModelPreferences{Hints: []mcp.ModelHint{{Name: "claude-3-haiku"}}},
	}
	for _, server := range []string{"weather", "stranger"} {
		if _, err := sampler.ForServer(server).CreateMessage(context.Background(), params); err != nil {
			fmt.Println(err)
		}
	}
	// Output:
	// weather: answered, 25 tokens
	// stranger: refused, 0 tokens
	// sampling request refused: the host's policy does not allow the request
}
