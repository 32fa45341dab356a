package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/mcpchain/mcpchain"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
)

// person is the person at the terminal. Texts of servers and models are escaped by hosttext, so that they can neither
// control the terminal nor look like those of the program.
type person struct {
	terminal *mcpchain.Terminal
	out      io.Writer
	turn     chan struct{} // has a token while a question is asked
}

func newPerson(terminal *mcpchain.Terminal, out io.Writer) *person {
	return &person{terminal, out, make(chan struct{}, 1)}
}

// reply answers a question of a run, one at a time: calls may ask at once, and the person has to see which one an answer is
// for. Change the cases to ask in your own way.
func (p *person) reply(ctx context.Context, q *run.Question) (run.Reply, error) {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return run.Reply{}, ctx.Err()
	}
	switch q.Kind {
	case run.QuestionApproval:
		return p.approve(ctx, q)
	case run.QuestionForm:
		return p.fillIn(ctx, q)
	}
	return p.terminal.Reply(ctx, q) // pages to visit, requests to the model, calls that may have run
}

// approve asks whether a tool may run.
func (p *person) approve(ctx context.Context, q *run.Question) (run.Reply, error) {
	fmt.Fprintf(p.out, "%s wants to run %s with %s\n",
		hosttext.Quote(q.Server), hosttext.Quote(q.Tool), hosttext.JSONLine(string(q.Arguments)))
	line, err := p.terminal.ReadLine(ctx, "y, a for always with this tool, or the reason why not:")
	switch {
	case errors.Is(err, mcpchain.ErrInputEnded):
		return q.Deny("nobody is there to allow it"), nil
	case err != nil:
		return run.Reply{}, err
	case line == "y":
		return q.Allow(), nil
	case line == "a":
		always := q.Allow()
		always.Scope = run.ScopeTool
		return always, nil
	}
	return q.Deny(line), nil
}

// fillIn asks for each field of a server's form.
func (p *person) fillIn(ctx context.Context, q *run.Question) (run.Reply, error) {
	fields, err := forms.Fields(q.Elicit)
	if err != nil {
		return run.Reply{}, err
	}
	fmt.Fprintf(p.out, "%s asks: %s (/no declines)\n", hosttext.Quote(q.Server), hosttext.Line(q.Elicit.Message, 1000))
	content := map[string]any{}
	for _, field := range fields {
		value, err := p.field(ctx, field)
		switch {
		case errors.Is(err, errDeclined):
			return q.Decline(), nil
		case errors.Is(err, mcpchain.ErrInputEnded):
			return run.Reply{Question: q.ID, Action: run.ActionCancel}, nil
		case err != nil:
			return run.Reply{}, err
		}
		if value != nil {
			content[field.Name] = value
		}
	}
	return q.Accept(content)
}

// errDeclined means that the person does not want to fill in the form.
var errDeclined = errors.New("the person declines")

// field asks until the value is valid. It returns nil for no value.
func (p *person) field(ctx context.Context, field *forms.Field) (any, error) {
	for {
		line, err := p.terminal.ReadLine(ctx, "  "+prompt(field)+":")
		switch {
		case err != nil:
			return nil, err
		case line == "/no":
			return nil, errDeclined
		}
		value, err := field.Parse(line)
		if err == nil {
			return value, nil
		}
		fmt.Fprintf(p.out, "  %s\n", hosttext.Line(err.Error(), 1000))
	}
}

// prompt describes a field: its title, its options, and the value of an empty line.
func prompt(field *forms.Field) string {
	text := hosttext.Quote(field.Title)
	for i, option := range field.Options {
		text += fmt.Sprintf(" %d=%s", i+1, hosttext.Quote(option.Title))
	}
	switch {
	case field.Default != nil:
		text += " [" + hosttext.Quote(field.Text(field.Default)) + "]"
	case !field.Required:
		text += " (optional)"
	}
	return text
}
