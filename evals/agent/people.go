package agenteval

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

func (t *trial) people() agent.Person {
	people := &t.task.People
	person := agent.Person{Reply: func(_ context.Context, q *run.Question) (run.Reply, error) {
		reply, err := answer(people, q)
		return reply, harnessError(err) // the suite's reply does not fit the question
	}}
	if len(people.Approve) > 0 {
		person.Approve = func(_ context.Context, a *approval.Request) (approval.Decision, error) {
			for _, p := range people.Approve {
				if ok, _ := path.Match(p.Tool, a.Name); ok {
					return approval.Decision{Allow: p.Allow, Reason: p.Reason, Arguments: p.Arguments}, nil
				}
			}
			return approval.Decision{Reason: "the person says nothing"}, nil
		}
	}
	return person
}

// answer returns the reply of a task's people to a question of a run.
func answer(p *suite.People, q *run.Question) (run.Reply, error) {
	var forms []suite.Form
	message := ""
	switch q.Kind {
	case run.QuestionForm:
		forms, message = p.Forms, q.Elicit.Message
	case run.QuestionURL:
		forms, message = p.URLs, q.Elicit.Message+" "+q.Elicit.URL
	}
	for _, f := range forms {
		if !strings.Contains(message, f.Message) {
			continue
		}
		switch f.Action {
		case "accept":
			return q.Accept(f.Content)
		case "cancel":
			return run.Reply{Question: q.ID, Action: run.ActionCancel}, nil
		}
		break
	}
	return q.Decline(), nil
}

func (t *trial) sample(_ context.Context, q *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
	asked, err := json.Marshal(q.Messages)
	if err != nil {
		return nil, err
	}
	for _, s := range t.task.People.Sampling {
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
