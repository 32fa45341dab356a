package agent

import (
	"context"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Observer sees work while it is done; package otelagent has one. Each method is called
// when a piece of work begins. The work gets the context that it returns, which must come
// from the given one, and the function that it returns is called once at the end, with the
// error of work that failed. Before that the members under "at the end" are set. Pieces of
// work go on side by side, and inner ones end before outer ones. What the values share with
// the run must not be changed.
type Observer interface {
	// Invoke observes the work of this process on a run, or on the run of a sub-agent.
	Invoke(context.Context, *Invocation) (context.Context, func(error))

	// Infer observes a call of the model, with all its attempts and the AfterModel hooks.
	Infer(context.Context, *Inference) (context.Context, func(error))

	// Execute observes a tool call that is sent, or that a sub-agent works on. One that
	// waits for a person continues as another piece of work.
	Execute(context.Context, *Execution) (context.Context, func(error))
}

// AppendObserver is an [Observer] that also sees how long it takes to keep what was recorded.
type AppendObserver interface {
	Observer

	// Appended is called after each append to the store or the journal of a run, from one goroutine at a time for each run. It took a
	// time, with all attempts, and failed with the error if that is not nil.
	Appended(ctx context.Context, took time.Duration, err error)
}

// Invocation is the work of this process on a run, until the run ends or waits, or on one
// step of it for [Agent.Advance].
type Invocation struct {
	Run     string   // the id of the whole run
	Path    []string // the sub-agents, outermost first
	Agent   string   // [Options.Name]; without one, the name of a sub-agent's tool
	Version string   // [Options.Version]
	Model   string   // that is asked for; may be empty
	System  string
	History []run.Message     // as the work begins
	Before  map[string]string // the Trace that work on the run left last, nil: none

	// Trace is set by Invoke: it is kept with the run, for the Before of later work. That
	// of a sub-agent is not kept.
	Trace map[string]string

	// At the end: what the work came to.
	Status run.Status
	Output *run.Message // of a run that is done
	Finish string       // the provider's word for why its last message ended
}

// Inference is a call of the model.
type Inference struct {
	Turn     int
	Model    string // that is asked for; may be empty
	Provider string // of the model, by the names of OpenTelemetry's conventions; "unknown" if it names none
	Request  *model.Request

	// At the end: the reply as the AfterModel hooks leave it, nil without one or if a hook fails.
	Response   *run.Message
	ID         string // of the reply, empty if the provider names none
	Finish     string // the provider's word for why the reply ended
	Usage      run.Spent
	FirstChunk time.Duration // from the call to the first piece of text, 0 without one
}

// Execution is a tool call that is sent, or that a sub-agent works on.
type Execution struct {
	Call
	Description string // of the tool

	// At the end: the result as the history has it, nil if there is none yet.
	Result *run.Part
}

// observe does the observed work on the run. Its context is the engine's from here on. The
// trace that it leaves is kept with the next commit.
func (e *engine) observe(work func() error) (err error) {
	o := e.agent.opts.Observe
	if o == nil {
		return work()
	}
	v := e.invocation()
	ctx, done := o.Invoke(e.ctx, v)
	e.ctx = ctx
	err = errGoexit
	defer func() {
		s := e.rec.view()
		v.Status, v.Finish = s.Status, s.Finish
		if n := len(s.History); s.Status == run.StatusFinished && n > 0 {
			v.Output = &s.History[n-1]
		}
		done(err)
	}()
	if e.parent == nil && v.Trace != nil {
		if err = e.rec.record(nil, &ledger.Noted{Trace: v.Trace}); err != nil {
			return err
		}
	}
	err = work()
	return err
}

// invocation is the work that begins.
func (e *engine) invocation() *Invocation {
	s := e.rec.view()
	v := &Invocation{
		Run: e.rec.writer.root.ID, Path: e.rec.path, Agent: e.agent.name, Version: e.agent.opts.Version,
		Model: e.agent.modelName(), System: e.agent.opts.System, History: slices.Clip(s.History),
	}
	if e.parent == nil {
		v.Before = s.Trace
	} else if v.Agent == "" {
		v.Agent = e.rec.path[len(e.rec.path)-1]
	}
	return v
}

// execute works on a tool call, observed. The work leaves its result in the job.
func (s *sender) execute(ctx context.Context, j *job, work func(context.Context) error) (err error) {
	o := s.agent.opts.Observe
	if o == nil {
		return work(ctx)
	}
	j.result, j.failure = nil, nil
	v := &Execution{Call: j.about}
	if t := j.tool(); t != nil {
		v.Description = t.Definition().Description
	}
	ctx, done := o.Execute(ctx, v)
	err = errGoexit
	defer func() {
		v.Result = j.result
		if err == nil {
			done(j.failure)
			return
		}
		done(err)
	}()
	err = work(ctx)
	return err
}
