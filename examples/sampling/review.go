package main

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/sampling"
)

// person reviews the server's requests and the replies. The terminal asks one question at a time.
type person struct {
	terminal *mcpchain.Terminal

	mu      sync.Mutex       // guards the field below
	decided map[string]error // decisions for all requests of a server; nil allows them
}

var errRefused = errors.New("the person refused")

// reviewRequest shows a request. The person may allow or refuse it, once or always, or add an instruction.
func (p *person) reviewRequest(ctx context.Context, r *sampling.Request) error {
	if decision, ok := p.decision(r.Server); ok {
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
			return p.decide(r.Server, nil)
		case "v":
			return p.decide(r.Server, errRefused)
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

// decision returns what the person has decided for all requests of a server.
func (p *person) decision(server string) (decision error, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	decision, ok = p.decided[server]
	return decision, ok
}

// decide keeps and returns a decision for all requests of a server.
func (p *person) decide(server string, decision error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.decided[server] = decision
	return decision
}

// reviewReply shows a reply before the server sees it.
func (p *person) reviewReply(ctx context.Context, r *sampling.Request, reply *mcp.CreateMessageResult) error {
	choice, err := p.terminal.ReadLine(ctx, fmt.Sprintf("%s would get this reply:\n%s\nLet it? [y]es, [n]o:",
		r.Server, hosttext.Indent(hosttext.SamplingReply(reply))))
	if err == nil && choice != "y" {
		err = errRefused
	}
	return err
}
