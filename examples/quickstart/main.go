// The quickstart is the smallest agent: one server, one model, one question.
//
//	go run ./examples/quickstart npx -y @modelcontextprotocol/server-everything
//
// The model is the one of OPENAI_API_KEY and OPENAI_MODEL; OPENAI_BASE_URL
// names another host than OpenAI.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/sashabaranov/go-openai"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/mcpclient"
)

func main() {
	ctx := context.Background()
	host := openai.DefaultConfig(os.Getenv("OPENAI_API_KEY"))
	if url := os.Getenv("OPENAI_BASE_URL"); url != "" {
		host.BaseURL = url
	}
	server := &mcpclient.Command{Path: os.Args[1], Args: os.Args[2:]}
	tools := must(adapter.Open(ctx, []adapter.Server{{Name: "demo", Transport: server}}, nil))
	defer tools.Close()
	model := must(openaimodel.New(host, os.Getenv("OPENAI_MODEL"), nil))
	assistant := must(agent.New(model, tools, nil))
	question := llms.TextParts(llms.ChatMessageTypeHuman, "What is 17 plus 25?")
	result := must(assistant.Run(ctx, []llms.MessageContent{question}))
	fmt.Println(result.Answer)
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
