package sampling_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"

	"github.com/mcpchain/mcpchain/internal/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/sampling"
	"github.com/sashabaranov/go-openai"
)

func ExampleNew() {
	// A host that always says the same, in the place of api.openai.com.
	host := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, `{"model":"gpt-5-mini-2025-08-07","choices":[{"message":{"content":"Blue."},"finish_reason":"stop"}]}`)
	}))
	defer host.Close()

	cfg := openai.DefaultConfig("your API key")
	cfg.HTTPClient = host.Client()
	sampler, err := sampling.New(cfg, "gpt-5-mini", &sampling.Options{
		Limits: sampling.Limits{Requests: 10, MaxTokens: 500},
		Review: sampling.ReviewFuncs{
			Request: func(_ context.Context, r *sampling.Request) error {
				fmt.Printf("a server asks %s for %d tokens\n", r.Model, r.Params.MaxTokens)
				return nil
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}

	// What a client does when its server asks; install the sampler with
	// mcpclient.Options{Sampling: sampler}.
	result, err := sampler.CreateMessage(context.Background(), &mcpclient.CreateMessageParams{
		Messages: []mcpclient.SamplingMessage{{
			Role: "user", Content: []mcpclient.Content{&mcpclient.TextContent{Text: "What is the colour of the sky?"}},
		}},
		MaxTokens: 100_000,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(result.Content[0].(*mcpclient.TextContent).Text, result.Model, result.StopReason)
	// Output:
	// a server asks gpt-5-mini for 500 tokens
	// Blue. gpt-5-mini-2025-08-07 endTurn
}
