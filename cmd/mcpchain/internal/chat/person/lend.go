package person

import (
	"context"
	"fmt"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/sampling"
)

// Lender passes the requests of servers to a sampler with the methods Lend and Release of a person.
// A person who allows a request also allows its reply, unless the person wants to see the reply
// first.
type Lender struct{ *sampling.Sampler }

// wantsReplyKey is the context key of a *bool: whether the person wants to see the reply.
type wantsReplyKey struct{}

// CreateMessage implements [mcp.SamplingHandler].
func (l Lender) CreateMessage(ctx context.Context, params *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	return l.Sampler.CreateMessage(context.WithValue(ctx, wantsReplyKey{}, new(bool)), params)
}

// Lend decides on a server's request to the model. An error refuses it. "Always for this server"
// lasts until the end of the program.
func (p *Person) Lend(ctx context.Context, r *sampling.Request) error {
	server, _ := adapter.OriginFrom(ctx)
	obstacle := ""
	switch _, always := p.lends.Load(server); {
	case always || p.yes:
		p.screen.Note(screen.Faint, "  %s asks the model: %s",
			server, hosttext.Line(hosttext.SamplingRequest(r.Params), screen.MaxResult))
		return nil
	case !p.screen.Attended():
		obstacle = noTerminal
	case !isInTurn(ctx):
		obstacle = "it asks outside of a turn, when you are not asked; start with -yes to allow it"
	}
	if obstacle != "" {
		p.screen.Note(screen.Warn, "denied %s: use of the model: %s", server, obstacle)
		return errRefused
	}
	key, err := p.choose(ctx, &screen.Choice{
		Heading: fmt.Sprintf("The server %s wants to put this to the model %s, for at most %s:",
			server, r.Model, cli.Plural(int(r.Params.MaxTokens), "token")),
		Text:     hosttext.Indent(hosttext.SamplingRequest(r.Params)),
		Question: "Allow it, with its reply?",
		Answers: []screen.Answer{
			{Key: 'y', Label: "yes"},
			{Key: 'n', Label: "no"},
			{Key: 's', Label: "show me the reply first"},
			{Key: 'a', Label: "always for this server"},
		},
	}, errRefused)
	if wantsReply, ok := ctx.Value(wantsReplyKey{}).(*bool); ok {
		*wantsReply = key == 's'
	}
	if err == nil && key == 'a' {
		p.lends.Store(server, true)
	}
	return err
}

// Release decides whether a server gets the model's reply. An error withholds it. The person is
// asked only after the answer "show me the reply first" of [Person.Lend].
func (p *Person) Release(ctx context.Context, _ *sampling.Request, reply *mcp.CreateMessageResult) error {
	if wantsReply, ok := ctx.Value(wantsReplyKey{}).(*bool); ok && !*wantsReply {
		return nil
	}
	server, _ := adapter.OriginFrom(ctx)
	_, err := p.choose(ctx, &screen.Choice{
		Heading:  fmt.Sprintf("The server %s would get this reply of the model:", server),
		Text:     hosttext.Indent(hosttext.SamplingReply(reply)),
		Question: "Allow it?",
		Answers:  yesNo,
	}, errRefused)
	return err
}
