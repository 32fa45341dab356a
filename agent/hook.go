package agent

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Hook takes part in runs at four points. A nil function does nothing. The hooks of
// [Options.Hooks] are called in order. A hook must only read the state, and only during its
// call; other calls of the turn may change it meanwhile. Hooks may be called concurrently: for
// different runs, and in one turn AfterTool for several calls, also while BeforeTool decides on
// the next one.
//
// A guardrail is a hook that returns an error: [DenyCall] refuses a tool call, and the model reads
// the reason; [StopRun] ends the run with an answer; any other error fails the run. BeforeTool is
// called before approval and before the call's intent is recorded, so nothing has happened yet.
type Hook struct {
	// BeforeModel may change the request of one model call: it may replace messages and tools, but not
	// change the parts of a message or the schema of a tool in place. The history stays as it is.
	BeforeModel func(ctx context.Context, s *State, q *model.Request) error

	// AfterModel may change the reply before it is recorded, but not the id, name or arguments of its
	// calls, or the run fails: change arguments in BeforeTool.
	AfterModel func(ctx context.Context, s *State, reply *run.Message) error

	// BeforeTool may change c.Arguments, which are checked again; the run fails if they are invalid. It
	// is called once per call, even if an approval is answered in another process, and again only if
	// the process ends before the decision or the question is recorded.
	BeforeTool func(ctx context.Context, s *State, c *Call) error

	// AfterTool may change the result before it is recorded, and with it that of the event, see
	// [ToolEnd]. A long result comes shortened ([Durable.ResultTokens]), and the full one is not stored
	// if a hook changes that text other than by adding to it. AfterTool also gets the error that is the
	// result of a call that did not run, except one that [StopRun] ended. If it returns an error, other
	// than [StopRun], the run fails, and the result appears neither in the history nor in an event: on
	// a later input the model reads that it is withheld.
	AfterTool func(ctx context.Context, s *State, c *Call, result *run.Part) error
}

// deniedError is the error of a call that a hook refuses.
type deniedError struct{ reason string }

func (e *deniedError) Error() string { return "denied: " + e.reason }

// DenyCall returns the error with which a BeforeTool hook refuses a call. The model reads the reason.
func DenyCall(reason string) error { return &deniedError{reason} }

// stopError is the error of [StopRun].
type stopError struct{ answer string }

func (e *stopError) Error() string { return "the run is stopped with an answer" }

// StopRun returns the error with which a hook ends its run with an answer of its own: the run is
// finished, and its stop reason is [StopHook].
//
// From BeforeModel, the model is not called. From AfterModel, the calls of the reply are not
// made. From BeforeTool, the call is not made. From AfterTool, the result is kept, and the
// other hooks see it. The run ends with the turn: calls that were sent get their results, and
// others are not made. If hooks stop several calls of a reply, the answer for the first call in the
// reply counts; for one call, that of the first hook.
//
// StopRun is durable with the outcome of the call, so that another process ends the run in the
// same way. For [RunAs] the answer must be the JSON of the output. In the run of a sub-agent it
// ends only that run.
func StopRun(answer string) error { return &stopError{answer} }

// hookAnswer returns the answer of a [StopRun] error, nil for others.
func hookAnswer(err error) *string {
	if s, ok := errors.AsType[*stopError](err); ok {
		return &s.answer
	}
	return nil
}

// hooks are the hooks of an agent, in order.
type hooks []Hook

// The points at which a hook may take part.
func hasBeforeModel(h Hook) bool { return h.BeforeModel != nil }
func hasAfterModel(h Hook) bool  { return h.AfterModel != nil }
func hasBeforeTool(h Hook) bool  { return h.BeforeTool != nil }
func hasAfterTool(h Hook) bool   { return h.AfterTool != nil }

// at reports whether a hook takes part at a point.
func (all hooks) at(point func(Hook) bool) bool { return slices.ContainsFunc(all, point) }

// each calls the hooks that take part at a point, until one returns an error. where names the point in errors.
func (all hooks) each(point func(Hook) bool, where string, call func(Hook) error) error {
	for i, h := range all {
		if !point(h) {
			continue
		}
		if err := guard("hook", func() error { return call(h) }); err != nil {
			return fmt.Errorf("hook %d, %s: %w", i, where, err)
		}
	}
	return nil
}

// beforeModel calls the hooks for a model call.
func (all hooks) beforeModel(ctx context.Context, s *ledger.State, q *model.Request) error {
	if all.at(hasBeforeModel) {
		q.Messages, q.Tools = slices.Clone(q.Messages), slices.Clone(q.Tools) // the history and later requests share them
	}
	return all.each(hasBeforeModel, "before the model", func(h Hook) error { return h.BeforeModel(ctx, &State{state: s}, q) })
}

// afterModel calls the hooks for a reply.
func (all hooks) afterModel(ctx context.Context, s *ledger.State, r *reply) error {
	if all.at(hasAfterModel) {
		r.message.Parts = slices.Clone(r.message.Parts) // a hook may modify the parts, and the model may have kept them
	}
	err := all.each(hasAfterModel, "after the model", func(h Hook) error {
		if err := h.AfterModel(ctx, &State{state: s}, &r.message); err != nil {
			return err
		}
		return r.checkCalls()
	})
	if err == nil {
		r.text = r.message.Text()
	}
	return err
}

// checkCalls returns an error if a hook has changed the calls of the reply, because the history
// would differ from the calls that run.
func (r *reply) checkCalls() error {
	isSame := func(a, b run.Part) bool { return a.ID == b.ID && a.Name == b.Name && a.Arguments == b.Arguments }
	if !slices.EqualFunc(callParts(r.message.Parts), r.calls, isSame) {
		return errors.New("the calls of the reply were changed: change them in BeforeTool")
	}
	return nil
}

// beforeTool calls the hooks for a call, and gives the job the arguments that they have changed.
func (all hooks) beforeTool(ctx context.Context, rec *recorder, j *job) error {
	if !all.at(hasBeforeTool) {
		return nil
	}
	return all.each(hasBeforeTool, fmt.Sprintf("before tool %q", j.eventCall.Name), func(h Hook) error {
		c := j.eventCall
		if err := h.BeforeTool(ctx, &State{&rec.writer.mu, rec.state}, &c); err != nil || c.Arguments == j.eventCall.Arguments {
			return err
		}
		call, err := j.call.WithArguments(json.RawMessage(c.Arguments))
		if err != nil {
			return fmt.Errorf("its arguments do not fit: %w", err)
		}
		j.setCall(call)
		return nil
	})
}

// afterTool calls the hooks for a result. changed means that one has changed it, and stop is the answer of
// the first that ends the run. The hooks' context outlives the run's, so that a known result is not withheld
// because the run was cancelled.
func (all hooks) afterTool(ctx context.Context, rec *recorder, j *job, result *run.Part) (changed bool, stop *string, err error) {
	if !all.at(hasAfterTool) {
		return false, nil, nil
	}
	before := clonePart(*result)
	late, cancel := outlive(ctx)
	defer cancel()
	err = all.each(hasAfterTool, fmt.Sprintf("after tool %q", j.eventCall.Name), func(h Hook) error {
		c := j.eventCall
		err := h.AfterTool(late, &State{&rec.writer.mu, rec.state}, &c, result)
		if answer := hookAnswer(err); answer != nil {
			stop = cmp.Or(stop, answer)
			return nil
		}
		return err
	})
	if err != nil {
		return false, nil, err
	}
	if changed = !reflect.DeepEqual(before, *result); changed {
		if _, err := result.MarshalJSON(); err != nil {
			return false, nil, fmt.Errorf("after tool %q, the hooks have left a result that cannot be recorded: %w", j.eventCall.Name, err)
		}
	}
	return changed, stop, nil
}

// clonePart returns a copy of a result of a tool that shares nothing with it that a hook can change.
func clonePart(p run.Part) run.Part {
	p.Data, p.Structured, p.Meta = bytes.Clone(p.Data), bytes.Clone(p.Structured), bytes.Clone(p.Meta)
	p.Media, p.Tools = slices.Clone(p.Media), slices.Clone(p.Tools)
	for i := range p.Media {
		p.Media[i] = clonePart(p.Media[i])
	}
	return p
}
