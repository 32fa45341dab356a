package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// maxQuestions bounds the questions that are shown.
const maxQuestions = 20

// questions shows what servers ask, and declines it.
type questions struct {
	mu    sync.Mutex
	w     io.Writer
	shown int
}

// declining declares every capability, since some servers list tools only for these. What servers ask is
// shown and declined.
func declining(w io.Writer) *mcpclient.Options {
	q := &questions{w: w}
	return &mcpclient.Options{
		Roots:       []mcp.Root{},
		Elicitation: mcp.ElicitationFunc(q.elicit),
		Sampling:    mcp.SamplingFunc(q.sample),
	}
}

func (q *questions) elicit(ctx context.Context, p *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	if p.Mode == mcp.ElicitURL {
		q.declined(ctx, "you to visit "+public(p.URL), p.Message)
	} else {
		q.declined(ctx, "for a form"+fieldsOf(p), p.Message)
	}
	return &mcp.ElicitResult{Action: "decline"}, nil
}

func (q *questions) sample(ctx context.Context, p *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	said := p.SystemPrompt
	for _, m := range p.Messages {
		said += " " + contents(m.Content...)
	}
	q.declined(ctx, "for an answer of your model", said)
	return nil, errors.New("inspect has no model")
}

// fieldsOf names the fields of a form.
func fieldsOf(p *mcp.ElicitParams) string {
	fields, err := p.Fields()
	if err != nil || len(fields) == 0 {
		return ""
	}
	var names []string
	for _, f := range fields {
		names = append(names, f.Name)
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// declined shows a question.
func (q *questions) declined(ctx context.Context, what, text string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.shown++; q.shown > maxQuestions {
		return
	}
	from, _ := adapter.SourceFrom(ctx)
	_, _ = fmt.Fprintf(q.w, "inspect: the server %s asks %s: %s\n  declined, since inspect answers no questions; examples/chatbot does\n",
		quoted([]string{from.Server}), line(what), line(text))
	if q.shown == maxQuestions {
		_, _ = fmt.Fprintln(q.w, "inspect: further questions are declined, too, and not shown")
	}
}
