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
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/agent/model"
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

// Profile returns the profile by which tools are defined for the model, see [adapter.Toolset.Catalog].
func (a *Agent) Profile() profile.Profile { return a.recipe.profile }
