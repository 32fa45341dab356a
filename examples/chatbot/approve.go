package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/examples/review"
	"github.com/mcpchain/mcpchain/examples/safetext"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/sampling"
)

// maxShown bounds the text of a question, in characters. A longer text is cut,
// with a note.
const maxShown = 4000

// person answers questions: may a tool run, may a server use the model, which
// values go into a form.
type person struct {
	con     *console
	yes     bool               // allow tool calls and sampling
	answers map[string]answers // by server
	lacks   *lacks

	mu    sync.Mutex        // guards the fields below
	tools map[toolOf]string // tools that always run, with the allowed fingerprint
	lends map[string]bool   // servers that may always use the model
}

// toolOf is a tool of a server.
type toolOf struct{ server, tool string }

// approve decides on a tool call. "Always" allows the tool with its current
// definition: if the definition changes, approve asks again.
func (p *person) approve(ctx context.Context, a *adapter.Approval) (adapter.Decision, error) {
	key, fingerprint := toolOf{a.Server, a.Definition.Name}, adapter.Fingerprint(a.Definition)
	before, known := p.remembered(key)
	if p.yes || known && before == fingerprint {
		return adapter.Allow(), nil
	}
	tool := safetext.Line(a.Definition.Name, 200)
	if !p.con.interactive {
		p.lacks.denied.Add(1)
		p.con.note(p.con.style.warn, "denied %s: tool call %s: %s", a.Server, tool, noTerminal)
		return adapter.Deny(noTerminal), nil
	}
	what := fmt.Sprintf("The model wants to run %s on the server %s:", tool, a.Server)
	text := safetext.Block(safetext.JSON(string(a.Arguments)), maxShown)
	if known {
		what = fmt.Sprintf("The server %s has changed %s since you always allowed it. The model wants to run it:", a.Server, tool)
		says := cmp.Or(a.Definition.Description, "(nothing)")
		text += "\n  The server says of it:\n" + safetext.Indent(safetext.Block(says, maxShown))
	}
	choice, err := p.review(ctx, what, text, "Allow it? [y]es, [n]o, [a]lways:", "yna")
	if err != nil {
		return adapter.Decision{}, err
	}
	if choice == 'n' {
		return adapter.Deny(""), nil
	}
	if choice == 'a' {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.tools[key] = fingerprint
	}
	return adapter.Allow(), nil
}

func (p *person) remembered(key toolOf) (fingerprint string, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fingerprint, known = p.tools[key]
	return fingerprint, known
}

// noTerminal is the reason for a refusal without a question.
const noTerminal = "there is no terminal to ask on; start with -yes to allow it"

// lender passes servers' requests to the sampler. A person who allows a request
// also allows its reply, unless the choice was to see the reply first.
type lender struct{ *sampling.Sampler }

type replyKey struct{}

// CreateMessage implements [mcp.SamplingHandler].
func (l lender) CreateMessage(ctx context.Context, params *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	return l.Sampler.CreateMessage(context.WithValue(ctx, replyKey{}, new(bool)), params)
}

// lend decides on a server's request to the model. An error refuses.
func (p *person) lend(ctx context.Context, r *sampling.Request) error {
	source, _ := adapter.SourceFrom(ctx)
	if p.lendsTo(source.Server) {
		p.con.note(p.con.style.faint, "  %s asks the model: %s", source.Server, safetext.Line(review.Request(r.Params), maxResult))
		return nil
	}
	if !p.con.interactive || !duringTurn(ctx) {
		p.con.note(p.con.style.warn, "denied %s: use of the model: %s", source.Server, noTerminal)
		return errRefused
	}
	choice, err := p.review(ctx,
		fmt.Sprintf("The server %s wants to put this to the model %s, for at most %s:", source.Server, r.Model, plural(int(r.Params.MaxTokens), "token")),
		safetext.Indent(review.Request(r.Params)), "Allow it, with its reply? [y]es, [n]o, [s]how me the reply first, [a]lways for this server:", "ynsa")
	if err != nil {
		return err
	}
	if see, ok := ctx.Value(replyKey{}).(*bool); ok {
		*see = choice == 's'
	}
	switch choice {
	case 'n':
		return errRefused
	case 'a':
		p.mu.Lock()
		defer p.mu.Unlock()
		p.lends[source.Server] = true
	}
	return nil
}

func (p *person) lendsTo(server string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.yes || p.lends[server]
}

// release decides whether a server may see the model's reply.
func (p *person) release(ctx context.Context, _ *sampling.Request, reply *mcp.CreateMessageResult) error {
	if see, ok := ctx.Value(replyKey{}).(*bool); ok && !*see {
		return nil
	}
	source, _ := adapter.SourceFrom(ctx)
	choice, err := p.review(ctx, fmt.Sprintf("The server %s would get this reply of the model:", source.Server),
		safetext.Indent(review.Reply(reply)), "Allow it? [y]es, [n]o:", "yn")
	if err != nil {
		return err
	}
	if choice == 'n' {
		return errRefused
	}
	return nil
}

var errRefused = errors.New("the person refused")

// review shows a text of a server or the model, and asks about it.
func (p *person) review(ctx context.Context, what, text, question, letters string) (choice byte, err error) {
	err = p.con.dialog(ctx, func() (err error) {
		p.con.noteLocked(p.con.style.warn, "%s", what)
		p.con.noteLocked(p.con.style.tool, "%s", text)
		choice, err = p.con.chooseLocked(ctx, question, letters)
		return err
	})
	return choice, err
}

// turnKey marks the context of a turn of the conversation. Servers' questions
// at other times must not take the line that the person is typing.
type turnKey struct{}

func duringTurn(ctx context.Context) bool { return ctx.Value(turnKey{}) != nil }
