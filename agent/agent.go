// Package agent lets a model use the tools of MCP servers until it has an
// answer.
//
// [Agent.Events] is the loop: call the model, run the tools that it asks for,
// give it the results, again. Everything that happens comes out of it as an
// [Event], in order, on the goroutine that ranges over it:
//
//	a, err := agent.New(model, toolset, &agent.Options{System: "Be brief."})
//	…
//	for event, err := range a.Events(ctx, messages) {
//		if err != nil {
//			return err
//		}
//		switch e := event.(type) {
//		case *agent.TextDelta:
//			fmt.Print(e.Text)
//		case *agent.ToolStart:
//			fmt.Printf("%s on %s …\n", e.Tool, e.Server)
//		case *agent.TurnEnd:
//			messages = append(messages, e.Messages...)
//		}
//	}
//
// [Agent.Run] is the same loop for callers who want the outcome only.
//
// The model reads what goes wrong with a tool, and may try something else: an
// unknown name, arguments that do not fit, a tool that failed or took
// too long, one that has changed since it was offered, a server that is gone.
// What goes wrong with the model, a callback or the context ends the run with an
// error.
//
// Each call of the model is offered a catalog of its own, and its reply means
// the tools of that one. Names in an earlier reply are history: nothing is called
// by them.
//
// Servers may ask for something during a tool call. Their questions appear among the
// events of the run, with the server and the tool call that asks, and go to the
// handlers of the clients:
//
//	adapter.Options{Client: &mcpclient.Options{
//		Elicitation: agent.OnlyInRuns(), // or a handler of the host
//		Sampling:    sampler,
//	}}
//
// [Options.OnElicit] answers before the handler does. A question outside of a run
// goes to the handler alone, and so does one of a server that several runs use at
// the same time, if it cannot be known which run is asked.
package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
)

// ErrNoAnswer is the error of a run whose model gave neither text nor tool
// calls. The run's messages are still good: asking again may help.
var ErrNoAnswer = errors.New("agent: the model gave neither text nor tool calls")

// Agent is a model with tools. It holds no state of its runs: any number of
// them may go on at the same time.
type Agent struct {
	model llms.Model
	tools *adapter.Toolset
	opts  *Options
	rules rules
}

// New returns an agent that gives the tools to the model, which must not be nil,
// or a nil pointer. tools may be a nil pointer, then the model has none; the
// agent does not close it.
func New(model llms.Model, tools *adapter.Toolset, opts *Options) (*Agent, error) {
	if model == nil {
		return nil, errors.New("new agent: model is nil")
	}
	if v := reflect.ValueOf(model); v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, fmt.Errorf("new agent: model is a nil %T: check the error of what was to make it", model)
	}
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("new agent: %w", err)
	}
	rules, err := opts.Dialect.rules(model)
	if err != nil {
		return nil, fmt.Errorf("new agent: %w", err)
	}
	if rules.profile, err = opts.profile(model, rules.profile); err != nil {
		return nil, fmt.Errorf("new agent: %w", err)
	}
	if opts.OnElicit != nil && (tools == nil || !tools.Elicits()) {
		return nil, errors.New("new agent: Options.OnElicit is never asked, because no server's client takes questions: set mcpclient.Options.Elicitation, for instance to agent.OnlyInRuns()")
	}
	return &Agent{model: model, tools: tools, opts: opts, rules: rules}, nil
}

// Profile is the provider for which the tools that the model gets are written:
// the definitions of [adapter.Toolset.Catalog] for it are what the model gets.
func (a *Agent) Profile() adapter.Profile { return a.rules.profile }

// Result is the outcome of a run.
type Result struct {
	// Answer is the text of the model's last message.
	Answer string

	// Messages is the history: what the run was given and what it added, without
	// [Options.System]. Give it back with a new human message to go on.
	Messages []llms.MessageContent

	Usage        Usage // of all model calls
	Turns        int   // model calls
	ToolCalls    int   // that the model asked for
	StopReason   StopReason
	FinishReason string // the provider's own word for why the last message ended
}

// Add takes an event into the result. A caller of [Agent.Events] gets what
// [Agent.Run] returns by adding all events to a Result that starts with the
// run's messages.
func (r *Result) Add(e Event) {
	switch e := e.(type) {
	case *ModelEnd:
		r.Turns++
		r.Usage.add(e.Usage)
	case *ToolEnd:
		r.ToolCalls++
	case *TurnEnd:
		r.Messages = append(r.Messages, e.Messages...)
	case *Answer:
		r.Answer, r.StopReason, r.FinishReason = e.Text, e.StopReason, e.FinishReason
	}
}

// Run gives the messages to the model and returns its answer. The result is
// never nil: with an error it holds the complete turns before it.
func (a *Agent) Run(ctx context.Context, messages []llms.MessageContent) (*Result, error) {
	result := &Result{Messages: slices.Clone(messages)}
	for event, err := range a.Events(ctx, messages) {
		if err != nil {
			return result, err
		}
		result.Add(event)
	}
	return result, nil
}

// Events gives the messages to the model and returns what happens until it has
// answered. The last pair holds an [*Answer], or an error and no event. Each
// range is a run of its own, tools included.
//
// The run goes on while the body of the range works on an event, up to its next
// event. Leaving the range cancels the run; Events then waits for tool calls,
// callbacks and the model to return, so nothing of the run remains.
//
// The messages must not be changed before the range is over.
func (a *Agent) Events(ctx context.Context, messages []llms.MessageContent) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if len(messages) == 0 {
			yield(nil, errors.New("run agent: there are no messages; give at least one"))
			return
		}
		r := startRun(ctx, a, messages)
		defer r.stop()
		for {
			select {
			case e := <-r.events:
				if !yield(e, nil) {
					return
				}
			case <-r.done:
				if r.err != nil {
					yield(nil, fmt.Errorf("run agent: %w", r.err))
				}
				return
			}
		}
	}
}
