// Package person answers the questions of servers and of the agent by asking the person, or by what
// the person has said before, such as flags.
package person

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/answers"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/sampling"
)

// Person decides whether tools may run and servers may use the model, and fills in forms. Its
// methods may be called concurrently.
type Person struct {
	screen   screen.Screen
	yes      bool                       // allow tool calls and sampling
	answers  map[string]answers.Answers // by server
	Failures Failures                   // that the exit status of a script reports

	tools sync.Map // by toolKey: the fingerprint of a tool that is always allowed
	lends sync.Map // names of servers that may always use the model
}

// New returns the person at a screen. yes allows all tool calls and all use of the model. answers
// are prepared values for forms, by server.
func New(s screen.Screen, yes bool, answers map[string]answers.Answers) *Person {
	return &Person{screen: s, yes: yes, answers: answers}
}

// noTerminal is the reason for a refusal without a question.
const noTerminal = "there is no terminal to ask on; start with -yes to allow it"

// errRefused is what the server gets if the person says no.
var errRefused = errors.New("the person refused")

// yesNo are the answers of a question without others.
var yesNo = []screen.Answer{{Key: 'y', Label: "yes"}, {Key: 'n', Label: "no"}}

// choose has the person choose an answer. For the key n, the error is refused.
func (p *Person) choose(ctx context.Context, q *screen.Choice, refused error) (key byte, err error) {
	if key, err = p.screen.Choose(ctx, q); err == nil && key == 'n' {
		err = refused
	}
	return key, err
}

// turnKey marks contexts in which the person may be asked.
type turnKey struct{}

// InTurn marks the context of a turn. Questions at other times would interrupt the person's typing, and are refused.
func InTurn(ctx context.Context) context.Context { return context.WithValue(ctx, turnKey{}, true) }

// isInTurn reports whether the person may be asked.
func isInTurn(ctx context.Context) bool { return ctx.Value(turnKey{}) != nil }

// elicitResult returns the result for a server. The end of the input cancels a question, and does not decline it.
func elicitResult(action string, err error, content map[string]any) (*mcp.ElicitResult, error) {
	switch {
	case errors.Is(err, io.EOF):
		return &mcp.ElicitResult{Action: mcp.ElicitCancel}, nil
	case err != nil:
		return nil, err
	case action != mcp.ElicitAccept:
		content = nil
	}
	return &mcp.ElicitResult{Action: action, Content: content}, nil
}

// Failures counts what makes the exit status of a script a failure. It may be used concurrently.
type Failures struct {
	Unreachable atomic.Int64 // servers, if none can be reached
	Failed      atomic.Int64 // turns and commands, which were reported before
	Denied      atomic.Int64 // tool calls, because there is no person to ask
	Declined    atomic.Int64 // forms that prepared answers did not complete
}

// Report shows each kind of failure on a line, and reports whether there are any.
func (f *Failures) Report(s screen.Screen) bool {
	var lines []string
	if n := f.Unreachable.Load(); n > 0 {
		lines = append(lines, "no server could be reached, of "+cli.Plural(int(n), "server"))
	}
	if n := f.Denied.Load(); n > 0 {
		lines = append(lines, fmt.Sprintf("%s denied, because no person could be asked; "+
			"start with -yes to allow them", cli.Plural(int(n), "call")))
	}
	if n := f.Declined.Load(); n > 0 {
		lines = append(lines, fmt.Sprintf("%s declined, because no person could be asked and -answer did not "+
			"complete it; see above", cli.Plural(int(n), "form")))
	}
	for _, line := range lines {
		s.Note(screen.Fail, "mcpchain: %s", line)
	}
	return len(lines) > 0 || f.Failed.Load() > 0
}

// Lender passes the requests of servers to a sampler with the methods Lend and Release of a person. A person who allows
// a request also allows its reply, unless the person wants to see the reply first.
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
