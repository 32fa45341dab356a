package agent

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Observer observes work as it is done; package otelagent has one. A method is called when a
// piece of work begins. The work gets the returned context, which must be derived from ctx; the
// returned function is called once when it ends, with its error. Before that, the fields marked
// "At the end" are set. Pieces of work may overlap; inner ones end before outer ones. Values
// that are shared with the run must not be modified.
type Observer interface {
	// Invoke observes this process's work on a run, or on the run of a sub-agent.
	Invoke(context.Context, *Invocation) (context.Context, func(error))

	// Infer observes a model call, including all attempts and the AfterModel hooks.
	Infer(context.Context, *Inference) (context.Context, func(error))

	// Execute observes a tool call that is sent, or that a sub-agent works on. After waiting
	// for a person it continues as another piece of work.
	Execute(context.Context, *Execution) (context.Context, func(error))

	// Appended is called after each append to the store of a run, by one goroutine at a time
	// per run. took includes all attempts; err is nil if it succeeded.
	Appended(ctx context.Context, took time.Duration, err error)
}

// Invocation (OpenTelemetry's invoke_agent) is this process's work on a run until the run ends or
// waits, or on one step of it for [Agent.Advance].
type Invocation struct {
	Run     string // id of the root run
	Agent   string // [Options.Name]; for a sub-agent without one, the name of its tool
	Model   string // the requested model; may be empty
	System  string
	History []run.Message // when the work begins

	// Trace is what Invoke has left here for earlier work on the run, nil if none. Invoke may change
	// it: then it is stored with the run. That of a sub-agent is not stored.
	Trace map[string]string

	Output *run.Message // at the end: the output of a finished run, nil if it is empty
}

// Inference (OpenTelemetry's chat) is a model call.
type Inference struct {
	Info    model.Info // of the requested model
	Request *model.Request

	// At the end: the reply as the AfterModel hooks leave it, nil if there is none. If a hook or a check has
	// refused the reply, it has no parts.
	Response   *model.Response
	FirstChunk time.Duration // from the call to the first text, 0 if there is none
}

// Execution (OpenTelemetry's execute_tool) is a tool call that is sent, or that a sub-agent works on.
type Execution struct {
	Call
	Description string // the tool's description

	// At the end: the result as in the history, nil if there is none yet.
	Result *run.Part
}

// observe does work on the run within the observer. It replaces the engine's context by that of the
// observer. The trace is stored with the next commit.
func (e *engine) observe(work func() error) error {
	o := e.agent.opts.Observer
	if o == nil {
		return work()
	}
	v := &Invocation{
		Run: e.rec.writer.root.ID, Agent: e.agent.givenName,
		Model: e.agent.info.Name, System: e.agent.opts.System,
	}
	var earlier map[string]string
	e.rec.read(func(s *ledger.State) {
		v.History = slices.Clip(s.History)
		if e.parent == nil {
			v.Trace, earlier = maps.Clone(s.Trace), maps.Clone(s.Trace)
		}
	})
	if e.parent != nil && v.Agent == "" {
		v.Agent = e.rec.path[len(e.rec.path)-1]
	}
	ctx, done := o.Invoke(e.ctx, v)
	e.ctx = ctx
	return workThenEnd(func() error {
		if e.parent == nil && !maps.Equal(v.Trace, earlier) {
			if err := e.rec.record(nil, &ledger.Noted{Trace: v.Trace}); err != nil {
				return err
			}
		}
		return work()
	}, func(err error) {
		e.rec.read(func(s *ledger.State) { v.Output = outputOf(s) })
		done(err)
	})
}

// outputOf returns the output of a finished run as a message, nil if there is none. The last message of a
// run has the result of a call if the call gave a structured output.
func outputOf(s *ledger.State) *run.Message {
	n := len(s.History)
	switch {
	case s.Status != run.StatusFinished:
	case n > 0 && s.History[n-1].Role == run.RoleAssistant:
		return &s.History[n-1]
	case len(s.Structured) > 0:
		return new(run.Text(run.RoleAssistant, string(s.Structured)))
	}
	return nil
}

// infer makes a model call within the observer, which gets the reply as the hooks leave it.
func (e *engine) infer(
	q *model.Request, stream *streamedReply, work func(context.Context) (*reply, error),
) (r *reply, err error) {
	o := e.agent.opts.Observer
	if o == nil {
		return work(e.ctx)
	}
	v := &Inference{Info: e.agent.info, Request: q}
	began := time.Now()
	ctx, done := o.Infer(e.ctx, v)
	err = workThenEnd(func() (err error) {
		r, err = work(ctx)
		return err
	}, func(err error) {
		if r != nil {
			message := r.message
			message.Parts = slices.Clone(message.Parts)
			if err != nil {
				message.Parts = nil
			}
			v.Response = &model.Response{Message: message, ID: r.id, Endpoint: r.endpoint, Finish: r.finish, Usage: r.usage}
		}
		if !stream.firstText.IsZero() {
			v.FirstChunk = stream.firstText.Sub(began)
		}
		done(err)
	})
	return r, err
}

// execute works on a tool call within the observer. work leaves the result in j.result and the
// error of the call in j.failure, which the observer gets unless work itself returns an error.
func (s *sender) execute(ctx context.Context, j *job, work func(context.Context) error) error {
	o := s.agent.opts.Observer
	if o == nil {
		return work(ctx)
	}
	j.result, j.failure = nil, nil
	v := &Execution{Call: j.eventCall}
	if t := j.tool(); t != nil {
		v.Description = t.Definition().Description
	}
	ctx, done := o.Execute(ctx, v)
	return workThenEnd(func() error { return work(ctx) }, func(err error) {
		v.Result = j.result
		if err == nil {
			err = j.failure
		}
		done(err)
	})
}
