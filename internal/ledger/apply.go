package ledger

import (
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/agent/run"
)

// Apply applies the next record to a state, in time proportional to the size of the record. The
// first record may be a snapshot, which brings its own state. A record that does not follow the
// last one, or that contradicts the state, is an error and leaves the state unusable.
func Apply(s *State, r Entry) error {
	snapshot := snapshotState(r.Change)
	if s.Seq == 0 && snapshot != nil {
		if err := s.restore(r); err != nil {
			return fmt.Errorf("apply record %d: %w", r.Seq, err)
		}
	}
	if r.Seq != s.Seq+1 {
		return fmt.Errorf("apply record %d: the state is at record %d", r.Seq, s.Seq)
	}
	if err := applyChange(s, r); err != nil {
		return fmt.Errorf("apply record %d (%s): %w", r.Seq, kindOf(r.Change), err)
	}
	s.Seq, s.Updated = r.Seq, r.At
	if snapshot != nil {
		s.Snapshot = r.Seq
	}
	if isProgress(r.Change) {
		s.Takeovers = 0
	}
	return nil
}

// isProgress reports whether a change, or the change of a sub-agent, is progress as State.Takeovers counts it.
func isProgress(c Change) bool {
	switch Innermost(c).(type) {
	case *Responded, *Outcome, *Replied, *Said, *Sampled, *Paused:
		return true
	}
	return false
}

// Innermost returns the change in the run to which it belongs: the root or a sub-agent.
func Innermost(c Change) Change {
	for n, ok := c.(*Nested); ok; n, ok = c.(*Nested) {
		c = n.Record.Change
	}
	return c
}

// Fold computes the state of a run from its records, in order, starting with the first or with
// a snapshot. It returns the errors of [Apply], and an error if there are no records.
func Fold(records []Entry) (*State, error) {
	s := new(State)
	for _, r := range records {
		if err := Apply(s, r); err != nil {
			return nil, err
		}
	}
	if s.Seq == 0 {
		return nil, errors.New("fold run: there are no records")
	}
	return s, nil
}

// Add applies changes in order, and returns their records. After an error the state is unusable.
func (s *State) Add(at time.Time, changes ...Change) ([]run.Record, error) {
	records := make([]run.Record, len(changes))
	for i, c := range changes {
		e := Entry{Seq: s.Seq + 1, At: at, Change: c}
		err := Apply(s, e)
		if err == nil {
			records[i], err = e.Encode()
		}
		if err != nil {
			return nil, err
		}
	}
	return records, nil
}

// applyChange applies a change to the run, and adds its usage.
func applyChange(s *State, r Entry) error {
	if err := checkAllowed(s, r.Change); err != nil {
		return err
	}
	spent := usageOf(s, r.Change)
	if hasNegative(spent) {
		return errors.New("usage is negative")
	}
	if err := r.Change.apply(s, r.At); err != nil {
		return err
	}
	s.Spent.Add(spent)
	return nil
}

// checkAllowed checks that the state of the run allows a change of this kind.
func checkAllowed(s *State, c Change) error {
	if _, isUnknown := c.(*Unknown); isUnknown {
		return nil // Unknown reports its own error
	}
	if _, isFirst := c.(*Begun); isFirst != (s.Seq == 0) {
		return fmt.Errorf("run has %d records", s.Seq)
	}
	if s.Status.Ended() {
		switch c.(type) {
		case *Said, *Compacted, *Charged, *Noted:
		default:
			return fmt.Errorf("run is %s", s.Status)
		}
	}
	return checkNested(s, c)
}

// checkNested checks a record of a sub-agent: its depth, and that the id of its question is unique in the whole run.
func checkNested(s *State, c Change) error {
	depth := 0
	for n, ok := c.(*Nested); ok; n, ok = c.(*Nested) {
		depth++
		if depth > MaxDepth {
			return errTooDeep
		}
		c = n.Record.Change
	}
	if o, ok := c.(*Opened); ok {
		if q := s.findQuestion(o.Question.ID); q != nil {
			return fmt.Errorf("question %q is open already", q.ID)
		}
	}
	return nil
}

// usageOf returns what a change adds to the usage of the run.
func usageOf(s *State, c Change) run.Usage {
	switch c := c.(type) {
	case *Called:
		if s.Model == nil {
			return run.Usage{}
		}
		spent := run.Usage{LostTokens: s.Model.Reserved.Tokens, LostCost: s.Model.Reserved.Cost}
		if c.Lost {
			spent.Lost = 1
		}
		return spent
	case *Responded:
		return c.Usage
	case *TurnEnded:
		return run.Usage{Calls: len(s.Calls)}
	case *Compacted:
		return c.Usage
	case *Charged:
		if c.Settles != nil {
			if _, open := s.Sampling[*c.Settles]; !open {
				return run.Usage{}
			}
		}
		return c.Spent
	case *Paused:
		return run.Usage{RoundBytes: int64(len(c.Round))}
	case *Outcome:
		if call := s.callToChange(c.Call); call != nil && call.Child != nil {
			return call.Child.reservationsAsLost()
		}
	case *Ended:
		return s.reservationsAsLost()
	case *Nested:
		if call := s.Call(c.Call); call != nil && call.Child != nil {
			spent := usageOf(call.Child, c.Record.Change)
			spent.Active = 0 // counted as time of the call itself
			return spent
		}
	}
	return run.Usage{}
}
