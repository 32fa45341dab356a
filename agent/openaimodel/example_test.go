package openaimodel_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"

	"github.com/sashabaranov/go-openai"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
)

func ExampleNew() {
	// This host stands for api.openai.com and always gives the same answer.
	host := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, `data: {"model":"gpt-5-mini-2025-08-07","choices":[{"index":0,"delta":{"content":"It is "}}]}`+"\n\n"+
			`data: {"choices":[{"index":0,"delta":{"content":"late."},"finish_reason":"stop"}]}`+"\n\n"+
			"data: [DONE]\n\n")
	}))
	defer host.Close()

	cfg := openai.DefaultConfig("your API key")
	cfg.HTTPClient = host.Client()
	model, err := openaimodel.New(cfg, "gpt-5-mini", nil)
	if err != nil {
		log.Fatal(err)
	}
	res, err := model.GenerateContent(context.Background(),
		[]llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, "What time is it?")},
		llms.WithStreamingFunc(func(_ context.Context, text []byte) error {
			fmt.Printf("%s|", text)
			return nil
		}))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println()
	fmt.Println(res.Choices[0].Content, "said", res.Choices[0].GenerationInfo["Model"])
	// Output:
	// It is |late.|
	// It is late. said gpt-5-mini-2025-08-07
}
