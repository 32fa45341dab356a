package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

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
	// output that [RunAs] asks for. That of a run that failed or was cancelled is what the model had
	// written of a reply that was broken off, see [Agent.Cancel]; usually empty.
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

// failure is the error of a run that has ended without an output, or of interrupted work on one.
type failure struct {
	status error // ErrFailed, ErrCancelled or errInterrupted
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
// and its status, the output of a run that failed or was cancelled, the messages that a compaction inserts and its usage,
// and Active, RoundBytes and the lost calls of Usage.
func (r *Result) Add(e Event) {
	switch e := e.(type) {
	case *Warning:
		r.Warnings = appendWarning(r.Warnings, e)
	case *ModelEnd:
		r.Usage.Add(e.Usage)
	case *Sampled:
		r.Usage.Add(e.Usage)
	case *Replied:
		isReplied := func(q *run.Question) bool { return q.ID == e.Reply.Question }
		r.Questions = slices.DeleteFunc(slices.Clone(r.Questions), isReplied)
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

// State is the state of a run. Hooks read it, and [Agent.ResumeStateEvents] continues a run from it. It
// can be sent to another process as JSON. It contains secrets of servers, such as request states and
// task ids: encrypt the JSON with [record.Keys.Seal] before it leaves the process.
type State struct {
	mu    *sync.Mutex // guards state while calls of its run change it; nil if nothing does
	state *ledger.State
}

// Key returns the key of the run.
func (s *State) Key() run.Key {
	return readState(s, func(in *ledger.State) run.Key { return run.Key{Tenant: in.Tenant, ID: in.ID} })
}

// Usage returns the usage of the run, by all inputs.
func (s *State) Usage() run.Usage {
	return readState(s, func(in *ledger.State) run.Usage { return in.Spent })
}

// Vars returns a copy of the run's variables ([WithVar]).
func (s *State) Vars() map[string]json.RawMessage {
	return readState(s, func(in *ledger.State) map[string]json.RawMessage { return maps.Clone(in.Vars) })
}

// History returns the messages, including those of the current turn. Do not modify them.
func (s *State) History() []run.Message {
	return readState(s, func(in *ledger.State) []run.Message { return slices.Clip(in.History) })
}

// MarshalJSON implements [json.Marshaler]. Equal states have equal bytes.
func (s *State) MarshalJSON() (data []byte, err error) {
	err = readState(s, func(in *ledger.State) (err error) { data, err = in.MarshalJSON(); return err })
	return data, err
}

// UnmarshalJSON implements [json.Unmarshaler]. It refuses a state of a later version, and one
// that no run can have.
func (s *State) UnmarshalJSON(data []byte) error {
	in := new(ledger.State)
	if err := in.UnmarshalJSON(data); err != nil {
		return err
	}
	*s = State{state: in}
	return nil
}

// readState returns what get returns for the state, an empty one if s is nil or zero.
func readState[T any](s *State, get func(*ledger.State) T) T {
	if s == nil || s.state == nil {
		return get(new(ledger.State))
	}
	if s.mu != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
	}
	return get(s.state)
}

// inner returns the state of a run that nothing changes, an empty one if s is nil or zero.
func (s *State) inner() *ledger.State {
	return readState(s, func(in *ledger.State) *ledger.State { return in })
}
