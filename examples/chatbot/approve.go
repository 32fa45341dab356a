package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/sampling"
)

// maxShown bounds the text that a person is asked about, in characters. What
// is longer is cut, and that is said.
const maxShown = 4000

// person answers what needs a person: may a tool run, may a server use the
// model, what goes into a form.
type person struct {
	con     *console
	yes     bool // to tool calls and sampling
	answers answers
	lacks   *lacks

	mu     sync.Mutex // guards the field below
	always map[string]bool
}

// approve decides on a tool call.
func (p *person) approve(ctx context.Context, a *agent.Approval) (agent.Decision, error) {
	key := "tool\x00" + a.Server + "\x00" + a.Tool
	if p.allowed(key) {
		return agent.Allow(), nil
	}
	if !p.con.interactive {
		p.lacks.denied.Add(1)
		p.con.note(p.con.style.warn, "denied %s: tool call %s: %s", a.Server, oneLine(a.Tool, 200), noTerminal)
		return agent.Deny(noTerminal), nil
	}
	choice, err := p.review(ctx, fmt.Sprintf("The model wants to run %s on the server %s:", oneLine(a.Tool, 200), a.Server),
		a.Arguments, "Allow it? [y]es, [n]o, [a]lways:", "yna")
	if err != nil {
		return agent.Decision{}, err
	}
	if !p.decide(choice, key) {
		return agent.Deny(""), nil
	}
	return agent.Allow(), nil
}

// noTerminal is why a tool call or a use of the model is denied unasked.
const noTerminal = "there is no terminal to ask on; start with -yes to allow it"

// decide reports whether the choice allows, and remembers one that is for
// always.
func (p *person) decide(choice byte, key string) bool {
	if choice == 'a' {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.always[key] = true
	}
	return choice != 'n'
}

func (p *person) allowed(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.yes || p.always[key]
}

// lender brings requests of servers to the sampler. A person who lets one pass
// lets its reply pass as well, unless the choice was to see it first.
type lender struct{ *sampling.Sampler }

type replyKey struct{}

// CreateMessage implements [mcpclient.SamplingHandler].
func (l lender) CreateMessage(ctx context.Context, params *mcpclient.CreateMessageParams) (*mcpclient.CreateMessageResult, error) {
	return l.Sampler.CreateMessage(context.WithValue(ctx, replyKey{}, new(bool)), params)
}

// lend decides whether a server may put a request to the model. An error
// refuses.
func (p *person) lend(ctx context.Context, r *sampling.Request) error {
	source, _ := adapter.SourceFrom(ctx)
	text := messagesText(r.Params.Messages)
	key := "sampling\x00" + source.Server
	if p.allowed(key) {
		p.con.note(p.con.style.faint, "  %s asks the model: %s", source.Server, oneLine(text, maxResult))
		return nil
	}
	if !p.con.interactive || !duringTurn(ctx) {
		p.con.note(p.con.style.warn, "denied %s: use of the model: %s", source.Server, noTerminal)
		return errRefused
	}
	if r.Params.SystemPrompt != "" {
		text = "system: " + r.Params.SystemPrompt + "\n" + text
	}
	choice, err := p.review(ctx,
		fmt.Sprintf("The server %s wants to put this to the model %s, for at most %s:", source.Server, r.Model, plural(int(r.Params.MaxTokens), "token")),
		text, "Allow it, with its reply? [y]es, [n]o, [s]how me the reply first, [a]lways for this server:", "ynsa")
	if err != nil {
		return err
	}
	if see, ok := ctx.Value(replyKey{}).(*bool); ok {
		*see = choice == 's'
	}
	if !p.decide(choice, key) {
		return errRefused
	}
	return nil
}

// release decides whether a server may see what the model replied.
func (p *person) release(ctx context.Context, _ *sampling.Request, reply *mcpclient.CreateMessageResult) error {
	if see, ok := ctx.Value(replyKey{}).(*bool); ok && !*see {
		return nil
	}
	source, _ := adapter.SourceFrom(ctx)
	choice, err := p.review(ctx, fmt.Sprintf("The server %s would get this reply of the model:", source.Server),
		contentText(reply.Content), "Allow it? [y]es, [n]o:", "yn")
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
		p.con.noteLocked(p.con.style.tool, "%s", indent(shown(text)))
		choice, err = p.con.chooseLocked(ctx, question, letters)
		return err
	})
	return choice, err
}

// shown cuts a long text and says so.
func shown(s string) string {
	runes := []rune(s)
	if len(runes) <= maxShown {
		return s
	}
	return fmt.Sprintf("%s…\n(%d more characters are not shown)", string(runes[:maxShown]), len(runes)-maxShown)
}

func indent(s string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n  ")
}

// turnKey marks the context of a turn of the conversation. What servers ask at
// other times must not take the line that the person is typing.
type turnKey struct{}

func duringTurn(ctx context.Context) bool { return ctx.Value(turnKey{}) != nil }
