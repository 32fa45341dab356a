// Package agent runs language models with tools: tools of MCP servers, Go functions, and other
// agents. A run calls the model and the tools that it asks for, until the model has an answer.
//
//	a, err := agent.New(model, &agent.Options{System: "Be brief.", Tools: []adapter.Source{toolset}})
//	…
//	result, err := a.Run(ctx, agent.Text("What is on my calendar?"))
//
// The guide is docs/agent.md of the repository, and examples/agent is a program.
//
// # Runs
//
// A run is a list of records, from which its state is computed. An [Agent] needs nothing else: it
// advances a run turn by turn and appends records. In each turn it calls the model and runs the tools
// that the model asks for. With [Durable.Store] each step is durable before the next, so that any
// process can continue the run.
//
//	Agent.Run, RunAs           begin a run and return its outcome
//	Agent.Events               begin a run and yield what happens
//	Agent.Resume               continue a stored run, with replies, and return its outcome
//	Agent.ResumeEvents         continue a stored run, with replies, and yield what happens
//	Agent.ResumeStateEvents    continue a run without a store
//	Agent.Begin, Agent.Reply   store an input or replies, and leave the work to Recover
//	Recover                    work on the due runs of a store
//	Agent.Advance              work on a run for one turn, for a workflow engine
//	Agent.Replay               yield what happened in a stored run
//
// The model is told about problems with tools, and may try something else: an unknown name, invalid
// arguments, a tool that failed, timed out or has changed, a server that is lost. An error of the
// model or of a callback fails the run. The end of the context ends only the work of this process:
// with a store the run can be resumed.
//
// Each model call is offered the tools that exist at that moment, as an [adapter.Catalog]. The
// calls of its reply refer to those tools, even if a server has changed them since.
//
// # Calls in doubt
//
// The intent of a call is durable before the call is sent, and its outcome as soon as there is one. A
// call that was in progress when its process died has no outcome: it is in doubt. It is sent again only
// if that is safe, because the server honours the key of the call or the tool changes nothing
// ([adapter.Server]). Otherwise the model is told, or a person is asked ([Durable.AskInDoubt]).
//
// # Questions
//
// Approvals, and what servers ask a person during a call, are questions of the run
// ([run.Question]). [Person.Reply] replies to them. Without it the run waits: its events end with
// [Suspended], and [Agent.Resume] continues it with the replies, in any process. [AskPerson], as
// Person.Approve, makes each call a question. Servers' questions come to the run unless the program
// has given their clients an Elicitation handler.
//
// A server's question gets an error if it belongs to no run, or if several runs use the server and
// the question does not name its run. The agent never answers for a person who was not asked.
package agent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
)

// Model is a language model: an [openaimodel.Model], an [anthropicmodel.Model], lc.Model for a
// model of langchaingo, or an implementation of your own.
//
// [openaimodel.Model]: https://pkg.go.dev/github.com/mcpchain/mcpchain/agent/openaimodel
// [anthropicmodel.Model]: https://pkg.go.dev/github.com/mcpchain/mcpchain/agent/anthropicmodel
type Model = model.Model

// Agent is a model with tools. It may be used for any number of concurrent runs.
type Agent struct{ recipe *recipe }

// New returns an agent that uses the model, which must not be nil. It does no I/O. The error
// names the invalid option.
func New(m Model, opts *Options) (*Agent, error) {
	r, err := newRecipe(m, opts)
	if err != nil {
		return nil, fmt.Errorf("new agent: %w", err)
	}
	return &Agent{r}, nil
}

// Name returns the name under which the agent's runs are stored.
func (a *Agent) Name() string { return a.recipe.opts.Name }

// LeaseTTL returns the time after which another process may take over a run whose process has died,
// see [Durable.LeaseTTL].
func (a *Agent) LeaseTTL() time.Duration { return a.recipe.opts.Durable.LeaseTTL }

// Run gives the input to the model and returns the outcome. If the run waits for a person the
// error is nil, Result.Status is run.StatusWaiting, and Result.Questions has the questions. The
// result is never nil: with an error it has what was done before. If the run itself has failed,
// and not only the work in this process, the error also matches [ErrFailed].
//
// An input for a run that waits or has no output yet is refused. The error matches [ErrWaiting], and
// Questions has the questions; [record.ErrHeld], if a process works on the run; or [ErrUnfinished].
func (a *Agent) Run(ctx context.Context, in []run.Message, opts ...RunOption) (*Result, error) {
	return a.begin(in, opts).outcome(ctx)
}

// Events gives the input to the model and yields events until the run has ended or waits. The last
// pair has an [*Output] or a [*Suspended], or an error and no event. Without [WithRun], each range
// over the sequence begins another run, which calls the tools again.
//
// The run continues while the loop body handles an event, up to its next event, or to the next call
// of Approve or of a handler of a server's request: a person is asked after what came before was
// shown, and the body must not wait for these. Leaving the loop cancels this process's work on the
// run; Events then waits for tool calls, callbacks and the model to return. With [Durable.Store]
// the run can be resumed.
//
// The caller must not modify in until the loop ends.
func (a *Agent) Events(ctx context.Context, in []run.Message, opts ...RunOption) iter.Seq2[Event, error] {
	return a.begin(in, opts).events(ctx)
}

// Text returns an input of one message of the person.
func Text(text string) []run.Message { return []run.Message{run.Text(run.RoleUser, text)} }

// RunOption is an option of one run.
type RunOption func(*runOptions)

type runOptions struct {
	key     run.Key
	hasID   bool // the id comes from WithRun
	newOnly bool
	limits  *run.Limits
	vars    map[string]json.RawMessage
	output  *output // nil: the answer is text
}

// WithRun gives the run an id. If [Durable.Store] has a run with this id that has ended, the input
// continues it: a conversation is one run with many inputs. By default each run gets a new id. It
// is an error if the agent has no store or the id is empty.
func WithRun(id string) RunOption {
	return func(o *runOptions) { o.key.ID, o.hasID = id, true }
}

// WithNewRun makes the input begin a run and never continue one, so that a repeated request begins
// one run. If the run named by [WithRun] exists, the error matches [record.ErrExists].
func WithNewRun() RunOption { return func(o *runOptions) { o.newOnly = true } }

// WithTenant gives the run to a tenant. [Durable.Store] keeps the runs of tenants apart.
func WithTenant(tenant string) RunOption { return func(o *runOptions) { o.key.Tenant = tenant } }

// WithLimits replaces all of [Options.Limits]: a field that is 0 has the default of [run.Limits],
// not the value of the options.
func WithLimits(l run.Limits) RunOption { return func(o *runOptions) { o.limits = &l } }

// WithVar sets a variable of a new run, which is stored with it: hooks read it in [State.Vars], in
// every process. An existing run keeps its own variables.
func WithVar(name string, value json.RawMessage) RunOption {
	return func(o *runOptions) {
		if o.vars == nil {
			o.vars = map[string]json.RawMessage{}
		}
		o.vars[name] = value
	}
}

// settings returns the options of a run, with the defaults of its limits, and gives it an id if it
// has none. The error names the option that is wrong.
func (r *recipe) settings(opts []RunOption) (*runOptions, error) {
	o := &runOptions{limits: &r.opts.Limits}
	for _, set := range opts {
		set(o)
	}
	switch {
	case o.hasID && r.opts.Durable.Store == nil:
		return nil, errors.New("WithRun needs Options.Durable.Store")
	case o.hasID && o.key.ID == "":
		return nil, errors.New("WithRun: id is empty")
	case o.key.ID == "":
		o.key.ID = "run_" + newKey()
	}
	for name, value := range o.vars {
		if value != nil && !json.Valid(value) {
			return nil, fmt.Errorf("WithVar: the value of %q is not valid JSON", name)
		}
	}
	limits, err := limitsWithDefaults(*o.limits)
	if err != nil {
		return nil, fmt.Errorf("WithLimits: %w", err)
	}
	o.limits = &limits
	return o, nil
}

// newKey returns a unique name.
func newKey() string {
	var random [16]byte
	rand.Read(random[:])
	return hex.EncodeToString(random[:])
}
