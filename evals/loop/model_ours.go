package main

import (
	"context"
	"iter"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
)

// ourModel plays the script in our agent's type.
type ourModel struct{ *script }

func (ourModel) Info() model.Info { return model.Info{Whole: true} }

func (m ourModel) Generate(context.Context, *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		ids := m.next()
		reply := &model.Response{Message: run.Text(run.RoleAssistant, answer), Finish: model.FinishStop}
		if ids != nil {
			reply.Finish, reply.Message.Parts = model.FinishCalls, make([]run.Part, len(ids))
		}
		for i, id := range ids {
			reply.Message.Parts[i] = ourCall(id)
		}
		yield(model.Delta{Response: reply}, nil)
	}
}

func ourCall(id string) run.Part {
	return run.Part{Type: run.PartCall, ID: id, Name: toolName, Arguments: arguments}
}

// ourHistory returns a history in our agent's type.
func ourHistory(n int) (messages []run.Message) {
	for i := range n {
		id := historyID(i)
		switch i % 4 {
		case 0:
			messages = append(messages, run.Text(run.RoleUser, historyText))
		case 1:
			messages = append(messages, run.Message{Role: run.RoleAssistant, Parts: []run.Part{ourCall(id)}})
		case 2:
			messages = append(messages, run.Message{Role: run.RoleTool, Parts: []run.Part{
				{Type: run.PartResult, ID: id, Name: toolName, Text: toolResult},
			}})
		case 3:
			messages = append(messages, run.Text(run.RoleAssistant, historyText))
		}
	}
	return messages
}
