package tape

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/agenttest"
	llm "github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
)

// Info is the part of a model's description that is recorded and played.
type Info struct {
	Provider  string          `json:"provider,omitempty"`
	Name      string          `json:"name,omitempty"`
	Endpoint  string          `json:"endpoint,omitempty"`
	Profile   profile.Profile `json:"profile,omitempty"`
	Window    int64           `json:"window,omitempty"`
	MaxTokens int             `json:"max_tokens,omitempty"`
}

// InfoOf returns that part of a description.
func InfoOf(i llm.Info) Info {
	return Info{
		Provider:  i.Provider,
		Name:      i.Name,
		Endpoint:  i.Endpoint,
		Profile:   i.Profile,
		Window:    i.Window,
		MaxTokens: i.MaxTokens,
	}
}

// RecordModel returns a model that records its replies.
func (t *Tape) RecordModel(m agent.Model) agent.Model { return t.model(InfoOf(m.Info()), m) }

// PlayModel returns a model that plays recorded replies.
func (t *Tape) PlayModel(i Info) agent.Model { return t.model(i, nil) }

func (t *Tape) model(i Info, recorded agent.Model) agent.Model {
	return agenttest.PlayRepeating(func(ctx context.Context, turn agenttest.Turn) (*llm.Response, error) {
		return t.reply(ctx, recorded, &turn.Request)
	}).WithInfo(llm.Info{
		Provider:    i.Provider,
		Name:        i.Name,
		Endpoint:    i.Endpoint,
		Profile:     i.Profile,
		Window:      i.Window,
		MaxTokens:   i.MaxTokens,
		NoStreaming: true,
	})
}

// reply asks the model and records its reply, or returns the recorded reply to a request if there is no model.
func (t *Tape) reply(ctx context.Context, m agent.Model, r *llm.Request) (*llm.Response, error) {
	turn, messages := 1, slices.Clone(r.Messages)
	for i := range messages {
		messages[i].At = time.Time{}
		if messages[i].Role == run.RoleAssistant {
			turn++
		}
	}
	choice := map[string]any{"Mode": r.ToolChoice, "Name": r.ToolName}
	request, err := json.Marshal(map[string]any{"system": r.System, "messages": messages, "tools": r.Tools, "choice": choice})
	if err != nil {
		return nil, err
	}
	if m == nil {
		recorded, err := t.Replay(turn, request)
		if err != nil {
			return nil, err
		}
		reply := &llm.Response{}
		return reply, json.Unmarshal(recorded, reply)
	}
	var reply *llm.Response
	for d, err := range m.Generate(ctx, r) {
		if err != nil {
			return nil, err
		}
		reply = d.Response
	}
	recorded, err := json.Marshal(reply)
	if err != nil {
		return nil, err
	}
	return reply, t.Keep(Line{Reply: &Reply{Turn: turn, Request: request, Reply: recorded}})
}
