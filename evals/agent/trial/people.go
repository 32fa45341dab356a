package trial

import (
	"context"
	"encoding/json"
	"path"
	"strings"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// setPeople has the people of the task answer: immediately, or after the agent has ended if the task suspends it.
func (d *driver) setPeople(o *agent.Options) {
	p := &d.Task.People
	if d.Task.Suspend {
		if len(p.Approve) > 0 {
			o.Person.Approve = agent.AskPerson
		}
		return
	}
	if len(p.Approve) > 0 {
		o.Person.Approve = func(_ context.Context, a *approval.Request) (approval.Decision, error) { return decide(p, a.Name), nil }
	}
	o.Person.Reply = func(_ context.Context, q *run.Question) (run.Reply, error) { return answer(p, q) }
}

// decide returns the decision of a task's people on a call of a tool.
func decide(p *suite.People, tool string) approval.Decision {
	for _, a := range p.Approve {
		switch ok, _ := path.Match(a.Tool, tool); {
		case !ok:
			continue
		case !a.Allow:
			return approval.Deny(a.Reason)
		}
		return approval.Decision{Allow: true, Arguments: a.Arguments}
	}
	return approval.Deny("the person says nothing")
}

// answer returns the reply of a task's people to a question of a run.
func answer(p *suite.People, q *run.Question) (run.Reply, error) {
	var forms []suite.Form
	message := ""
	switch q.Kind {
	case run.QuestionApproval:
		switch d := decide(p, q.Tool); {
		case !d.Allow:
			return q.Deny(d.Reason), nil
		case d.Arguments != nil:
			return q.AllowWith(d.Arguments), nil
		}
		return q.Allow(), nil
	case run.QuestionForm:
		forms, message = p.Forms, q.Elicit.Message
	case run.QuestionURL:
		forms, message = p.URLs, q.Elicit.Message+" "+q.Elicit.URL
	case run.QuestionDoubt:
		return q.NotRun(), nil
	case run.QuestionSampling:
		return q.Deny("the person says nothing"), nil
	}
	for _, f := range forms {
		if !strings.Contains(message, f.Message) {
			continue
		}
		switch f.Action {
		case "accept":
			return q.Accept(f.Content)
		case "cancel":
			return q.Cancel(), nil
		}
		break
	}
	return q.Decline(), nil
}

// sample answers a server's sampling request.
func (d *driver) sample(_ context.Context, q *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	asked, err := json.Marshal(q.Messages)
	if err != nil {
		return nil, err
	}
	for _, s := range d.Task.People.Sampling {
		if !strings.Contains(string(asked), s.Message) {
			continue
		}
		if s.Refuse {
			break
		}
		return &mcp.CreateMessageResult{Model: "scripted", StopReason: "endTurn", Content: []mcp.Content{&mcp.TextContent{Text: s.Text}}}, nil
	}
	return nil, mcp.ErrRejected
}
