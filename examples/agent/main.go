// Agent is a conversation with a model that uses the servers of an mcp.json. Replies are shown as they come. You allow
// calls, fill in forms, and decide what servers may ask the model.
//
//	OPENAI_MODEL=gpt-5 go run ./examples/agent mcp.json
//
// OPENAI_API_KEY is the key; OPENAI_BASE_URL names another provider than OpenAI. Use ANTHROPIC_MODEL
// and ANTHROPIC_API_KEY for Claude.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/hosttext"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: agent MCP.JSON")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt) // Ctrl-C ends the run and the servers
	defer stop()
	if err := converse(ctx, os.Args[1], &mcpchain.Terminal{}, os.Stdout); err != nil {
		log.Fatal(hosttext.Line(err.Error(), 4000))
	}
}

// converse asks for questions and shows the answers, until the input ends.
func converse(ctx context.Context, file string, you *mcpchain.Terminal, out io.Writer) error {
	host, err := mcpchain.Open(ctx, file, &mcpchain.Options{Terminal: you})
	if err != nil {
		return err
	}
	defer host.Close()
	assistant, err := host.Agent(nil, &agent.Options{System: "You are a helpful assistant."})
	if err != nil {
		return err
	}
	var history []run.Message
	for {
		question, err := you.ReadLine(ctx, "you:")
		switch {
		case errors.Is(err, mcpchain.ErrInputEnded):
			return nil
		case err != nil:
			return err
		}
		history = append(history, run.Text(run.RoleUser, question))
		for event, err := range assistant.Events(ctx, history) {
			if err != nil {
				return err
			}
			switch e := event.(type) {
			case *agent.TextDelta:
				fmt.Fprint(out, hosttext.Prose(e.Text))
			case *agent.TurnEnd:
				history = append(history, e.Messages...)
			case *agent.Output:
				fmt.Fprintln(out)
			}
		}
	}
}
