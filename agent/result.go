package agent

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Result is the outcome of a run, or its state so far if it waits.
type Result struct {
	// Status is run.StatusFinished if there is an output, and run.StatusWaiting if there are
	// open questions. It is the status in the store, if there is one: a run whose end could not
	// be stored is run.StatusRunning.
	Status run.Status

	// Output is the text of the model's last message, even if the run waits, or the JSON of the
	// output that [RunAs] asks for. A run that has failed has none, and that of a cancelled run is
	// what the model had written, see [Agent.Cancel].
	Output string

	// Questions are the open questions of a waiting run. [Agent.Resume] takes the replies.
	Questions []*run.Question

	// Messages is the history of complete turns: the input and what the run added, without
	// [Options.System]. To continue, pass it to [Agent.Run] with a new message of the person;
	// appending to it allocates.
	Messages []run.Message

	Usage        run.Usage  // since the run began, including sub-agents
	StopReason   StopReason // why the run has ended
	FinishReason string     // the provider's reason for the end of the last message
	Failure      string     // why a run has failed or was cancelled

	// Warnings are problems in this process, including those of sub-agents, that did not end
	// the run: the first 100, each cut to 1 KiB. They are not stored.
	Warnings []*Warning

	// Window says what filled the model's window in its last call in this process, nil if there
	// was none.
	Window *WindowUse

	// State is the state of the run. Without [Durable.Store], [Agent.ResumeStateEvents] continues it.
	State *State
}

// ResultOf returns the result of a run that another process drives, from the records of its
// [record.Log]. It is an error if records are damaged or of a later version.
func ResultOf(records []run.Record) (*Result, error) {
	s, err := ledger.StateOf(records)
	if err != nil {
		return nil, err
	}
	return newResult(s), nil
}

func newResult(s *ledger.State) *Result {
	messages := s.History
	if s.Phase == ledger.PhaseCalls { // its calls have no results yet
		messages = messages[:len(messages)-1]
	}
	return &Result{
		Status:       s.Status,
		Output:       s.Output,
		Questions:    ledger.Open(s),
		Messages:     slices.Clip(messages),
		Usage:        s.Spent,
		StopReason:   StopReason(s.Stop),
		FinishReason: s.Finish,
		Failure:      s.Error,
		State:        &State{state: s},
	}
}

// The errors of a run that has ended without an output. [Result.Failure] has the reason.
var (
	ErrFailed    = errors.New("run has failed")
	ErrCancelled = errors.New("run was cancelled")
)

// failure is the error of a run that has ended without an output.
type failure struct {
	status error // ErrFailed or ErrCancelled
	reason error
}

func (f *failure) Error() string   { return f.reason.Error() }
func (f *failure) Unwrap() []error { return []error{f.status, f.reason} }

// outcomeError returns the error of a run that has ended without an output, nil for other runs.
func outcomeError(s *ledger.State) error {
	switch s.Status {
	case run.StatusFailed:
		return &failure{ErrFailed, fmt.Errorf("run %q has failed: %s", s.ID, s.Error)}
	case run.StatusCancelled:
		return &failure{ErrCancelled, fmt.Errorf("run %q was cancelled", s.ID)}
	}
	return nil
}

// Run gives the input to the model and returns the outcome. If the run waits for a person the
// error is nil, Result.Status is run.StatusWaiting, and Result.Questions has the questions. The
// result is never nil: with an error it has what was done before. If the run itself has failed,
// and not only the work in this process, the error also matches [ErrFailed].
//
// An input for a run that waits or has no output yet is refused. The error matches [ErrWaiting], and
// Questions has the questions; [record.ErrHeld], if a process works on the run; or [ErrUnfinished].
func (a *Agent) Run(ctx context.Context, in Input, opts ...RunOption) (*Result, error) {
	return a.begin(in, opts).outcome(ctx)
}

// Events gives the input to the model and yields events until the run has ended or waits. The last
// pair has an [*Output] or a [*Suspended], or an error and no event. Without [WithRun], each range
// over the sequence begins another run, which calls the tools again.
//
// The run continues while the loop body handles an event, up to its next event. Leaving the
// loop cancels this process's work on the run; Events then waits for tool calls, callbacks and
// the model to return. With [Durable.Store] the run can be resumed.
//
// The caller must not modify in until the loop ends.
func (a *Agent) Events(ctx context.Context, in Input, opts ...RunOption) iter.Seq2[Event, error] {
	return a.begin(in, opts).events(ctx)
}

// outcome drives the session and returns its result.
func (s *session) outcome(ctx context.Context) (*Result, error) {
	state, err := s.run(ctx)
	if state == nil {
		state = new(ledger.State)
	}
	r := newResult(state)
	r.Warnings, r.Window = s.warnings, s.window
	if s.storedStatus != "" {
		r.Status, r.StopReason, r.Output, r.Failure = s.storedStatus, "", "", ""
	}
	return r, err
}

// Bounds of Result.Warnings.
const (
	maxWarnings = 100
	maxWarning  = 1 << 10 // bytes
)

// appendWarning appends a copy of a warning, cut to maxWarning, if there is room.
func appendWarning(all []*Warning, w *Warning) []*Warning {
	if len(all) >= maxWarnings {
		return all
	}
	short := *w
	short.Text = excerpt.CutAt(w.Text, maxWarning)
	return append(all, &short)
}

// Add adds an event to the result. Adding all events of [Agent.Events] to a Result that has the
// input as its Messages makes what [Agent.Run] returns, except for what no event has: State, Failure
// and its status, the output of a cancelled run, the messages that a compaction inserts and its usage,
// and Active, Rounds and the lost calls of Usage.
func (r *Result) Add(e Event) {
	switch e := e.(type) {
	case *Warning:
		r.Warnings = appendWarning(r.Warnings, e)
	case *ModelEnd:
		r.Usage.Add(e.Usage)
	case *Sampled:
		r.Usage.Add(e.Usage)
	case *TurnEnd:
		if last := e.Messages[len(e.Messages)-1]; last.Role == run.RoleTool {
			r.Usage.Calls += len(last.Parts)
		}
	}
	if len(e.meta().Path) > 0 {
		return // events of a sub-agent only count
	}
	switch e := e.(type) {
	case *ModelEnd:
		r.Status = run.StatusRunning
		r.FinishReason, r.Window = e.FinishReason, e.Window
	case *TurnEnd:
		r.Messages = append(r.Messages, e.Messages...)
	case *Suspended:
		r.Status, r.Questions = run.StatusWaiting, e.Questions
	case *Output:
		r.Status, r.Output = run.StatusFinished, e.Text
		r.StopReason, r.FinishReason = e.StopReason, e.FinishReason
	}
}
