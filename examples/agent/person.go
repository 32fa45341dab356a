package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/sampling"
)

// person answers one question at a time. After the end of the input there is no
// person, and nothing is allowed or filled in.
type person struct {
	mu     sync.Mutex // guards the fields below
	in     <-chan string
	out    io.Writer
	absent bool // a question found no input
}

// lines reads lines, so that a question can end before its answer.
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

func (p *person) missed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.absent
}

// askLocked asks, and returns the typed line. Texts of servers and models are
// quoted, indented, or shown as JSON, so that they cannot look like the
// program's.
func (p *person) askLocked(ctx context.Context, format string, args ...any) (string, error) {
	fmt.Fprintf(p.out, format+" ", args...)
	select {
	case line, ok := <-p.in:
		if ok {
			return strings.TrimSpace(line), nil
		}
		p.absent = true
		fmt.Fprintln(p.out)
		return "", errNoInput
	case <-ctx.Done():
		fmt.Fprintln(p.out)
		return "", context.Cause(ctx)
	}
}

func (p *person) approve(ctx context.Context, a *adapter.Approval) (adapter.Decision, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	line, err := p.askLocked(ctx, "Run %s on %s with %s? y/n:", hosttext.Quote(a.Definition.Name), a.Server, hosttext.JSON(string(a.Arguments)))
	switch {
	case err != nil:
		return adapter.Deny(err.Error()), nil
	case line != "y":
		return adapter.Deny("the user said no"), nil
	}
	return adapter.Allow(), nil
}

func (p *person) lend(ctx context.Context, r *sampling.Request) error {
	source, _ := adapter.SourceFrom(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, "%s asks the model:\n%s\n", source.Server, hosttext.Indent(hosttext.SamplingRequest(r.Params)))
	line, err := p.askLocked(ctx, "Let it, for at most %d tokens? y/n:", r.Params.MaxTokens)
	if err != nil || line != "y" {
		return mcp.ErrRejected
	}
	return nil
}

// fillIn asks for each field of a form. An empty line takes the default.
// Without a default it declines the form if the field is required.
func (p *person) fillIn(ctx context.Context, q *run.Ask) (*run.Answer, error) {
	fields, err := q.Elicit.Fields()
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, "%s asks: %s\n", q.Server, hosttext.Quote(q.Elicit.Message))
	content := map[string]any{}
	for _, field := range fields {
		value, err := p.fieldLocked(ctx, field)
		if err != nil {
			fmt.Fprintf(p.out, "declined: %s\n", hosttext.Line(err.Error(), maxShown))
			answer := q.Decline()
			return &answer, nil
		}
		if value != nil {
			content[field.Name] = value
		}
	}
	answer, err := q.Accept(content)
	return &answer, err
}

func (p *person) fieldLocked(ctx context.Context, f *mcp.Field) (any, error) {
	line, err := p.askLocked(ctx, "  %s:", label(f))
	if err != nil {
		return nil, err
	}
	return f.Parse(line)
}

// label describes a field: its title, its options, and the value of an empty
// line.
func label(f *mcp.Field) string {
	text := hosttext.Quote(f.Title)
	for i, o := range f.Options {
		text += fmt.Sprintf(" %d=%s", i+1, hosttext.Quote(o.Title))
	}
	switch {
	case f.Default != nil:
		text += fmt.Sprintf(" [%s]", hosttext.Quote(fmt.Sprint(f.Default)))
	case !f.Required:
		text += " (optional)"
	}
	return text
}
