package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/cost"
	"github.com/mcpchain/mcpchain/internal/ledger"
	"github.com/mcpchain/mcpchain/price"
)

// Options configure an [Agent]. Nil and the zero value are valid. In a number, 0 means the default, and
// a negative value means no limit or none; [New] refuses it where a run needs a limit.
//
// A run waits for its callbacks, which must return when their context ends. A panic in one fails
// the run; in Observer it interrupts the run, and in Compact and Discover.Rank it counts as an
// error of the function. Callbacks may be called concurrently, because runs share the agent.
type Options struct {
	// Name is stored with each run. [Recover] finds the agent of a run by it. Default "agent".
	Name string

	// System is the system prompt. It precedes the messages of every model call and is not part
	// of the history. Default: none.
	System string

	// ServerInstructions reports whether the instructions of a server are added to the system prompt,
	// under the server's label, quoted line by line, up to 4 KiB per server and 16 KiB in total. The
	// server writes the text, so allow only servers that you trust with the prompt. Servers that offer
	// the model no tool are left out. It may be called concurrently. Default nil: none.
	ServerInstructions func(label string) bool

	// Tools are what the model may use: toolsets, functions ([adapter.Func]), langchaingo's
	// tools, other agents, which may not be part of another source ([adapter.Merge]). No two functions
	// or agents may have the same label, name and definition. The agent does not close them. Default: none.
	Tools []adapter.Source

	// Discover specifies when the model searches for its tools. The zero value has the defaults.
	Discover Discover

	// Limits bound a run from an input to its output. At a limit the model is asked for an answer
	// without tools. [run.Limits] has the defaults; [WithLimits] overrides them for one run.
	Limits run.Limits

	// ParallelWrites lets all calls of a turn run concurrently. Default: calls to one server
	// that may change something are made one after the other, in order, each after the previous
	// one has a result or waits for a person. [adapter.FuncOptions.Server] is the server of a
	// function. Calls to other servers, of read-only tools ([adapter.Tool.ReadOnly]) and of
	// sub-agents are concurrent with them, up to Limits.Parallel.
	ParallelWrites bool

	// Model has settings of model calls. Default: the model's own.
	Model ModelSettings

	// Person approves calls and replies to questions. Default: the Approve functions of Tools decide,
	// calls of tools without one are allowed, and nobody replies.
	Person Person

	// Durable stores runs, so that any process can continue them. Default: runs are not stored.
	Durable Durable

	// Hooks may change what the model gets, guard tool calls, and stop a run. They are called
	// in order. Default: none.
	Hooks []Hook

	// Observer observes the work on runs: package otelagent traces and measures it. Sub-agents
	// without one use their parent's. Default: none.
	Observer Observer

	// Compact shortens a history that is too long for the model, before a model call. Its usage is
	// counted afterwards; nothing is reserved for it. Default: [compact.Trim] at 0.7 of the model's
	// window, or of 128,000 tokens if that is unknown.
	Compact compact.Compactor
}

// Person approves the calls of a run and replies to its questions.
type Person struct {
	// Approve decides on calls, instead of the Approve functions of the toolset. It does not
	// see calls that [adapter.Policy.Trust] or a remembered decision allows. It is called for
	// one call of a user at a time, in order; allowed calls run meanwhile. A person is asked if it
	// returns what [AskPerson] returns. Any other error fails the run. Default: the functions of the
	// toolset; if it has none, its calls are allowed.
	Approve approval.Func

	// Reply replies to the questions of a run. Calls may overlap. Servers' questions come here
	// unless the program has given their clients an Elicitation handler. If Reply is nil, or
	// returns the zero [run.Reply] and no error, the run waits until [Agent.Resume] brings a reply.
	// An error or an invalid reply fails the run; if a legacy server waits for the reply (see
	// Hold), that server is told that the person cancelled. The context ends when the run closes
	// the question in another way. A reply that the Store has got meanwhile counts instead.
	Reply func(ctx context.Context, q *run.Question) (run.Reply, error)

	// Hold is how long a call waits for the reply to a question that a legacy server (up to revision
	// 2025-11-25) asks during the call, if its client has no Elicitation handler and Reply returns none.
	// Such a question ends with its call, and so with the process. Meanwhile it is a question of the
	// run (with run.Question.Survives false), and the reply may come from any process, through
	// [Agent.Reply]. After Hold, or QuestionTTL if that is shorter, the server is told that the
	// person cancelled. Default 5 min; negative: the server is told immediately that nobody was asked.
	// Without a store there is no such wait: the server is told immediately, and if Reply is nil, the
	// run emits a [Warning]; other questions still suspend the run. Limits.Questions bounds such
	// questions of one turn; beyond it the run fails.
	Hold time.Duration

	// QuestionTTL is how long a question stays open. After that it is denied or cancelled, and
	// a call in doubt stays in doubt. Default: no limit.
	QuestionTTL time.Duration
}

// Durable specifies where runs are stored, and what happens to a run whose process has died.
type Durable struct {
	// Store stores runs. With a store, each step of a run is durable before the next, and any
	// process with the store can continue the run by [Agent.Resume] or [Recover]. Default nil:
	// runs are not stored.
	Store record.Store

	// ResultTokens is how many tokens of one result the model gets, with a Store: the full result
	// is stored with the run, and the model gets a tool read_result to read it by bytes, lines,
	// pattern or JSON pointer. The model gets at least 1 KiB, which names that tool. Default: a 20th
	// of the model's window, between 1,000 and 8,000, or 4,000 if the window is unknown. Negative:
	// results are not stored, and only [adapter.Policy.MaxResult] applies.
	ResultTokens int

	// LeaseTTL is how long a process holds a run without a sign of life. Default 1 min.
	LeaseTTL time.Duration

	// AskInDoubt asks a person whether a call ran that was in progress when its process died, and
	// that cannot safely be sent again. Default: the model is told that it may have run.
	AskInDoubt bool
}

// ModelSettings are settings of model calls, and the model's price. If MaxTokens, Temperature or
// Effort is zero or nil, the model chooses.
type ModelSettings struct {
	MaxTokens   int      // the bound of a reply, including its reasoning
	Temperature *float64 // some models accept none
	Effort      string   // how much to reason: "none", "minimal", "low", "medium", "high", …

	// NoStreaming asks for complete replies, so that nothing of a reply is shown before its
	// AfterModel hooks. Default: the text comes as [TextDelta] if the model streams.
	NoStreaming bool

	// Retries is how often a failed model call is repeated: after a rate limit, a timeout or an
	// unavailable provider, if nothing of its reply was shown. The waits grow from 1 s to 30 s.
	// Failures that the model has retried itself, as openaimodel and anthropicmodel do, are not
	// retried again. Default 2; negative: none.
	Retries int

	// Prices are the prices of models, for [run.Usage.Cost]. Limits.Cost needs them and the name of
	// the model: New then refuses a model without a price ([price.ErrUnpriced]). Date is required.
	// Default: unknown.
	Prices *price.Table
}

// The defaults of options.
const (
	defaultName    = "agent"
	defaultLease   = time.Minute
	defaultRetries = 2
)

// withDefaults returns a copy of the options with their defaults. The error names the option that is
// wrong.
func (o *Options) withDefaults() (*Options, error) {
	var out Options
	if o != nil {
		out = *o
		out.Tools, out.Hooks = slices.Clone(o.Tools), slices.Clone(o.Hooks)
	}
	if err := out.check(); err != nil {
		return nil, err
	}
	var err error
	if out.Limits, err = limitsWithDefaults(out.Limits); err != nil {
		return nil, err
	}
	out.Name = cmp.Or(out.Name, defaultName)
	out.Model.Retries = cmp.Or(out.Model.Retries, defaultRetries)
	out.Durable.LeaseTTL = cmp.Or(out.Durable.LeaseTTL, defaultLease)
	if out.Compact == nil {
		out.Compact = compact.Trim(nil)
	}
	return &out, nil
}

// check returns an error that names the first option that is wrong, except for the limits.
func (o *Options) check() error {
	if o.Model.Prices != nil {
		if err := cost.Check(o.Model.Prices); err != nil {
			return fmt.Errorf("Model.Prices: %w", err)
		}
	}
	if o.Durable.Store != nil {
		if err := nilError("Durable.Store", o.Durable.Store); err != nil {
			return err
		}
	}
	switch {
	case o.Model.MaxTokens < 0:
		return fmt.Errorf("Model.MaxTokens is %d; give a positive number, or 0 for the model's own", o.Model.MaxTokens)
	case o.Durable.LeaseTTL < 0:
		return fmt.Errorf("Durable.LeaseTTL is %v; give a positive duration, or 0 for %v", o.Durable.LeaseTTL, defaultLease)
	}
	return o.Discover.check()
}

// The default limits of a run.
const (
	defaultTurns     = 20
	defaultCalls     = 100
	defaultFailures  = 5
	defaultParallel  = 8
	defaultQuestions = 100
	defaultDepth     = 4
)

// limitsWithDefaults returns a copy in which the limits that are 0 have their defaults. A negative number
// means no limit, except where a run needs one: that is an error, and so are a negative cost and a
// depth that no run can have.
func limitsWithDefaults(l run.Limits) (run.Limits, error) {
	l.Turns = cmp.Or(l.Turns, defaultTurns)
	l.Calls = cmp.Or(l.Calls, defaultCalls)
	l.Failures = cmp.Or(l.Failures, defaultFailures)
	l.Parallel = cmp.Or(l.Parallel, defaultParallel)
	l.Questions = cmp.Or(l.Questions, defaultQuestions)
	l.Depth = cmp.Or(l.Depth, defaultDepth)
	if l.Parallel < 0 || l.Depth < 0 {
		return l, errors.New("Limits.Parallel and Limits.Depth must be positive, or 0 for their defaults")
	}
	if l.Depth > ledger.MaxDepth {
		return l, fmt.Errorf("Limits.Depth is %d, and may be %d at most", l.Depth, ledger.MaxDepth)
	}
	l.Active, l.Tokens = max(l.Active, 0), max(l.Tokens, 0)
	l.Cost = maps.Clone(l.Cost)
	for currency, micro := range l.Cost {
		if micro < 0 {
			return l, fmt.Errorf("Limits.Cost of %q is %d; give a positive value, or 0 for no cost at all", currency, micro)
		}
	}
	return l, nil
}
