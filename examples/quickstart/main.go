// The quickstart is the smallest agent: one server, one model, one question.
//
//	go run ./examples/quickstart npx -y @modelcontextprotocol/server-everything
//
// OPENAI_API_KEY and OPENAI_MODEL choose the model; OPENAI_BASE_URL names
// another host than OpenAI.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/examples/safetext"
	"github.com/mcpchain/mcpchain/mcpclient"
)

func main() {
	checkUsage()
	ctx := context.Background()
	host := openai.DefaultConfig(os.Getenv("OPENAI_API_KEY"))
	if url := os.Getenv("OPENAI_BASE_URL"); url != "" {
		host.BaseURL = url
	}
	server := &mcpclient.Command{Path: os.Args[1], Args: os.Args[2:]}
	tools := must(adapter.Open(ctx, []adapter.Server{{Name: "demo", Transport: server}}, nil))
	defer tools.Close()
	model := must(openaimodel.New(host, os.Getenv("OPENAI_MODEL"), nil))
	assistant := must(agent.New(model, &agent.Options{Tools: []adapter.Source{tools}}))
	result := must(assistant.Run(ctx, agent.Text("What is 17 plus 25?")))
	show(result.Answer)
}

// must ends the program on an error.
func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(safetext.Line(err.Error(), 4000))
	}
	return v
}

// show prints a model's text, without terminal control characters.
func show(text string) {
	fmt.Println(safetext.Prose(text))
}

func checkUsage() {
	log.SetFlags(0)
	switch {
	case len(os.Args) < 2:
		log.Fatal("usage: quickstart COMMAND [ARGUMENT …], where the command starts an MCP server")
	case os.Getenv("OPENAI_MODEL") == "":
		log.Fatal("OPENAI_MODEL is not set: it names the model")
	case os.Getenv("OPENAI_API_KEY") == "" && os.Getenv("OPENAI_BASE_URL") == "":
		log.Fatal("neither OPENAI_API_KEY nor OPENAI_BASE_URL is set: the model needs a key, or another host")
	}
}
