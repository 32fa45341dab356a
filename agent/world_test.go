package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// world is what outlives the processes: the store, what the servers have done, and the
// person.
type world struct {
	store run.Store

	mu      sync.Mutex
	effects map[string]int    // by the "n" of a call's arguments
	results map[string]string // of the server that honours keys, by key
	asked   map[string]string // ids of questions, by what they are about
}

func newWorld() *world {
	return &world{store: run.NewMemory(), effects: map[string]int{}, results: map[string]string{}, asked: map[string]string{}}
}

// agent is an agent with a sub-agent, with servers and models of its own.
func (w *world) agent(t *testing.T, store run.Store) *agent.Agent {
	toolset := openAll(t, &adapter.Options{Client: &mcpclient.Options{Elicitation: agent.OnlyInRuns()}},
		adapter.Server{Name: "plain", Transport: w.plainServer().connect(t)},
		adapter.Server{Name: "keyed", Transport: w.keyedServer().connect(t), Idempotency: adapter.KeyInMeta("key")})
	opts := agent.Options{Store: store, Approve: byWord, Compact: shorten}
	helper := withTools(t, play(help), toolset, &agent.Options{Approve: byWord})
	opts.Tools = append(opts.Tools, sub(t, helper, agent.Sub))
	return withTools(t, play(lead), toolset, &opts)
}

// byWord has a person asked about calls that say so.
func byWord(_ context.Context, a *adapter.Approval) (adapter.Decision, error) {
	if strings.Contains(string(a.Arguments), `"approval"`) {
		return adapter.Decision{}, agent.ErrAsk
	}
	return adapter.Allow(), nil
}

func (w *world) plainServer() *server {
	s := emptyServer()
	s.addTool("note", func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.effects[number(r.Params.Arguments)]++
		return text(noted), nil
	})
	return s
}

func (w *world) keyedServer() *server {
	s := emptyServer()
	s.addTool("write", w.write)
	s.addTool("form", func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		if r.Params.InputResponses["name"] == nil {
			return ask(ctx, r)
		}
		return w.write(ctx, r)
	})
	return s
}

// write does what is asked, once for each key.
func (w *world) write(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	key, _ := r.Params.Meta["key"].(string)
	if key == "" {
		return nil, errors.New("the call has no key")
	}
	if w.results[key] == "" {
		w.effects[number(r.Params.Arguments)]++
		w.results[key] = "wrote " + string(r.Params.Arguments)
		if answer, ok := r.Params.InputResponses["name"].(*sdk.ElicitResult); ok {
			w.results[key] += fmt.Sprint(" for ", answer.Content["name"])
		}
	}
	return text(w.results[key]), nil
}

// rounds is how often the run does each thing.
const rounds = 2

// lead is the model: it goes on after the last call of its history.
func lead(ctx context.Context, p prompt) (*llms.ContentResponse, error) {
	next := after(p.messages)
	n := fmt.Sprint(next)
	arguments := fmt.Sprintf(`{"n":%q}`, n)
	switch {
	case next == 5*rounds:
		return says("done")(ctx, p)
	case next%5 == 0:
		return uses(toolCall(n, "note", fmt.Sprintf(`{"n":%q,"approval":"allow"}`, n)))(ctx, p)
	case next%5 == 1:
		return uses(toolCall(n, "write", fmt.Sprintf(`{"n":%q,"approval":"edit"}`, n)))(ctx, p)
	case next%5 == 2:
		return uses(toolCall(n, "form", arguments))(ctx, p)
	case next%5 == 3:
		return uses(toolCall("w"+n, "write", fmt.Sprintf(`{"n":"w%s"}`, n)), toolCall(n, "note", arguments))(ctx, p)
	}
	return uses(toolCall(n, "helper", fmt.Sprintf(`{"task":%q}`, n)))(ctx, p)
}

// help is the model of the sub-agent: its task is a number.
func help(ctx context.Context, p prompt) (*llms.ContentResponse, error) {
	id := p.messages[0].Parts[0].(llms.TextContent).Text
	switch len(p.messages) {
	case 1:
		return uses(toolCall("f"+id, "form", fmt.Sprintf(`{"n":"f%s"}`, id)))(ctx, p)
	case 3:
		return uses(toolCall("h"+id, "write", fmt.Sprintf(`{"n":"h%s","approval":"allow"}`, id)))(ctx, p)
	}
	return says("helped: "+strings.Join(lines(p.messages), " "))(ctx, p)
}

// after is the number of the next call.
func after(messages []llms.MessageContent) (next int) {
	for _, m := range messages {
		for _, part := range m.Parts {
			if c, ok := part.(llms.ToolCall); ok {
				if _, err := fmt.Sscan(c.ID, &next); err == nil {
					next++
				}
			}
		}
	}
	return next
}

// shorten puts a summary in the place of all but two turns. It has all that was said, so
// that the last history has all that was done.
func shorten(_ context.Context, h []run.Message, _ compact.Budget) (*run.Compacted, error) {
	if len(h) < 9 {
		return nil, nil
	}
	left := len(h) - 4
	var said strings.Builder
	for _, m := range h[:left] {
		for _, p := range m.Parts {
			fmt.Fprintln(&said, m.Role, p.ID, p.Name, p.Arguments, p.Text)
		}
	}
	summary := run.Part{Type: run.SummaryPart, Text: said.String()}
	return &run.Compacted{Replaced: left, Messages: []run.Message{{Role: run.User, Parts: []run.Part{summary}}}}, nil
}
