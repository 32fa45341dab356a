// Agent shows the parts of an agent together: servers of an mcp.json, one
// toolset, a model that servers may use, a person who fills in forms and allows
// tools, and a conversation.
//
//	go run ./examples/agent mcp.json "Book a table for 4"
//
// OPENAI_API_KEY and OPENAI_MODEL choose the model; OPENAI_BASE_URL names
// another host than OpenAI.
package main

import (
	"cmp"
	"context"
	"errors"
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
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/sampling"
)

func main() {
	checkUsage()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) // Ctrl-C ends the run, and the servers with it
	defer stop()
	host := openai.DefaultConfig(os.Getenv("OPENAI_API_KEY"))
	host.BaseURL = cmp.Or(os.Getenv("OPENAI_BASE_URL"), host.BaseURL)
	you := &person{in: lines(os.Stdin), out: os.Stderr}
	answer, err := ask(ctx, os.Args[1], host, os.Getenv("OPENAI_MODEL"), you, os.Args[2])
	if answer != "" {
		fmt.Println(hosttext.Prose(answer))
	}
	if err != nil {
		log.Fatal(hosttext.Line(err.Error(), maxShown))
	}
}

func checkUsage() {
	log.SetFlags(0)
	switch {
	case len(os.Args) != 3:
		log.Fatal("usage: agent MCP.JSON QUESTION")
	case os.Getenv("OPENAI_MODEL") == "":
		log.Fatal("OPENAI_MODEL is not set: it names the model")
	case os.Getenv("OPENAI_API_KEY") == "" && os.Getenv("OPENAI_BASE_URL") == "":
		log.Fatal("neither OPENAI_API_KEY nor OPENAI_BASE_URL is set: the model needs a key, or another host")
	}
}

// ask puts one question to a model with the servers of the file. The answer
// comes with [errNoInput] if a question found no person.
func ask(ctx context.Context, file string, host openai.ClientConfig, model string, you *person, question string) (string, error) {
	cfg, err := (&config.Loader{Filters: true}).Load(ctx, file)
	if err != nil {
		return "", err
	}
	servers, left := adapter.FromConfig(cfg)

	// Servers may use the model and ask the person. These handlers bring their
	// requests into the agent's run, and to Answer below.
	lent, err := sampling.New(host, model, &sampling.Options{Review: sampling.ReviewFuncs{Request: you.lend}})
	if err != nil {
		return "", err
	}
	toolset, err := adapter.Open(ctx, servers, &adapter.Options{
		Start:  adapter.StartAvailable,
		Client: &mcpclient.Options{Sampling: lent},
	})
	if err != nil {
		return "", err
	}
	defer toolset.Close()
	for _, s := range append(left, toolset.Servers()...) {
		if s.Err != nil { // unreachable, or a mistake in the file
			fmt.Fprintln(you.out, "left out:", hosttext.Line(s.Err.Error(), maxShown))
		}
		for _, name := range s.Unmatched {
			fmt.Fprintln(you.out, hosttext.Line(fmt.Sprintf("server %q has no tool %q, which the file allows or leaves out", s.Name, name), maxShown))
		}
	}

	llm, err := openaimodel.New(host, model, nil)
	if err != nil {
		return "", err
	}
	assistant, err := agent.New(llm, &agent.Options{Tools: []adapter.Source{toolset}, Approve: you.approve, Answer: you.fillIn})
	if err != nil {
		return "", err
	}
	result, err := assistant.Run(ctx, agent.Text(question))
	if err == nil && you.missed() {
		err = errNoInput
	}
	return result.Answer, err
}

// errNoInput is the reason for a refusal without a question.
var errNoInput = errors.New("no person could be asked: standard input has ended")

// maxShown bounds an error and the text of a question, in characters.
const maxShown = 4000
