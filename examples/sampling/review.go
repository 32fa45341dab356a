package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/sampling"
)

// person reviews the server's requests and the replies.
type person struct {
	terminal *mcpchain.Terminal

	turn    chan struct{}    // has a token during a review: one at a time, so that it is clear what an answer is for
	decided map[string]error // by server, the decision on all later requests: nil allows them; used only during a review
}

func newPerson(terminal *mcpchain.Terminal) *person {
	return &person{terminal, make(chan struct{}, 1), map[string]error{}}
}

// begin waits for the turn, which lasts until the caller calls end.
func (p *person) begin(ctx context.Context) (end func(), err error) {
	select {
	case p.turn <- struct{}{}:
		return func() { <-p.turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

var errRefused = errors.New("the person refused")

// reviewRequest shows a request. The person may allow or refuse it, once or always, or add an instruction.
func (p *person) reviewRequest(ctx context.Context, r *sampling.Request) error {
	end, err := p.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if decision, ok := p.decided[r.Server]; ok {
		return decision
	}
	question := fmt.Sprintf("The server %s asks %s for up to %d tokens:\n%s\nLet it? [y]es, [a]lways, [n]o, ne[v]er, [i]nstruct:",
		r.Server, r.Model, r.Params.MaxTokens, hosttext.Indent(hosttext.SamplingRequest(r.Params)))
	for {
		choice, err := p.terminal.ReadLine(ctx, question)
		if err != nil {
			return err
		}
		switch choice {
		case "y":
			return nil
		case "n":
			return errRefused
		case "a":
			p.decided[r.Server] = nil
			return nil
		case "v":
			p.decided[r.Server] = errRefused
			return errRefused
		case "i":
			instruction, err := p.terminal.ReadLine(ctx, "Your instruction:")
			if err != nil {
				return err
			}
			r.Params.SystemPrompt += "\n" + instruction
			return nil
		}
		question = "Type y, a, n, v or i:"
	}
}

// reviewReply shows a reply before the server sees it.
func (p *person) reviewReply(ctx context.Context, r *sampling.Request, reply *mcp.CreateMessageResult) error {
	end, err := p.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	choice, err := p.terminal.ReadLine(ctx, fmt.Sprintf("%s would get this reply:\n%s\nLet it? [y]es, [n]o:",
		r.Server, hosttext.Indent(hosttext.SamplingReply(reply))))
	if err == nil && choice != "y" {
		err = errRefused
	}
	return err
}
