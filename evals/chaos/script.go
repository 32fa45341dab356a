package chaos

import (
	"context"
	"fmt"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// Script is what a model does that requests the calls of the next turn according to the history. Each run
// has turns of parallel calls to the server of one kind, and then ends.
type Script struct {
	Turns, Fan int                         // turns of each run, and calls of each turn
	Kinds      []string                    // kinds of the servers, such as [Keys], for one run after the other
	Tenants    int                         // number of tenants of the runs; 0: none
	Tool       func(turn, call int) string // nil: the tool "effect"
}

// Kind returns the kind of the server of run number i.
func (s *Script) Kind(i int) string { return s.Kinds[i%len(s.Kinds)] }

// Key returns the key of run number i. The model is told its ID.
func (s *Script) Key(i int) run.Key {
	key := run.Key{ID: fmt.Sprintf("run%04d", i)}
	if s.Tenants > 0 {
		key.Tenant = fmt.Sprint("tenant", i%s.Tenants)
	}
	return key
}

// callName returns the name by which the tools know a call of a run.
func callName(runID string, turn, i int) string { return fmt.Sprintf("%s/%d/%d", runID, turn, i) }

// callID returns the id by which the model knows a call.
func callID(turn, i int) string { return fmt.Sprintf("c%d_%d", turn, i) }

// Model returns the model.
func (s *Script) Model() agent.Model {
	return agenttest.PlayRepeating(func(_ context.Context, t agenttest.Turn) (*model.Response, error) {
		return &model.Response{Message: s.next(t.Request.Messages)}, nil
	})
}

// next returns the next message of the model.
func (s *Script) next(messages []run.Message) run.Message {
	turn, id := 0, ""
	for _, m := range messages {
		switch m.Role {
		case run.RoleAssistant:
			turn++
		case run.RoleUser:
			id = m.Text()
		}
	}
	if turn == s.Turns {
		return run.Text(run.RoleAssistant, "done")
	}
	m := run.Message{Role: run.RoleAssistant}
	for i := range s.Fan {
		tool := "effect"
		if s.Tool != nil {
			tool = s.Tool(turn, i)
		}
		m.Parts = append(m.Parts, run.Part{
			Type: run.PartCall, ID: callID(turn, i), Name: tool,
			Arguments: fmt.Sprintf(`{"call":%q}`, callName(id, turn, i)),
		})
	}
	return m
}

// Agents returns an agent for each kind, in the order of Kinds, with the servers of a world at
// url. It overrides Name, Tools and Limits of the options: neither failures nor calls are limited.
func (s *Script) Agents(ctx context.Context, url string, o agent.Options) (all []*agent.Agent, err error) {
	for _, kind := range s.Kinds {
		server := adapter.Server{Name: kind, Transport: &mcpclient.HTTP{URL: url + "/" + kind}}
		if kind == Keys {
			server.KeyInMeta = adapter.IdempotencyKeyMeta
		}
		tools, err := adapter.Open(ctx, []adapter.Server{server}, nil)
		if err != nil {
			return nil, err
		}
		own := o
		own.Name, own.Tools, own.Limits = kind, []adapter.Source{tools}, run.Limits{Failures: -1, Calls: -1}
		a, err := agent.New(s.Model(), &own)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}
