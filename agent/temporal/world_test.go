package temporal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/log"
	temporalsdk "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/agent/temporal"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// reply is what a script's model says in its n-th turn.
type reply struct {
	text  string
	calls []string // arguments of "note"
	err   error
}

// script is a model that says what follows the history.
type script []reply

func (script) Info() model.Info { return model.Info{NoStreaming: true} }

func (s script) Generate(_ context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) { yield(s.next(r.Messages)) }
}

type modelFunc func(r *model.Request) *model.Response

func (modelFunc) Info() model.Info { return model.Info{NoStreaming: true} }

func (f modelFunc) Generate(_ context.Context, r *model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) { yield(model.Delta{Response: f(r)}, nil) }
}

func (s script) next(messages []run.Message) (model.Delta, error) {
	turn := 0
	for _, m := range messages {
		if m.Role == run.RoleAssistant {
			turn++
		}
	}
	r := s[min(turn, len(s)-1)]
	if r.err != nil {
		return model.Delta{}, r.err
	}
	m := run.Message{Role: run.RoleAssistant}
	if r.text != "" {
		m = run.Text(run.RoleAssistant, r.text)
	}
	for i, arguments := range r.calls {
		m.Parts = append(m.Parts, run.Part{Type: run.PartCall, ID: fmt.Sprintf("c%d_%d", turn, i), Name: "note", Arguments: arguments})
	}
	return model.Delta{Response: &model.Response{Message: m, Finish: model.FinishStop}}, nil
}

// note is the arguments of the tool.
type note struct {
	N    int  `json:"n"`
	Ask  bool `json:"ask,omitempty"`  // for an approval
	Hang bool `json:"hang,omitempty"` // until the context ends
}

// world outlives workers. It has the store, and what the tools have done.
type world struct {
	store record.Store

	mu    sync.Mutex
	notes []int
	began chan struct{} // a hanging call has begun
	ended chan error    // it has ended, for this reason
}

func newWorld() *world {
	return &world{store: record.NewMemory(), began: make(chan struct{}, 8), ended: make(chan error, 8)}
}

func (w *world) note(ctx context.Context, n note) (string, error) {
	if n.Hang {
		w.began <- struct{}{}
		<-ctx.Done()
		w.ended <- context.Cause(ctx)
		return "", ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, n.N)
	return "noted", nil
}

func (w *world) noted() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]int{}, w.notes...)
}

func (w *world) agent(t *testing.T, model script, opts agent.Options) *agent.Agent {
	t.Helper()
	opts.Name, opts.Durable.Store = "helper", w.store
	opts.Tools = append(opts.Tools, adapter.Func("note", "Notes a number.", w.note, nil))
	opts.Person.Approve = func(ctx context.Context, a *approval.Request) (approval.Decision, error) {
		if strings.Contains(string(a.Arguments), `"ask"`) {
			return agent.AskPerson(ctx, a)
		}
		return approval.Decision{Allow: true}, nil
	}
	if opts.Durable.LeaseTTL == 0 {
		opts.Durable.LeaseTTL = 10 * time.Second
	}
	opts.Model.Retries = -1
	return check.Value(agent.New(model, &opts))(t)
}

var key = run.Key{Tenant: "acme", ID: "r"}

// theJob returns the input of a workflow as the client sends it.
func theJob() map[string]any {
	return map[string]any{"after": 500, "target": map[string]any{"tenant": key.Tenant, "id": key.ID, "agent": "helper"}}
}

// begin stores a run, and returns a workflow environment whose worker has the agent.
func begin(t *testing.T, a *agent.Agent, o *temporal.WorkerOptions) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	check.Must(t, check.Err(a.Begin(t.Context(), agent.Text("go"), agent.WithRun(key.ID), agent.WithTenant(key.Tenant))))
	return environment(t, a, o)
}

func environment(t *testing.T, a *agent.Agent, o *temporal.WorkerOptions) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(silent)
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	env.SetWorkerOptions(worker.Options{MaxHeartbeatThrottleInterval: 10 * time.Millisecond, DeadlockDetectionTimeout: time.Minute})
	check.Must(t, temporal.Register(env, []*agent.Agent{a}, o))
	return env
}

// finished checks that the workflow has ended with a run that is finished.
func finished(t *testing.T, env *testsuite.TestWorkflowEnvironment) {
	t.Helper()
	var got temporal.Outcome
	err := env.GetWorkflowResult(&got)
	check.Require(t, err == nil && got.Status == run.StatusFinished, "got %+v, %v, want a run that is done", got, err)
}

// typeOf returns the type of an application error, "" for another error.
func typeOf(err error) string {
	if app, ok := errors.AsType[*temporalsdk.ApplicationError](err); ok {
		return app.Type()
	}
	return ""
}

func (w *world) state(t *testing.T) *ledger.State {
	t.Helper()
	return w.stateOf(t, key)
}

func (w *world) stateOf(t *testing.T, key run.Key) *ledger.State {
	t.Helper()
	log := check.Value(w.store.Load(t.Context(), key))(t)
	return check.Value(ledger.StateOf(log.Records))(t)
}

func told(s *ledger.State) (texts []string) {
	for _, m := range s.History {
		for _, p := range m.Parts {
			if p.Type == run.PartResult {
				texts = append(texts, p.Text)
			}
		}
	}
	return texts
}

type answered struct {
	rejected, failed error
	done             bool
}

func (a *answered) Accept() {}

func (a *answered) Reject(err error) { a.rejected, a.done = err, true }

func (a *answered) Complete(_ any, err error) { a.failed, a.done = err, true }

func update(t *testing.T, env *testsuite.TestWorkflowEnvironment, id string, replies ...run.Reply) *answered {
	t.Helper()
	data := check.Value(json.Marshal(replies))(t)
	var args any
	check.Must(t, json.Unmarshal(data, &args))
	a := new(answered)
	env.UpdateWorkflow("answer", id, a, args)
	return a
}

var silent = log.NewStructuredLogger(slog.New(slog.DiscardHandler))
