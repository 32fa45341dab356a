package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/mcpchain/mcpchain/adapter"
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
	// BeforeModel may change the request of one model call, but not what its messages and tools
	// point to. The history stays as it is.
	BeforeModel func(ctx context.Context, s *State, q *model.Request) error

	// AfterModel may change the reply before it is recorded, but not its calls, or the run
	// fails: change them in BeforeTool.
	AfterModel func(ctx context.Context, s *State, reply *run.Message) error

	// BeforeTool may change c.Arguments, which are checked again; the run fails if they are invalid. It
	// is called once per call, even if an approval is answered in another process, and again only if
	// the process ends before the decision or the question is recorded.
	BeforeTool func(ctx context.Context, s *State, c *Call) error

	// AfterTool may change the result before it is recorded, and with it that of the event, see
	// [ToolEnd]. It also gets the error that is the result of a call that did not run, except one
	// that [StopRun] ended. If it returns an error, other than [StopRun], the run fails, and the
	// result appears neither in the history nor in an event: on a later input the model reads
	// that it is withheld.
	AfterTool func(ctx context.Context, s *State, c *Call, result *run.Part) error
}

// deniedError is the error of a call that a hook refuses.
type deniedError struct{ reason string }

func (e *deniedError) Error() string { return "denied: " + e.reason }

// DenyCall returns the error with which a BeforeTool hook refuses a call. The model reads the reason.
func DenyCall(reason string) error { return &deniedError{reason} }

// hooks are the hooks of an agent, in order.
type hooks []Hook

// beforeModel calls the hooks for a model call.
func (all hooks) beforeModel(ctx context.Context, s *ledger.State, q *model.Request) error {
	for i, h := range all {
		if h.BeforeModel == nil {
			continue
		}
		if err := guard("BeforeModel hook", func() error { return h.BeforeModel(ctx, &State{state: s}, q) }); err != nil {
			return fmt.Errorf("hook %d, before the model: %w", i, err)
		}
	}
	return nil
}

// mayChangeReplies reports whether a hook may change replies, or withhold them.
func (all hooks) mayChangeReplies() bool {
	return slices.ContainsFunc(all, func(h Hook) bool { return h.AfterModel != nil })
}

// afterModel calls the hooks for a reply.
func (all hooks) afterModel(ctx context.Context, s *ledger.State, r *reply) error {
	if all.mayChangeReplies() {
		r.calls = slices.Clone(r.calls) // a hook may modify the parts
	}
	for i, h := range all {
		if h.AfterModel == nil {
			continue
		}
		if err := guard("AfterModel hook", func() error { return h.AfterModel(ctx, &State{state: s}, &r.message) }); err != nil {
			return fmt.Errorf("hook %d, after the model: %w", i, err)
		}
		if err := r.checkCalls(); err != nil {
			return fmt.Errorf("hook %d, after the model: %w", i, err)
		}
	}
	r.text = r.message.Text()
	return nil
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
	for i, h := range all {
		if h.BeforeTool == nil {
			continue
		}
		c := j.eventCall
		if err := guard("BeforeTool hook", func() error { return h.BeforeTool(ctx, &State{&rec.writer.mu, rec.state}, &c) }); err != nil {
			return fmt.Errorf("hook %d, before tool %q: %w", i, j.eventCall.Name, err)
		}
		if c.Arguments == j.eventCall.Arguments {
			continue
		}
		call, err := j.call.WithArguments(json.RawMessage(c.Arguments))
		if err != nil {
			return fmt.Errorf("hook %d, before tool %q: its arguments do not fit: %w", i, j.eventCall.Name, err)
		}
		j.setCall(call)
	}
	return nil
}

// afterTool calls the hooks for a result. changed means that one has changed it, and stop is the answer of
// the first that ends the run. The hooks' context outlives the run's, so that a known result is not withheld
// because the run was cancelled.
func (all hooks) afterTool(ctx context.Context, rec *recorder, j *job, result *run.Part) (changed bool, stop *string, err error) {
	if !slices.ContainsFunc(all, func(h Hook) bool { return h.AfterTool != nil }) {
		return false, nil, nil
	}
	before := *result
	before.Media = slices.Clone(before.Media) // a hook may modify the parts
	late, cancel := outlive(ctx)
	defer cancel()
	for i, h := range all {
		if h.AfterTool == nil {
			continue
		}
		c := j.eventCall
		err := guard("AfterTool hook", func() error { return h.AfterTool(late, &State{&rec.writer.mu, rec.state}, &c, result) })
		answer := hookAnswer(err)
		if err != nil && answer == nil {
			return false, nil, fmt.Errorf("hook %d, after tool %q: %w", i, j.eventCall.Name, err)
		}
		stop = cmp.Or(stop, answer)
	}
	return !reflect.DeepEqual(before, *result), stop, nil
}

// denial returns the result of a call that a hook denies. ok is false for other errors.
func denial(j *job, err error) (result *adapter.Result, ok bool) {
	denied, ok := errors.AsType[*deniedError](err)
	if !ok {
		return nil, false
	}
	text := fmt.Sprintf("Error: the call of %s was denied: %s. Nothing was done.", j.eventCall.Name, denied.reason)
	return j.errorResult(text, err), true
}
