package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/internal/guard"
)

// run is one run of the loop. The loop has a goroutine of its own, which hands
// events to the goroutine that ranges over them; tool calls and handlers hand
// theirs to the same channel.
type run struct {
	agent  *Agent
	ctx    context.Context // ends with the run
	cancel context.CancelCauseFunc
	events chan Event    // never closed: a model may call back too late
	done   chan struct{} // closed when the loop and all that belongs to it has ended
	err    error         // why the loop ended; valid when done is closed

	// The fields below belong to the goroutine of the loop.
	history  []llms.MessageContent
	catalog  *adapter.Catalog // what the model was offered in this turn
	turn     int
	calls    int  // tool calls so far
	cutShort bool // a call was not run because of MaxToolCalls
	failures int  // turns in a row in which every call failed

	visits visits // of handlers

	mu   sync.Mutex // guards the fields below
	lost map[string]bool
}

var (
	errStopped = errors.New("the caller left the run")
	errGoexit  = errors.New("a callback ended the goroutine of the run")
	errOver    = errors.New("the run is over")
)

func startRun(ctx context.Context, a *Agent, messages []llms.MessageContent) *run {
	release := func() {}
	if d := a.opts.MaxDuration; d > 0 {
		cause := fmt.Errorf("it takes longer than MaxDuration, %v: %w", d, context.DeadlineExceeded)
		ctx, release = context.WithTimeoutCause(ctx, d, cause)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	r := &run{
		agent:   a,
		cancel:  func(cause error) { cancel(cause); release() },
		events:  make(chan Event),
		done:    make(chan struct{}),
		err:     errGoexit,
		history: slices.Clone(messages),
		lost:    map[string]bool{},
	}
	r.ctx = ctx
	r.visits.ctx, r.visits.cancel = context.WithCancelCause(r.ctx)
	go func() {
		defer close(r.done)
		defer r.visits.end()
		r.err = guarded("the loop", r.loop)
	}()
	return r
}

// stop ends the run and returns when nothing of it is left.
func (r *run) stop() {
	r.cancel(errStopped)
	<-r.done
}

// emit hands an event to whoever ranges over the run. It reports whether the
// run goes on.
func (r *run) emit(e Event) bool {
	select {
	case r.events <- e:
		return true
	case <-r.ctx.Done():
		return false
	}
}

// ended is the error of a run whose context has ended.
func (r *run) ended() error {
	err, cause := r.ctx.Err(), context.Cause(r.ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// loop takes turns until the model has answered.
func (r *run) loop() error {
	for {
		r.turn++
		stop := r.limit()
		reply, err := r.ask(stop != StopAnswer)
		if err != nil {
			return fmt.Errorf("turn %d: %w", r.turn, err)
		}
		if stop != StopAnswer || len(reply.calls) == 0 {
			return r.finish(reply, stop)
		}
		added, err := r.dispatch(reply.calls)
		if err != nil {
			return fmt.Errorf("turn %d: %w", r.turn, err)
		}
		if err := r.endTurn(append([]llms.MessageContent{reply.message()}, added...)); err != nil {
			return err
		}
	}
}

// limit names the limit that was reached, or is [StopAnswer].
func (r *run) limit() StopReason {
	o := r.agent.opts
	switch {
	case r.cutShort:
		return StopMaxToolCalls
	case r.failures >= o.MaxConsecutiveFailures:
		return StopMaxFailures
	case r.turn > o.MaxTurns:
		return StopMaxTurns
	}
	return StopAnswer
}

// finish makes the reply the answer, without tool calls that the model asks for all
// the same.
func (r *run) finish(reply *reply, stop StopReason) error {
	if strings.TrimSpace(reply.text) == "" {
		return fmt.Errorf("turn %d: %w (it stopped with %q, the run with %q)", r.turn, ErrNoAnswer, reply.stop, stop)
	}
	reply.calls = nil
	if err := r.endTurn([]llms.MessageContent{reply.message()}); err != nil {
		return err
	}
	r.visits.end()
	if !r.emit(&Answer{Text: reply.text, StopReason: stop, FinishReason: reply.stop}) {
		return r.ended()
	}
	return nil
}

func (r *run) endTurn(added []llms.MessageContent) error {
	r.history = append(r.history, added...)
	if !r.emit(&TurnEnd{Turn: r.turn, Messages: added}) {
		return r.ended()
	}
	return nil
}

// guarded calls f. A panic becomes an error with its stack.
func guarded(what string, f func() error) error {
	err := guard.Run(what, f)
	if p, ok := err.(*guard.PanicError); ok {
		return fmt.Errorf("%w\n%s", p, p.Stack)
	}
	return err
}
