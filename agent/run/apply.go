package run

import (
	"errors"
	"fmt"
	"reflect"
)

// Apply takes the next record into the state, in time that grows with the size of the
// record. A record that does not follow, or that contradicts the state, is an error, which
// leaves the state unusable.
func (s *State) Apply(r Record) error {
	if r.Seq != s.Seq+1 {
		return fmt.Errorf("apply record %d: the state is at record %d", r.Seq, s.Seq)
	}
	if empty(r.Change) {
		return fmt.Errorf("apply record %d: it has no change", r.Seq)
	}
	if err := s.take(r); err != nil {
		return fmt.Errorf("apply record %d (%s): %w", r.Seq, r.Change.kind(), err)
	}
	s.Seq, s.Updated = r.Seq, r.At
	return nil
}

func empty(c Change) bool { return c == nil || reflect.ValueOf(c).IsNil() }

func (s *State) take(r Record) error {
	if err := s.follows(r.Change); err != nil {
		return err
	}
	spent := s.spends(r.Change)
	if spent.negative() {
		return errors.New("it spends less than nothing")
	}
	if err := r.Change.apply(s, r.At); err != nil {
		return err
	}
	s.Spent.Add(spent)
	return nil
}

// follows reports whether the state can take a change of that kind at all.
func (s *State) follows(c Change) error {
	if _, unknown := c.(*Unknown); unknown {
		return nil // which says more itself
	}
	if _, begins := c.(*Begun); begins != (s.Seq == 0) {
		return fmt.Errorf("the run has %d records", s.Seq)
	}
	if s.Status.Ended() {
		switch c.(type) {
		case *Said, *Compacted, *Charged, *Noted:
		default:
			return fmt.Errorf("the run is %s", s.Status)
		}
	}
	return s.nests(c)
}

// nests checks a record of a sub-agent: how deep it stands, and that its question has an
// id of its own in the whole run.
func (s *State) nests(c Change) error {
	depth := 0
	for n, ok := c.(*Nested); ok; n, ok = c.(*Nested) {
		if depth++; depth > MaxDepth {
			return errTooDeep
		}
		if c = n.Record.Change; empty(c) {
			return errors.New("the record of the sub-agent has no change")
		}
	}
	if o, ok := c.(*Opened); ok {
		if q, _ := s.find(o.Ask.ID); q != nil {
			return fmt.Errorf("the question %q is open already", q.ID)
		}
	}
	return nil
}

// find finds an open question of the run or a sub-agent, and the run that asks it.
func (s *State) find(id string) (*Ask, *State) {
	if q := s.Ask(id); q != nil {
		return q, s
	}
	for _, c := range s.Calls {
		if c.Child != nil {
			if q, of := c.Child.find(id); q != nil {
				return q, of
			}
		}
	}
	return nil, nil
}

// spends is what a change adds to what the run has used.
func (s *State) spends(c Change) Spent {
	switch c := c.(type) {
	case *Called:
		if c.Lost {
			return Spent{Lost: 1}
		}
	case *Replied:
		return c.Usage
	case *TurnEnded:
		return Spent{Calls: len(s.Calls)}
	case *Compacted:
		return c.Usage
	case *Charged:
		return c.Spent
	case *Nested:
		if call := s.Call(c.Call); call != nil && call.Child != nil {
			return call.Child.spends(c.Record.Change)
		}
	}
	return Spent{}
}

// check refuses a state that no records make. ids are the questions of the runs above.
func (s *State) check(ids map[string]bool) error {
	switch {
	case s.Status != Running && s.Status != Waiting && !s.Status.Ended():
		return fmt.Errorf("run %q has the status %q", s.ID, s.Status)
	case s.Spent.negative() || s.Before.negative() || min(s.Turn, s.Archived, s.Failures, s.Repairs) < 0:
		return fmt.Errorf("run %q has a count below 0", s.ID)
	}
	for _, q := range s.Asks {
		if q == nil || q.ID == "" || ids[q.ID] {
			return fmt.Errorf("run %q has a question without an id of its own", s.ID)
		}
		ids[q.ID] = true
	}
	calls := map[string]bool{}
	for _, c := range s.Calls {
		if c == nil || c.ID == "" || calls[c.ID] || c.At == Done && c.Result == nil {
			return fmt.Errorf("run %q has a call without an id of its own, or one that is done without a result", s.ID)
		}
		calls[c.ID] = true
		if c.Child != nil {
			if err := c.Child.check(ids); err != nil {
				return err
			}
		}
	}
	return nil
}
