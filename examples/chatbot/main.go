// Chatbot is a chat in a terminal to copy and to start from. It uses the servers of an mcp.json, shows replies as they
// come, and asks the person in its own way.
//
//	OPENAI_MODEL=gpt-5 go run ./examples/chatbot mcp.json
//
// Ctrl-C stops the reply, and at the prompt the program. See examples/agent for the variables of other models.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/hosttext"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: chatbot MCP.JSON")
	}
	if err := start(context.Background(), os.Args[1], os.Stdin, os.Stdout); err != nil {
		log.Fatal(hosttext.Line(err.Error(), 4000))
	}
}

// chatbot is a conversation between a person and a model.
type chatbot struct {
	host    *mcpchain.Host
	agent   *agent.Agent
	history []run.Message
	person  *person
	out     io.Writer
}

// start opens the servers and talks until the input ends.
func start(ctx context.Context, file string, in io.Reader, out io.Writer) error {
	terminal := &mcpchain.Terminal{In: in, Out: out}
	host, err := mcpchain.Open(ctx, file, &mcpchain.Options{Terminal: terminal})
	if err != nil {
		return err
	}
	defer host.Close()
	c := &chatbot{host: host, person: newPerson(terminal, out), out: out}
	c.agent, err = host.Agent(nil, &agent.Options{
		System: "You are a helpful assistant.",
		Person: agent.Person{Approve: agent.AskPerson, Reply: c.person.reply},
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "Ask something. /tools lists the tools, /new forgets the conversation, Ctrl-D ends it.")
	for {
		if over, err := c.round(ctx); over || err != nil {
			return err
		}
	}
}

// round reads and handles a line. Ctrl-C ends the reply, and at the prompt the conversation.
func (c *chatbot) round(ctx context.Context) (over bool, err error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	line, err := c.person.terminal.ReadLine(ctx, ">")
	switch {
	case errors.Is(err, mcpchain.ErrInputEnded) || ctx.Err() != nil:
		return true, nil
	case err != nil:
		return true, err
	}
	switch line {
	case "":
	case "/new":
		c.history = nil
	case "/tools":
		c.listTools()
	default:
		if err := c.turn(ctx, line); err != nil { // the history does not have the question
			fmt.Fprintf(c.out, "\nNo answer: %s\n", hosttext.Line(err.Error(), 4000))
		}
	}
	return false, nil
}

// listTools shows the first line of each tool.
func (c *chatbot) listTools() {
	for _, tool := range c.host.Tools().Catalog(profile.Plain).Definitions() {
		first, _, _ := strings.Cut(tool.Function.Description, "\n")
		fmt.Fprintf(c.out, "  %s: %s\n", hosttext.Line(tool.Function.Name, 100), hosttext.Line(first, 200))
	}
}

// turn asks the agent a question, and shows what happens until the answer.
func (c *chatbot) turn(ctx context.Context, question string) error {
	input := append(c.history[:len(c.history):len(c.history)], run.Text(run.RoleUser, question))
	result := agent.Result{Messages: input}
	for event, err := range c.agent.Events(ctx, input) {
		if err != nil {
			return err
		}
		result.Add(event)
		switch e := event.(type) {
		case *agent.TextDelta:
			fmt.Fprint(c.out, hosttext.Prose(e.Text))
		case *agent.ToolStart:
			fmt.Fprintf(c.out, "… %s\n", hosttext.Quote(e.Tool))
		case *agent.ToolEnd:
			fmt.Fprintf(c.out, "→ %s\n", hosttext.Line(e.Part.Text, 500))
		case *agent.Warning:
			fmt.Fprintf(c.out, "Warning: %s\n", hosttext.Line(e.Text, 500))
		case *agent.Output:
			fmt.Fprintln(c.out)
		}
	}
	c.history = result.Messages
	return nil
}
