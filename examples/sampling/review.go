package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/sampling"
)

// person reviews the server's requests and the replies.
type person struct {
	in   <-chan string // lines; closed at the end of the input
	turn chan struct{} // has a token while the person is asked or told something: one thing at a time

	// For who has the turn:
	out     io.Writer
	decided map[string]error // decisions for all requests of a server; nil allows them
}

func newPerson(in io.Reader, out io.Writer) *person {
	return &person{in: lines(in), turn: make(chan struct{}, 1), out: out, decided: map[string]error{}}
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
	fmt.Fprintf(p.out, "The server %s asks %s for up to %d tokens:\n%s\n",
		r.Server, r.Model, r.Params.MaxTokens, hosttext.Indent(hosttext.SamplingRequest(r.Params)))
	for {
		choice, err := p.ask(ctx, "Let it? [y]es, [a]lways, [n]o, ne[v]er, [i]nstruct")
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
			instruction, err := p.ask(ctx, "Your instruction")
			if err != nil {
				return err
			}
			r.Params.SystemPrompt += "\n" + instruction
			return nil
		}
	}
}

// reviewReply shows a reply before the server sees it.
func (p *person) reviewReply(ctx context.Context, r *sampling.Request, reply *mcp.CreateMessageResult) error {
	end, err := p.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	fmt.Fprintf(p.out, "%s would get this reply:\n%s\n", r.Server, hosttext.Indent(hosttext.SamplingReply(reply)))
	choice, err := p.ask(ctx, "Let it? [y]es, [n]o")
	if err != nil {
		return err
	}
	if choice != "y" {
		return errRefused
	}
	return nil
}

// ask returns a line of the person. The end of the input is a refusal.
func (p *person) ask(ctx context.Context, what string) (string, error) {
	fmt.Fprintf(p.out, "%s: ", what)
	select {
	case line, ok := <-p.in:
		if !ok {
			return "", errRefused
		}
		return strings.TrimSpace(line), nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// say prints a text while the person is not asked.
func (p *person) say(format string, args ...any) {
	end, _ := p.begin(context.Background()) // this context does not end
	defer end()
	fmt.Fprintf(p.out, format, args...)
}

// lines reads lines in a goroutine, so that the wait for a line can be cancelled.
func lines(in io.Reader) <-chan string {
	out := make(chan string)
	go func() { // ends with the input, or with the program
		defer close(out)
		for s := bufio.NewScanner(in); s.Scan(); {
			out <- s.Text()
		}
	}()
	return out
}
