package talk

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// viewAgentName is the name of the agent of views' calls in the store. Each call of [Service.CallForView] is a run, so
// it is shown like a call of an agent, and survives a restart.
const viewAgentName = "web-view"

// Bounds of the calls of views.
const (
	maxViewCalls = 8  // open calls of a conversation
	maxShownRuns = 50 // calls that windows show in a conversation; older ones are deleted
)

// ViewCall is a call made by a view.
type ViewCall struct {
	Conversation string          `json:"conversation"`
	Turn         int             `json:"turn"` // of the call whose result the view shows
	Call         string          `json:"call"` // the id of that call
	URI          string          `json:"uri"`  // the view's URI
	Server       string          `json:"server"`
	Tool         string          `json:"tool"` // the server's own name of the tool
	Arguments    json.RawMessage `json:"arguments"`
}

// viewPrefix begins the ids of runs that are calls of views.
const viewPrefix = "view-"

// isViewCall reports whether a run is a call of a view.
func isViewCall(key run.Key) bool { return strings.HasPrefix(key.ID, viewPrefix) }

// prefixOf returns the prefix of the ids of the calls of a conversation's views.
func prefixOf(conversation run.Key) string { return viewPrefix + conversation.ID + "-" }

// newViewAgent returns the agent whose runs are calls of views.
func newViewAgent(o Options, answer func(context.Context, *run.Question) (run.Reply, error)) (*agent.Agent, error) {
	tools := o.ViewTools
	if tools == nil {
		tools = adapter.Merge()
	}
	return agent.New(oneCall{tools}, &agent.Options{
		Name: viewAgentName, Tools: []adapter.Source{tools}, Durable: agent.Durable{Store: loadedStore{o.Store}, LeaseTTL: leaseTTL, AskInDoubt: true},
		Person: agent.Person{Approve: agent.AskPerson, Reply: answer},
	})
}

// oneCall is a model without an endpoint: it makes the call that its input describes, and ends.
type oneCall struct{ tools adapter.Source }

// Info implements [agent.Model].
func (oneCall) Info() model.Info { return model.Info{NoStreaming: true} }

// Generate implements [agent.Model].
func (m oneCall) Generate(_ context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		message, err := m.next(r.Messages)
		if err != nil {
			yield(model.Delta{}, err)
			return
		}
		yield(model.Delta{Response: &model.Response{Message: message}}, nil)
	}
}

// next returns the reply to the messages of a run: the call, or, after its result, a text that ends the run.
func (m oneCall) next(messages []run.Message) (run.Message, error) {
	if len(messages) != 1 || messages[0].Role != run.RoleUser {
		return run.Text(run.RoleAssistant, "The call has ended."), nil
	}
	var c ViewCall
	if json.Unmarshal([]byte(messages[0].Text()), &c) != nil {
		return run.Message{}, errors.New("the input is not a call of a view")
	}
	tool, err := m.tools.Catalog(profile.Plain).LookupStored(c.Server, c.Tool, "")
	if err != nil {
		return run.Message{}, err
	}
	call := run.Part{Type: run.PartCall, ID: "call", Name: tool.Name(), Arguments: string(c.Arguments)}
	return run.Message{Role: run.RoleAssistant, Parts: []run.Part{call}}, nil
}

// agentOf returns the agent that made a run.
func (s *Service) agentOf(key run.Key) *agent.Agent {
	if isViewCall(key) {
		return s.viewAgent
	}
	return s.agent
}

// withView returns the context for a run: for a call of a view, ctx with that view.
func (s *Service) withView(ctx context.Context, key run.Key) context.Context {
	if !isViewCall(key) {
		return ctx
	}
	c, err := s.viewCall(ctx, key)
	if err != nil {
		return ctx // the run cannot be driven, either
	}
	return adapter.WithView(ctx, c.URI)
}

// viewCall returns the call of a run.
func (s *Service) viewCall(ctx context.Context, key run.Key) (*ViewCall, error) {
	state, err := s.load(ctx, key)
	if err != nil {
		return nil, err
	}
	c := &ViewCall{}
	if err := json.Unmarshal(state.Vars["view"], c); err != nil {
		return nil, fmt.Errorf("a call of a view cannot be read: %w", err)
	}
	return c, nil
}

// CallForView makes a call of a view after the user has agreed, and returns its result. If ctx ends first, CallForView
// cancels the run of the call unless the call was sent: nobody is asked about it any more, in the next process either.
//
// The error matches ErrTooMany if the conversation has too many open calls, and apps.ErrDenied if the user has refused
// or stopped the call.
func (s *Service) CallForView(ctx context.Context, user string, c ViewCall) (*mcp.CallToolResult, error) {
	key, err := s.beginViewCall(ctx, run.Key{Tenant: user, ID: c.Conversation}, c)
	if err != nil {
		return nil, err
	}
	result, err := s.awaitViewCall(ctx, key)
	if err == nil || ctx.Err() == nil {
		return result, err
	}
	if err := s.cancelUnsent(context.WithoutCancel(ctx), key); err != nil {
		s.o.Logger.Warn("could not cancel a call of a view", "error", err)
	}
	return nil, ctx.Err()
}

// awaitViewCall returns the result of a call when its run has ended.
func (s *Service) awaitViewCall(ctx context.Context, key run.Key) (*mcp.CallToolResult, error) {
	t, err := s.acquire(ctx, key)
	if err != nil {
		return nil, err
	}
	defer s.release(t)
	for {
		changed := t.changed.Next()
		log, err := s.o.Store.Load(ctx, key)
		if err != nil {
			return nil, goneError(err)
		}
		if log.Head.Status.Ended() {
			return viewResult(log.Records)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// beginViewCall begins a run, after others of its conversation, and deletes runs that no window shows any more.
func (s *Service) beginViewCall(ctx context.Context, conversation run.Key, c ViewCall) (key run.Key, err error) {
	t, err := s.acquire(ctx, conversation)
	if err != nil {
		return key, err
	}
	defer s.release(t)
	select {
	case t.beginning <- struct{}{}:
		defer func() { <-t.beginning }()
	case <-ctx.Done():
		return key, ctx.Err()
	}
	runs, err := s.viewRuns(ctx, conversation)
	if err != nil {
		return key, err
	}
	open := 0
	for i, head := range runs {
		if !head.Status.Ended() {
			open++
		} else if i >= maxShownRuns { // no window shows it
			if err := s.o.Store.Delete(ctx, head.Key); err != nil {
				s.o.Logger.Warn("could not delete a call of a view", "error", err)
			}
		}
	}
	if open >= maxViewCalls {
		return key, ErrTooMany
	}
	encoded, err := jsonrpc.Marshal(c)
	if err != nil {
		return key, err
	}
	key = run.Key{Tenant: conversation.Tenant, ID: prefixOf(conversation) + strings.ToLower(rand.Text())}
	_, err = s.viewAgent.Begin(ctx, agent.Text(string(encoded)), agent.WithVar("view", encoded),
		agent.WithRun(key.ID), agent.WithNewRun(), agent.WithTenant(key.Tenant))
	if err != nil {
		return key, fmt.Errorf("begin the call of a view: %w", err)
	}
	s.startDriving(key)
	return key, nil
}

// cancelTime bounds cancelling a call, for which the end of the program waits.
const cancelTime = 10 * time.Second

// cancelUnsent cancels a run for which no view waits any more, unless its call was sent.
func (s *Service) cancelUnsent(ctx context.Context, key run.Key) error {
	ctx, cancel := context.WithTimeout(ctx, cancelTime)
	defer cancel()
	state, err := s.load(ctx, key)
	if err != nil || state.Status.Ended() {
		return err
	}
	for _, c := range state.Calls {
		if c.Tries > 0 {
			return nil
		}
	}
	return s.Stop(ctx, key.Tenant, key.ID)
}

// viewRuns lists the runs of a conversation's views, the latest first.
func (s *Service) viewRuns(ctx context.Context, conversation run.Key) (runs []run.Head, err error) {
	prefix := prefixOf(conversation)
	query := record.Query{Tenant: conversation.Tenant, Agents: []string{viewAgentName}}
	for head, err := range record.SkipDamaged(s.o.Store.List(ctx, query), nil) {
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(head.Key.ID, prefix) {
			runs = append(runs, head)
		}
	}
	return runs, nil
}

// stopViews cancels the calls of a conversation's views.
func (s *Service) stopViews(ctx context.Context, conversation run.Key) error {
	return s.eachViewCall(ctx, conversation, func(head run.Head) error {
		if head.Status.Ended() {
			return nil
		}
		return s.Stop(ctx, head.Key.Tenant, head.Key.ID)
	})
}

// deleteViews deletes the calls of a conversation's views.
func (s *Service) deleteViews(ctx context.Context, conversation run.Key) error {
	return s.eachViewCall(ctx, conversation, func(head run.Head) error { return s.o.Store.Delete(ctx, head.Key) })
}

// eachViewCall calls do for each call of a conversation's views, also after an error. ErrGone does not count as one.
func (s *Service) eachViewCall(ctx context.Context, conversation run.Key, do func(run.Head) error) error {
	if isViewCall(conversation) {
		return nil
	}
	runs, err := s.viewRuns(ctx, conversation)
	for _, head := range runs {
		if failure := do(head); !errors.Is(failure, ErrGone) {
			err = errors.Join(err, failure)
		}
	}
	return err
}
