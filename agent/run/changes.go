package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Begun is the first record of a run.
type Begun struct {
	V        int                        `json:"v"`
	ID       string                     `json:"id"`
	Tenant   string                     `json:"tenant,omitzero"`
	Agent    AgentName                  `json:"agent,omitzero"`
	Messages []Message                  `json:"messages,omitempty"`
	Limits   Limits                     `json:"limits,omitempty"`
	Vars     map[string]json.RawMessage `json:"vars,omitempty"`

	Unknown jsontext.Value `json:",embed"`
}

func (*Begun) kind() string { return "begun" }

func (c *Begun) apply(s *State, at time.Time) error {
	if err := readable(c.V); err != nil {
		return err
	}
	*s = State{
		V: c.V, ID: c.ID, Tenant: c.Tenant, Agent: c.Agent, Created: at, Status: Running, Phase: ModelPhase, Turn: 1,
		History: slices.Clone(c.Messages), Limits: c.Limits, Vars: c.Vars,
	}
	return nil
}

// Said adds an input to a run that has ended, and sets it running again.
type Said struct {
	Messages []Message `json:"messages"`
	Limits   Limits    `json:"limits,omitempty"`

	Unknown jsontext.Value `json:",embed"`
}

func (*Said) kind() string { return "said" }

func (c *Said) apply(s *State, _ time.Time) error {
	if !s.Status.Ended() {
		return fmt.Errorf("the run is %s; an input goes to one that has ended", s.Status)
	}
	s.History = append(s.History, c.Messages...)
	s.Status, s.Phase, s.Turn, s.Limits = Running, ModelPhase, 1, c.Limits
	s.Before, s.Failures, s.Repairs = s.Spent, 0, 0
	s.Final, s.Answer, s.Output, s.Stop, s.Finish, s.Error = "", "", nil, "", "", ""
	return nil
}

// Called says that the model is being called.
type Called struct {
	Tokens int64  `json:"tokens,omitzero"` // reserved
	Final  string `json:"final,omitzero"`  // the limit for which it has to answer without tools
	Lost   bool   `json:"lost,omitzero"`   // the reply to the call before was lost with its process

	Unknown jsontext.Value `json:",embed"`
}

func (*Called) kind() string { return "called" }

func (c *Called) apply(s *State, _ time.Time) error {
	if err := s.in(ModelPhase); err != nil {
		return err
	}
	if c.Tokens < 0 || c.Lost && s.Model == nil {
		return errors.New("it reserves less than nothing, or has lost the reply to a call that was not made")
	}
	attempt := 1
	if s.Model != nil {
		attempt = s.Model.Attempt + 1
	}
	s.Model, s.Final = &Request{Attempt: attempt, Tokens: c.Tokens}, c.Final
	return nil
}

// Replied is the reply of the model. With calls the run goes on to them.
type Replied struct {
	Message Message `json:"message"`
	Calls   []Call  `json:"calls,omitempty"` // proposed
	Finish  string  `json:"finish,omitzero"` // the provider's word for why the message ended
	Usage   Spent   `json:"usage,omitempty"`
	Repair  bool    `json:"repair,omitzero"` // what follows asks for a better output

	Unknown jsontext.Value `json:",embed"`
}

func (*Replied) kind() string { return "replied" }

func (c *Replied) apply(s *State, _ time.Time) error {
	if err := s.in(ModelPhase); err != nil {
		return err
	}
	if s.Model == nil {
		return errors.New("the model was not called")
	}
	if err := proposed(c.Calls); err != nil {
		return err
	}
	if c.Repair {
		s.Repairs++
	}
	s.Model, s.Finish = nil, c.Finish
	s.History = append(s.History, c.Message)
	s.Answer = c.Message.Text()
	s.Calls = make([]*Call, len(c.Calls))
	for i := range c.Calls {
		call := c.Calls[i]
		s.Calls[i] = &call
	}
	if len(s.Calls) > 0 {
		s.Phase = CallsPhase
	}
	return nil
}

// proposed checks the calls of a reply.
func proposed(calls []Call) error {
	known := make(map[string]bool, len(calls))
	for i := range calls {
		c := &calls[i]
		switch {
		case c.ID == "" || !utf8.ValidString(c.ID):
			return fmt.Errorf("call %d has no id, or one that is no text", i+1)
		case known[c.ID]:
			return fmt.Errorf("two calls have the id %q", c.ID)
		case c.At != Proposed || c.Child != nil || c.Result != nil:
			return fmt.Errorf("call %q is %q and not proposed", c.ID, c.At)
		}
		known[c.ID] = true
	}
	return nil
}

// in returns an error unless the run is running, in that phase.
func (s *State) in(p Phase) error {
	if s.Status != Running || s.Phase != p {
		return fmt.Errorf("the run is %s, in phase %q", s.Status, s.Phase)
	}
	return nil
}

// call finds the call that a change is about, to write into it. The change takes it from
// one of the given places.
func (s *State) call(id string, from ...CallAt) (*Call, error) {
	c := s.Call(id)
	switch {
	case c == nil:
		return nil, fmt.Errorf("there is no call %q", id)
	case len(from) > 0 && !slices.Contains(from, c.At):
		return nil, fmt.Errorf("call %q is %q", id, c.At)
	}
	return c, nil
}

// Decided is what was decided on a call. A denied call is followed by its outcome.
type Decided struct {
	Call     string          `json:"call"`
	Decision Decision        `json:"decision"`
	Args     json.RawMessage `json:"args,omitzero"` // as they will be sent

	Unknown jsontext.Value `json:",embed"`
}

func (*Decided) kind() string { return "decided" }

func (c *Decided) apply(s *State, _ time.Time) error {
	call, err := s.call(c.Call, Proposed, Ready)
	if err != nil {
		return err
	}
	d := c.Decision
	call.Approved = &d
	if d.Allow {
		call.At, call.Args, call.Edited = Ready, c.Args, len(d.Arguments) > 0
	}
	return nil
}

// Intent says that a call is about to be sent: from here on it may have had its effect.
type Intent struct {
	Call string          `json:"call"`
	Args json.RawMessage `json:"args,omitzero"`

	Unknown jsontext.Value `json:",embed"`
}

func (*Intent) kind() string { return "intent" }

func (c *Intent) apply(s *State, _ time.Time) error {
	call, err := s.call(c.Call, Proposed, Ready, Sent, Round, Doubt)
	if err != nil {
		return err
	}
	if s.Status != Running {
		return fmt.Errorf("the run is %s", s.Status)
	}
	if call.Approved != nil && !call.Approved.Allow || call.At == Doubt && call.Answer == nil {
		return fmt.Errorf("call %q is denied, or a person is asked about it", c.Call)
	}
	call.At, call.Tries = Sent, call.Tries+1
	if c.Args != nil {
		call.Args = c.Args
	}
	return nil
}

// Paused says that a server asks for input before it goes on with a call. The questions
// follow as [Opened].
type Paused struct {
	Call    string                     `json:"call"`
	Round   json.RawMessage            `json:"round"`
	Answers map[string]json.RawMessage `json:"answers,omitempty"` // that need no person

	Unknown jsontext.Value `json:",embed"`
}

func (*Paused) kind() string { return "paused" }

func (c *Paused) apply(s *State, _ time.Time) error {
	call, err := s.call(c.Call, Sent, Round, Tasked)
	if err != nil {
		return err
	}
	call.At, call.Round, call.Answers = Round, c.Round, maps.Clone(c.Answers)
	return nil
}

// Detached says that a server goes on with a call by itself, as a task.
type Detached struct {
	Call string `json:"call"`
	Task Task   `json:"task"`

	Unknown jsontext.Value `json:",embed"`
}

func (*Detached) kind() string { return "detached" }

func (c *Detached) apply(s *State, _ time.Time) error {
	call, err := s.call(c.Call, Sent, Round, Tasked)
	if err != nil {
		return err
	}
	t := c.Task
	call.At, call.Task = Tasked, &t
	return nil
}

// Outcome is the result of a call, whatever it came to.
type Outcome struct {
	Call   string `json:"call"`
	Result Part   `json:"result"`

	Unknown jsontext.Value `json:",embed"`
}

func (*Outcome) kind() string { return "outcome" }

func (c *Outcome) apply(s *State, _ time.Time) error {
	call, err := s.call(c.Call)
	if err != nil {
		return err
	}
	if call.At == Done {
		return fmt.Errorf("call %q is done already", c.Call)
	}
	if c.Result.Type != ResultPart || c.Result.ID != c.Call {
		return fmt.Errorf("call %q has a part %q of call %q as its result", c.Call, c.Result.Type, c.Result.ID)
	}
	result := c.Result
	call.At, call.Result = Done, &result
	call.Round, call.Answers, call.Task, call.Child = nil, nil, nil, nil
	s.drop(func(q *Ask) bool { return q.Call == c.Call })
	return nil
}

// TurnEnded brings the results of the calls into the history.
type TurnEnded struct {
	Unknown jsontext.Value `json:",embed"`
}

func (*TurnEnded) kind() string { return "turn_ended" }

func (c *TurnEnded) apply(s *State, at time.Time) error {
	if s.Phase != CallsPhase {
		return fmt.Errorf("the run is in phase %q", s.Phase)
	}
	m, err := s.results(at)
	if err != nil {
		return err
	}
	s.History = append(s.History, m)
	s.Failures++
	for _, part := range m.Parts {
		if !part.IsError {
			s.Failures = 0
		}
	}
	s.Calls, s.Asks, s.Phase, s.Status, s.Wake = nil, nil, ModelPhase, Running, time.Time{}
	s.Turn++
	return nil
}

// Opened asks a person something.
type Opened struct {
	Ask Ask `json:"ask"`

	Unknown jsontext.Value `json:",embed"`
}

func (*Opened) kind() string { return "opened" }

func (c *Opened) apply(s *State, _ time.Time) error {
	q := c.Ask
	if q.ID == "" || !utf8.ValidString(q.ID) || q.Kind == "" {
		return errors.New("the question has no id, one that is no text, or no kind")
	}
	if err := s.asks(&q); err != nil {
		return err
	}
	s.Asks = append(s.Asks, &q) // a shorter slice of it may be in other hands
	return nil
}

// asks moves the call that a question is about.
func (s *State) asks(q *Ask) error {
	var from []CallAt
	switch {
	case q.Call == "" && q.Key == "" && q.Kind != AskApproval && q.Kind != AskDoubt:
		return nil
	case q.Kind == AskApproval:
		from = []CallAt{Proposed}
	case q.Kind == AskDoubt:
		from = []CallAt{Sent, Round, Tasked, Child}
	case q.Key != "":
		from = []CallAt{Round}
	default:
		from = []CallAt{Proposed, Ready, Sent, Round, Tasked, Child}
	}
	call, err := s.call(q.Call, from...)
	if err != nil {
		return err
	}
	switch q.Kind {
	case AskApproval:
		call.At, call.Answer = Asked, nil
		if len(q.Arguments) > 0 {
			call.Args = q.Arguments // what is approved is what runs
		}
	case AskDoubt:
		call.At, call.Answer = Doubt, nil
	}
	return nil
}

// Answered is the answer to a question. What follows of it comes in further records.
type Answered struct {
	Answer Answer `json:"answer"`

	// Value is the answer as the server gets it, by which a round goes on.
	Value json.RawMessage `json:"value,omitzero"`

	Unknown jsontext.Value `json:",embed"`
}

func (*Answered) kind() string { return "answered" }

func (c *Answered) apply(s *State, _ time.Time) error {
	q := s.Ask(c.Answer.Ask)
	if q == nil {
		return fmt.Errorf("there is no question %q", c.Answer.Ask)
	}
	if q.Call != "" {
		call, err := s.call(q.Call)
		if err != nil {
			return err
		}
		c.settle(q, call)
	}
	s.drop(func(o *Ask) bool { return o.ID == q.ID })
	return nil
}

// settle brings the answer to the call that waits for it.
func (c *Answered) settle(q *Ask, call *Call) {
	answer := c.Answer
	switch q.Kind {
	case AskApproval:
		call.At, call.Answer = Proposed, &answer
	case AskDoubt:
		call.Answer = &answer
	default:
		if q.Key == "" {
			return
		}
		answers := maps.Clone(call.Answers)
		if answers == nil {
			answers = map[string]json.RawMessage{}
		}
		answers[q.Key] = c.Value
		call.Answers = answers
	}
}

// Compacted puts messages in the place of the oldest ones.
type Compacted struct {
	Replaced int       `json:"replaced"` // how many
	Messages []Message `json:"messages"`
	Usage    Spent     `json:"usage,omitempty"` // of the model that has summarised them

	Unknown jsontext.Value `json:",embed"`
}

func (*Compacted) kind() string { return "compacted" }

func (c *Compacted) apply(s *State, _ time.Time) error {
	if s.Phase == CallsPhase {
		return errors.New("the calls of the last message have no results yet")
	}
	if c.Replaced < 0 || c.Replaced > len(s.History) {
		return fmt.Errorf("%d messages are replaced, and there are %d", c.Replaced, len(s.History))
	}
	s.Archived += c.Replaced
	s.History = append(slices.Clone(c.Messages), s.History[c.Replaced:]...)
	return nil
}

// Charged adds to what the run has used: time at work, completions for servers.
type Charged struct {
	Spent Spent `json:"spent"`

	Unknown jsontext.Value `json:",embed"`
}

func (*Charged) kind() string { return "charged" }

func (c *Charged) apply(*State, time.Time) error { return nil }

// Nested is a record of the run of a sub-agent, which works on a call.
type Nested struct {
	Call   string `json:"call"`
	Record Record `json:"record"`

	Unknown jsontext.Value `json:",embed"`
}

func (*Nested) kind() string { return "nested" }

func (c *Nested) apply(s *State, _ time.Time) error {
	call, err := s.call(c.Call, Proposed, Ready, Sent, Child)
	if err != nil {
		return err
	}
	if call.Child == nil {
		call.Child, call.At = new(State), Child
	}
	return call.Child.Apply(c.Record)
}

// Noted keeps what the host wants kept: variables of its hooks, the context of a trace.
type Noted struct {
	Vars  map[string]json.RawMessage `json:"vars,omitempty"` // null removes one
	Trace map[string]string          `json:"trace,omitempty"`

	Unknown jsontext.Value `json:",embed"`
}

func (*Noted) kind() string { return "noted" }

func (c *Noted) apply(s *State, _ time.Time) error {
	if len(c.Vars) > 0 {
		vars := maps.Clone(s.Vars)
		if vars == nil {
			vars = map[string]json.RawMessage{}
		}
		for name, value := range c.Vars {
			if len(value) == 0 || string(value) == "null" {
				delete(vars, name)
			} else {
				vars[name] = value
			}
		}
		s.Vars = vars
	}
	if c.Trace != nil {
		s.Trace = c.Trace
	}
	return nil
}

// Suspended says that the run waits: for answers, or until a time.
type Suspended struct {
	Wake time.Time `json:"wake,omitzero"` // zero: until an answer comes

	Unknown jsontext.Value `json:",embed"`
}

func (*Suspended) kind() string { return "suspended" }

func (c *Suspended) apply(s *State, _ time.Time) error {
	s.Status, s.Wake = Waiting, c.Wake
	return nil
}

// Woken says that the run goes on.
type Woken struct {
	Unknown jsontext.Value `json:",embed"`
}

func (*Woken) kind() string { return "woken" }

func (c *Woken) apply(s *State, _ time.Time) error {
	if s.Status != Waiting {
		return fmt.Errorf("the run is %s", s.Status)
	}
	s.Status, s.Wake = Running, time.Time{}
	return nil
}

// Ended says that the run is over.
type Ended struct {
	Status Status          `json:"status"`
	Stop   string          `json:"stop,omitzero"`
	Answer string          `json:"answer,omitzero"`
	Output json.RawMessage `json:"output,omitzero"`
	Error  string          `json:"error,omitzero"`

	Unknown jsontext.Value `json:",embed"`
}

func (*Ended) kind() string { return "ended" }

func (c *Ended) apply(s *State, at time.Time) error {
	if !c.Status.Ended() {
		return fmt.Errorf("%q is not the status of a run that has ended", c.Status)
	}
	if s.Phase == CallsPhase {
		s.History = append(s.History, s.leftovers(at))
	}
	s.Phase, s.Status, s.Stop, s.Answer, s.Output, s.Error = "", c.Status, c.Stop, c.Answer, c.Output, c.Error
	s.Model, s.Calls, s.Asks, s.Wake = nil, nil, nil, time.Time{}
	return nil
}
