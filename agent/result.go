package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/ledger"
)

// Result is the outcome of a run, or its state so far if it waits.
type Result struct {
	// Status is run.StatusFinished with an answer, and run.StatusWaiting with open questions. It is that of the store,
	// if there is one: a run whose end could not be kept is run.StatusRunning.
	Status run.Status

	// Output is the text of the model's last message.
	Output string

	// Questions are the open questions of a run that waits, see [Agent.Resume].
	Questions []*run.Question

	// Messages is the history of complete turns: what the run was given and what it added,
	// without [Options.System]. Give it back with a new human message to continue: an append makes a new
	// array.
	Messages []run.Message

	Spent        run.Spent  // since the run began, its sub-agents included
	StopReason   StopReason // of a run that is over: why it ended, or the limit at which it failed
	FinishReason string     // the provider's own word for why the last message ended
	Failure      string     // why a run has failed or was cancelled

	// Warnings say what went wrong in this process, here or in sub-agents, without ending the run: the
	// first 100, the text of each cut to 1 KiB. A run does not keep them.
	Warnings []*Warning

	// Window says what filled the window of the model in its last call in this process; nil if there was none.
	Window *WindowUse

	// State is the run. Without [Durable.Store], [Agent.ResumeState] continues it.
	State *State
}

// ResultOf is the result of a run that another process drives, from its records: those of [record.Log]. The error is for
// records that are damaged or of a later version.
func ResultOf(records []run.Record) (*Result, error) {
	s, err := ledger.StateOf(records)
	if err != nil {
		return nil, err
	}
	return resultOf(s), nil
}

func resultOf(s *ledger.State) *Result {
	messages := s.History
	if s.Phase == ledger.PhaseCalls { // its calls have no results yet
		messages = messages[:len(messages)-1]
	}
	return &Result{
		Status: s.Status, Output: s.Output, Questions: ledger.Open(s), Messages: slices.Clip(messages), Spent: s.Spent,
		StopReason: StopReason(s.Stop), FinishReason: s.Finish, Failure: s.Error, State: &State{s},
	}
}

// The errors of a run that is over without an answer. [Result].Failure says why.
var (
	ErrFailed    = errors.New("the run has failed")
	ErrCancelled = errors.New("the run was cancelled")
)

// failure is the error of a run that is over without an answer.
type failure struct {
	status error // ErrFailed or ErrCancelled
	reason error
}

func (f *failure) Error() string   { return f.reason.Error() }
func (f *failure) Unwrap() []error { return []error{f.status, f.reason} }

// overWithout is the error of a run that was over before, nil if it has an answer or waits.
func overWithout(s *ledger.State) error {
	switch s.Status {
	case run.StatusFailed:
		return &failure{ErrFailed, fmt.Errorf("run %q has failed: %s", s.ID, s.Error)}
	case run.StatusCancelled:
		return &failure{ErrCancelled, fmt.Errorf("run %q was cancelled", s.ID)}
	}
	return nil
}

// Run gives the input to the model and returns its answer. If the run waits for a person, the
// error is nil, Result.Status is run.StatusWaiting, and Questions has them. The
// result is never nil: with an error it holds what was done before. If the run has failed, and not
// only its work in this process, the error matches [ErrFailed] beside its reason. An input for a
// run that waits already is refused: the error matches [ErrWaiting], and Questions has its questions. One for a run
// without an answer is refused, too: the error matches [record.ErrHeld] if a process works on the run, and else
// [ErrRunning].
func (a *Agent) Run(ctx context.Context, in Input, opts ...RunOption) (*Result, error) {
	return a.begin(in, opts).outcome(ctx)
}

// outcome drives the session for its result.
func (d *session) outcome(ctx context.Context) (*Result, error) {
	s, err := d.run(ctx)
	if s == nil {
		s = new(ledger.State)
	}
	r := resultOf(s)
	r.Warnings, r.Window = d.warnings, d.window
	if d.unkept != "" {
		r.Status, r.StopReason, r.Output, r.Failure = d.unkept, "", "", ""
	}
	return r, err
}

// The bounds of Result.Warnings.
const (
	maxWarnings = 100
	maxWarning  = 1 << 10 // bytes
)

// warn adds a warning to others, if there is room.
func warn(all []*Warning, w *Warning) []*Warning {
	if len(all) >= maxWarnings {
		return all
	}
	kept := *w
	kept.Text = excerpt.CutAt(w.Text, maxWarning)
	return append(all, &kept)
}

// Add takes an event into the result. Who ranges over [Agent.Events] gets what
// [Agent.Run] returns by adding all events to a Result that has the input as its
// Messages; State is left out.
func (r *Result) Add(e Event) {
	switch e := e.(type) {
	case *Warning:
		r.Warnings = warn(r.Warnings, e)
	case *ModelEnd:
		r.Spent.Add(e.Usage)
	case *TurnEnd:
		if last := e.Messages[len(e.Messages)-1]; last.Role == run.RoleTool {
			r.Spent.Calls += len(last.Parts)
		}
	}
	if len(e.meta().Path) > 0 {
		return // a sub-agent's, which only counts
	}
	switch e := e.(type) {
	case *ModelEnd:
		r.Status = run.StatusRunning
		r.FinishReason, r.Window = e.StopReason, e.Window
	case *TurnEnd:
		r.Messages = append(r.Messages, e.Messages...)
	case *Suspended:
		r.Status, r.Questions = run.StatusWaiting, e.Questions
	case *Output:
		r.Status, r.Output, r.StopReason = run.StatusFinished, e.Text, e.StopReason
	}
}
