package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/agent/model"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// engine is one run in one process: its agent, context, records and events.
type engine struct {
	agent     *recipe
	ctx       context.Context // ends with the run
	rec       *recorder
	questions *openQuestions
	workers   *workers
	parent    *engine             // drives the run that a sub-agent works for; nil at the root
	drive     func(*engine) error // advances the run of a sub-agent
	hold      func() func()       // stops the time of the call that a sub-agent works on, nil at the root

	catalog  *adapter.Catalog // the tools that the model was offered, nil if another process offered them
	handlers activeHandlers   // handlers that work for the run

	// For the result:
	window     *WindowUse // use of the window in the last model call
	unfinished string     // text of a reply that was broken off; "" for a sub-agent

	mu sync.Mutex // guards catalog during calls
}

// newEngine returns the engine of a run. Its handlers have to be ended.
func newEngine(ctx context.Context, a *recipe, q *openQuestions, w *workers) *engine {
	e := &engine{agent: a, ctx: ctx, rec: q.rec, questions: q, workers: w}
	e.handlers.ctx, e.handlers.cancel = context.WithCancelCause(ctx)
	e.rec.endError = e.endError
	return e
}

// offered returns the catalog that the model was offered, or the present one if another process
// offered it.
func (e *engine) offered() *adapter.Catalog {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.catalog == nil {
		e.catalog = e.agent.tools.Catalog(e.agent.profile)
	}
	return e.catalog
}

// Why the work on a run has ended in this process.
var (
	errStopped = errors.New("caller left the run")
	errGoexit  = errors.New("callback ended the goroutine of the run")
	errOver    = errors.New("run is over")
)

// endError returns why the run has ended in this process, nil if it has not.
func (e *engine) endError() error {
	err := e.ctx.Err()
	cause := context.Cause(e.ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// fail records that the run has failed, unless it only ends in this process.
func (e *engine) fail(err error) error { return e.failAt(StopOutput, err) }

// failAt records that the run has failed at a limit, [StopOutput] for none, unless it only ends in
// this process. It returns an [ErrFailed] if the failure is durable; otherwise the error also says
// why it is not.
func (e *engine) failAt(stop StopReason, err error) error {
	if e.ctx.Err() != nil {
		return err
	}
	if limited, ok := errors.AsType[*limitError](err); ok {
		stop = limited.stop
	}
	end := &ledger.Ended{Status: run.StatusFailed, Stop: finalReason(stop), Output: e.unfinished, Error: err.Error()}
	if failed, ok := errors.AsType[*model.Error](err); ok {
		end.ModelError = int(failed.Kind)
	}
	if e.rec.writer.writeError() == nil { // otherwise a later process continues the run
		if recordErr := e.rec.record(nil, end); recordErr != nil {
			return recordErr
		}
	}
	if commitErr := e.rec.commit(); commitErr != nil {
		if cause := errors.Unwrap(commitErr); cause != nil && errors.Is(err, cause) {
			return err // it is the reason of the failure already
		}
		return errors.Join(err, commitErr)
	}
	return &failure{ErrFailed, err}
}

// finalReason returns the limit that forces the model to answer, or "".
func finalReason(stop StopReason) string {
	if stop == StopOutput {
		return ""
	}
	return string(stop)
}

// isAny reports whether an error matches one of the targets.
func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// guard calls f and converts a panic into an error, which names what panicked.
func guard(what string, f func() error) error { return bound.Run(what, f) }

// workThenEnd calls work, and then end with its error, which is errGoexit if work ends its goroutine.
func workThenEnd(work func() error, end func(error)) (err error) {
	err = errGoexit
	defer func() { end(err) }()
	err = work()
	return err
}
