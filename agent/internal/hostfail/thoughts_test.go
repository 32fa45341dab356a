package hostfail_test

import (
	"errors"
	"testing"

	"github.com/mcpchain/mcpchain/agent/internal/hostfail"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/chat"
	"github.com/mcpchain/mcpchain/internal/check"
)

// A refusal that does not end when thoughts are left out has another reason: they go back with later requests.
func TestRefusalForAnotherReason(t *testing.T) {
	thoughts := hostfail.Thoughts{
		ID:      func(p *run.Part) string { return p.Text },
		Refuses: func(*chat.Error) bool { return true },
	}
	r := &model.Request{Messages: []run.Message{run.Text(run.RoleAssistant, "Hm.")}, Scratch: new(any)}
	var sent []int // thoughts
	for range 2 {
		_, err := thoughts.Ask(r, func(asked *model.Request) (*model.Response, error) {
			sent = append(sent, len(asked.Messages[0].Parts))
			return nil, &chat.Error{Status: 400, Message: "tools.1: the signature of the function"}
		})
		_, isHost := errors.AsType[*chat.Error](err)
		check.That(t, isHost, "got %v, want the failure of the host", err)
	}
	check.Same(t, "thoughts in requests", sent, []int{1, 0, 1, 0})
}
