package person

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/answers"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Elicitation returns the handler for questions of servers. With a person it is nil: the agent
// keeps the questions with the run, and asks them by [Person.Answer].
func (p *Person) Elicitation() mcp.ElicitationHandler {
	if p.screen.Attended() {
		return nil
	}
	return p
}

// Answer answers a question of a run that is about a form or a page. It leaves other questions
// open, and all questions without a person.
func (p *Person) Answer(ctx context.Context, q *run.Question) (run.Reply, error) {
	if q.Elicit == nil || !p.screen.Attended() {
		return run.Reply{}, nil
	}
	result, err := p.elicit(ctx, q.Server, q.Elicit)
	if err != nil {
		return run.Reply{}, err
	}
	answer := run.Reply{Question: q.ID, Action: run.ActionCancel}
	switch result.Action {
	case mcp.ElicitAccept:
		answer, err = q.Accept(result.Content)
	case mcp.ElicitDecline:
		answer = q.Decline()
	}
	return answer, err
}

// ElicitationCapability declares forms, and URLs if there is a person.
func (p *Person) ElicitationCapability() mcp.ElicitationCapability {
	return mcp.ElicitationCapability{Form: true, URL: p.screen.Attended()}
}

// Elicit asks the person a server's question.
func (p *Person) Elicit(ctx context.Context, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	server, _ := adapter.OriginFrom(ctx)
	return p.elicit(ctx, server, params)
}

// elicit answers a form or a page of a server. Without a person, and outside of a turn, prepared
// values answer a form, and a page is declined.
func (p *Person) elicit(ctx context.Context, server string, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	if params.Mode == mcp.ElicitURL {
		return p.visit(ctx, server, params)
	}
	fields, err := forms.Fields(params)
	if err != nil {
		return nil, &mcp.RPCError{Code: mcp.CodeInvalidParams, Message: err.Error()}
	}
	form := newForm(p, server, params.Message, fields)
	if p.screen.Attended() && isInTurn(ctx) {
		action, err := p.screen.Fill(ctx, form.Form)
		return elicitResult(action, err, form.Values)
	}
	return form.unattended(), nil
}

// visit asks the person to open a URL. This program does not open it, as it must not see the page.
func (p *Person) visit(ctx context.Context, server string, params *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	link, err := hosttext.ParseLink(params.URL)
	if err != nil || !p.screen.Attended() || !isInTurn(ctx) {
		p.screen.Note(screen.Warn, "declined %s: it asked to open a web page", server)
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	}
	key, err := p.screen.Choose(ctx, &screen.Choice{
		Heading: fmt.Sprintf("The server %s asks you to open a page of %s in your browser. It says:",
			server, link.Host),
		Text:     hosttext.Block(params.Message, screen.MaxShown),
		Link:     link.URL,
		Warnings: link.Warnings,
		Question: "Will you open it?",
		Answers:  []screen.Answer{{Key: 'y', Label: "yes"}, {Key: 'n', Label: "no"}, {Key: 'c', Label: "cancel"}},
	})
	if err == nil && key == 'y' {
		err = p.awaitPage(ctx, server)
	}
	return elicitResult(screen.Actions[key], err, nil)
}

// errDone ends a wait because the server says that the page is done.
var errDone = errors.New("the server says that it is done")

// awaitPage waits until the person or the server says that the person has done what the page asks.
// A server that gets the answer too early asks again.
func (p *Person) awaitPage(ctx context.Context, server string) error {
	wait, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if done := mcpclient.ElicitationDone(ctx); done != nil {
		go func() {
			select {
			case <-done:
				cancel(errDone)
			case <-wait.Done():
			}
		}()
	}
	_, err := p.screen.Choose(wait, &screen.Choice{
		Question: fmt.Sprintf("Waiting for the page of %s …", server),
		Answers:  []screen.Answer{{Key: 'd', Label: "done"}},
	})
	if errors.Is(err, errDone) {
		return nil
	}
	return err
}

// form is a form of a server with the answers so far.
type form struct {
	*screen.Form
	person *Person
	given  *answers.Filled // prepared by -answer
}

// newForm returns a form with the prepared answers.
func newForm(p *Person, server, message string, fields []*forms.Field) *form {
	given := p.answers[server].Fill(fields)
	return &form{person: p, given: given, Form: &screen.Form{
		Server:   server,
		Heading:  fmt.Sprintf("The server %s asks:", server),
		Message:  message,
		Fields:   fields,
		Values:   given.Values,
		Mistakes: given.Mistakes,
	}}
}

// unattended answers a form without a person. It is accepted only if prepared answers and defaults complete it. Otherwise
// it is declined, with what would complete it, and counts as a failure, because the server needed an answer.
func (f *form) unattended() *mcp.ElicitResult {
	ui, message := f.person.screen, hosttext.Line(f.Message, 200)
	complete, errs := f.given.Complete()
	if complete {
		ui.Note(screen.Faint, "%s asks: %s\n%s", f.Server, message, hosttext.Indent(f.Summary()))
		return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: f.Values}
	}
	ui.Note(screen.Warn, "declined %s: %s", f.Server, message)
	f.person.Failures.Declined.Add(1)
	if len(f.person.answers[f.Server]) == 0 {
		ui.Note(screen.Warn, "  there is no terminal to ask on; "+
			"give -answer %s/key=value for the fields %s", f.Server, f.given.Names())
	}
	for _, err := range append(errs, f.given.UnknownKeys()...) {
		ui.Note(screen.Warn, "  %v", err)
	}
	return &mcp.ElicitResult{Action: mcp.ElicitDecline}
}
