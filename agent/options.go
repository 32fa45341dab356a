package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent/compact"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/agent/run/record"
	"github.com/mcpchain/mcpchain/internal/cost"
	"github.com/mcpchain/mcpchain/price"
)

// Options configure an [Agent]. Nil and the zero value are valid: a number that is 0 has its default. A negative one is
// no limit, or none of what the option is for; [New] refuses it where a run needs one.
//
// A run waits for its callbacks: they must return when their context ends. A panic in
// one is an error, which ends the run.
type Options struct {
	// Name is kept with each run: [Recover] finds the agent of a run by it. Default "agent".
	Name string

	// Version is kept with runs, and given to Observe. Default: none.
	Version string

	// System is the system prompt. It goes before the messages of every model
	// call and is not part of the history. Default: none.
	System string

	// ServerInstructions reports whether the model gets a server's instructions for its use: in the system prompt,
	// under the host's label of the server, quoted line by line, up to 4 KiB from each server and 16 KiB from all.
	// The server writes the text: name only servers that you trust with the prompt. Servers without a tool for the
	// model are left out. Default nil: none.
	ServerInstructions func(label string) bool

	// Tools are what the model may use: toolsets, native functions ([adapter.Func]),
	// langchaingo's tools, other agents. The agent does not close them. Default: none.
	Tools []adapter.Source

	// Discover says when the model searches for its tools. Default: it searches if their definitions take more than 5 % of
	// its window.
	Discover Discover

	// Limits bound a run, from an input to its answer. At a limit the model is asked for
	// an answer without tools. Default for each: see [run.Limits]; [WithLimits] is for one run.
	Limits run.Limits

	// ParallelWrites lets all calls of a turn run side by side. Default: calls of one server that may change
	// something are sent one after the other, in their order: the next one when the one before has its result or
	// waits for a person. Functions belong to the server named in [adapter.FuncOptions]. Calls of other servers, of
	// tools that change nothing ([adapter.Tool.ReadOnly]) and of sub-agents run beside them, up to Limits.Parallel.
	ParallelWrites bool

	// Model says how the model is asked. Default: the model's own settings.
	Model ModelSettings

	// MaxDuration bounds the time of a run in this process. A run that takes longer fails
	// with [context.DeadlineExceeded]. Default: the context's own deadline only.
	MaxDuration time.Duration

	// Person decides on calls and answers questions. Default: every call is allowed, and nobody is at hand.
	Person Person

	// Durable keeps runs, so that any process can continue them. Default: runs are not kept.
	Durable Durable

	// Hooks take part in runs: they may change what the model gets, guard tool calls, and
	// stop a run. They are called in this order. Default: none.
	Hooks []Hook

	// Observe sees the work on runs: package otelagent traces and measures it. Sub-agents without one use their
	// caller's. Default: none.
	Observe Observer

	// Compact shortens a history that is too long for the model, before a model call, see package compact. What it
	// uses counts afterwards, and nothing is reserved for it. Default: [compact.Trim] at 0.7 of 128,000 tokens.
	Compact compact.Compactor
}

// Person says who decides on the calls of a run, and who answers its questions.
type Person struct {
	// Approve decides on calls, instead of the Approve functions of the toolset. It does not see calls that
	// [adapter.Policy].Trust allows or for which a decision is remembered. It decides on one call of a user at a time, in
	// the order of the calls. Allowed calls run meanwhile. If it returns the error [ErrAsk], a person is
	// asked: [AskPerson] does so for each call. Another error ends the run. Default: the
	// functions of the toolset; without any, every call is allowed, because the caller chose
	// the tools.
	Approve approval.Func

	// Reply is the person at hand: it answers the questions of a run, see [run.Question]. Calls of it may overlap. What
	// servers ask comes here, unless the host has given their clients an Elicitation handler. If it returns the zero
	// [run.Reply] and no error, or is nil, the run waits until [Agent.Resume] brings the answer. An error, or an
	// answer that does not fit its question, ends the run. The context ends when the question is settled elsewhere.
	//
	// A server of the legacy era waits for its answer in an open call, see Legacy. If Reply
	// fails, the server is told that the person cancelled.
	Reply func(ctx context.Context, q *run.Question) (run.Reply, error)

	// Legacy says what happens to a question that a server asks in an open call. Such a call cannot outlive the
	// process. Default: if Reply gives no answer, the call of a run in a Store waits
	// for 5 min for one from elsewhere; in other runs the server gets an error that says that the user was not asked ([adapter.ErrNotAsked]).
	Legacy LegacyQuestions

	// QuestionTTL is how long a question stays open. One that is not answered in time is denied, or cancelled. Default:
	// without end.
	QuestionTTL time.Duration
}

// Durable says where runs are kept, and what becomes of a run whose process has ended.
type Durable struct {
	// Store keeps runs. With one, each step of a run is durable before the next, and any
	// process with the store can continue the run by [Agent.Resume] or [Recover]. Default
	// nil: runs are not kept.
	Store record.Store

	// ResultTokens is how many tokens of one result the model gets, if the Store keeps what is too long ([record.BlobStore], as the
	// stores of this module do): the whole is kept with the run, and a tool read_result reads it by bytes, lines, pattern or JSON
	// pointer. Default: a 20th of the model's window, between 1,000 and 8,000, and 4,000 if the window is unknown. Negative:
	// results are not kept, and the bound is that of the tools' source ([adapter.Policy].MaxResult).
	ResultTokens int

	// LeaseTTL is how long a process holds a run without a sign of life. Default 1 min.
	LeaseTTL time.Duration

	// Doubt says what happens to a call that was under way when its process ended. Default: [DoubtTellModel].
	Doubt DoubtPolicy
}

// ModelSettings say how an agent asks its model, and what that costs. A field that is 0, empty or nil leaves it to the model.
type ModelSettings struct {
	MaxTokens   int      // of a reply with its reasoning
	Temperature *float64 // some models take none
	Effort      string   // of reasoning: "none", "minimal", "low", "medium", "high", …

	// Whole asks for whole replies: nobody sees a piece of one before the AfterModel hooks, see [Hook].
	// Default: the text comes as [TextDelta] if the model streams.
	Whole bool

	// Retries is how often a failed model call is repeated: after a rate limit, a timeout or an unavailable host, and
	// only if nothing of its reply was shown. Waits grow from 1 s to 30 s. Failures that a model has retried itself,
	// as packages openaimodel and anthropicmodel do, are not retried again. Default 2; negative: none.
	Retries int

	// Prices say what the model costs, see [run.Spent].Cost. Limits.Cost needs them, and the name of the model: New then
	// refuses a model without a price ([price.ErrUnpriced]). Their Date is required. Default: unknown.
	Prices *price.Table
}

// StopReason says why a run ended with an answer.
type StopReason string

const (
	// StopOutput: the model answered without asking for tools.
	StopOutput StopReason = "answer"

	// StopHook: a hook ended the run with an answer, see [Stop].
	StopHook StopReason = "hook"

	// The other reasons name the limit that was reached. The model was then
	// asked for a final answer without tools.
	StopMaxTurns     StopReason = "max_turns"
	StopMaxToolCalls StopReason = "max_tool_calls"
	StopMaxFailures  StopReason = "max_failures"
	StopMaxTokens    StopReason = "max_tokens"
	StopMaxCost      StopReason = "max_cost"
	StopMaxActive    StopReason = "max_active"
)

// defaultLease is how long a process holds a run without a sign of life.
const defaultLease = time.Minute

func (o *Options) withDefaults() (*Options, error) {
	var out Options
	if o != nil {
		out = *o
	}
	var err error
	if out.Limits, err = withDefaults(out.Limits); err != nil {
		return nil, err
	}
	if out.Model.Prices != nil {
		if err := cost.Check(out.Model.Prices); err != nil {
			return nil, fmt.Errorf("options: Model.Prices: %w", err)
		}
	}
	if out.Durable.LeaseTTL < 0 {
		return nil, fmt.Errorf("options: Durable.LeaseTTL is %v; give a positive duration, or 0 for %v", out.Durable.LeaseTTL, defaultLease)
	}
	if err := out.Discover.check(); err != nil {
		return nil, err
	}
	if out.Durable.LeaseTTL == 0 {
		out.Durable.LeaseTTL = defaultLease
	}
	if out.Compact == nil {
		out.Compact = compact.Trim(nil)
	}
	if out.Model.MaxTokens < 0 {
		return nil, fmt.Errorf("options: Model.MaxTokens is %d; give a positive number, or 0 for the model's own", out.Model.MaxTokens)
	}
	if out.Model.Retries == 0 {
		out.Model.Retries = 2
	}
	if out.Name == "" {
		out.Name = "agent"
	}
	return &out, nil
}
