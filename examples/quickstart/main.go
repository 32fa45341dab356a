// The quickstart is the smallest agent: one server, one model, one question.
//
//	go run ./examples/quickstart npx -y @modelcontextprotocol/server-everything
//
// OPENAI_API_KEY and OPENAI_MODEL choose the model; OPENAI_BASE_URL names
// another host than OpenAI.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/openaimodel"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient"
)

func main() {
	checkUsage()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) // Ctrl-C ends the run, and the server with it
	defer stop()
	host := openai.DefaultConfig(os.Getenv("OPENAI_API_KEY"))
	host.BaseURL = cmp.Or(os.Getenv("OPENAI_BASE_URL"), host.BaseURL)
	server := &mcpclient.Command{Path: os.Args[1], Args: os.Args[2:]}
	answer, err := ask(ctx, host, os.Getenv("OPENAI_MODEL"), server, "What is 17 plus 25?")
	if err != nil {
		log.Fatal(hosttext.Line(err.Error(), 4000))
	}
	fmt.Println(hosttext.Prose(answer)) // without control characters for the terminal
}

// ask has a model answer a question with the tools of a server.
func ask(ctx context.Context, host openai.ClientConfig, name string, server mcpclient.Transport, question string) (string, error) {
	tools, err := adapter.Open(ctx, []adapter.Server{{Name: "demo", Transport: server}}, nil)
	if err != nil {
		return "", err
	}
	defer tools.Close()
	model, err := openaimodel.New(host, name, nil)
	if err != nil {
		return "", err
	}
	assistant, err := agent.New(model, &agent.Options{Tools: []adapter.Source{tools}})
	if err != nil {
		return "", err
	}
	result, err := assistant.Run(ctx, agent.Text(question))
	return result.Answer, err
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
