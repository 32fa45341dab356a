package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// person answers one question at a time, because handlers are called concurrently.
type person struct {
	mu    sync.Mutex    // guards the fields below
	lines <-chan string // closed when the input has ended
	out   io.Writer
}

// newPerson returns a person whose lines a goroutine reads: a read cannot be cancelled, but the wait for a line can.
func newPerson(in io.Reader, out io.Writer) *person {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			lines <- s.Text()
		}
	}()
	return &person{lines: lines, out: out}
}

var (
	errNoInput = errors.New("there is no person to ask") // the input has ended
	errNo      = errors.New("the person said no")
)

// askLocked returns a line of the person, unless ctx ends first.
func (p *person) askLocked(ctx context.Context, question string) (string, error) {
	fmt.Fprint(p.out, question+": ")
	select {
	case line, ok := <-p.lines:
		if !ok {
			return "", errNoInput
		}
		return strings.TrimSpace(line), nil
	case <-ctx.Done():
		fmt.Fprintln(p.out, "the server does not wait any more")
		return "", ctx.Err()
	}
}

// fillIn asks for each field of a form. The client checks the form before it is sent.
func (p *person) fillIn(ctx context.Context, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	fields, err := forms.Fields(params)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.out, "the server asks: %s; !decline says no\n", hosttext.Quote(params.Message))
	content := map[string]any{}
	for _, f := range fields {
		value, err := p.fieldLocked(ctx, f)
		switch {
		case err == errNoInput:
			return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
		case err == errNo:
			return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
		case err != nil:
			return nil, err
		case value != nil:
			content[f.Name] = value
		}
	}
	return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: content}, nil
}

// fieldLocked asks until the answer is valid. It returns nil for no answer.
func (p *person) fieldLocked(ctx context.Context, f *forms.Field) (any, error) {
	for {
		text, err := p.askLocked(ctx, "  "+label(f))
		if err != nil {
			return nil, err
		}
		if text == "!decline" {
			return nil, errNo
		}
		value, err := f.Parse(text)
		if err == nil {
			return value, nil
		}
		fmt.Fprintln(p.out, " ", hosttext.Line(err.Error(), 1000))
	}
}

// label describes a field: its title, its options, and the value of an empty line. Texts of servers are quoted, so that
// they cannot look like those of the program.
func label(f *forms.Field) string {
	text := hosttext.Quote(f.Title)
	for i, o := range f.Options {
		text += fmt.Sprintf(" %d=%s", i+1, hosttext.Quote(o.Title))
	}
	switch {
	case f.Default != nil:
		text += fmt.Sprintf(" [%s]", hosttext.Quote(f.Text(f.Default)))
	case !f.Required:
		text += " (optional)"
	}
	return text
}
