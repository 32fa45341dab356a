package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// The errors of [Check].
var (
	ErrNotAsked = errors.New("the question is not open")
	ErrExpired  = errors.New("the question has expired")
	ErrUnfit    = errors.New("the answer does not fit")
)

// maxAnswer bounds what a person writes in an answer, in bytes.
const maxAnswer = 1 << 20

// actions are the answers that a question takes, by its kind.
var actions = map[QuestionKind][]Action{
	QuestionApproval: {ActionAllow, ActionDeny},
	QuestionForm:     {ActionAccept, ActionDecline, ActionCancel},
	QuestionURL:      {ActionAccept, ActionDecline, ActionCancel},
	QuestionSampling: {ActionAllow, ActionDeny},
	QuestionDoubt:    {ActionRan, ActionNotRun, ActionKnown},
	QuestionSignIn:   {ActionAccept, ActionDecline, ActionCancel},
}

// The scopes of an approval: for which later calls it holds. Without one it holds for this call alone.
const (
	ScopeArguments = "arguments" // the same tool with the same arguments
	ScopeTool      = "tool"      // the same tool
	ScopeServer    = "server"    // all tools of the server, later ones included
)

// scopes are the values of [Decision.Scope].
var scopes = []string{"", ScopeArguments, ScopeTool, ScopeServer}

// Check checks an answer to a question. The error matches [ErrNotAsked] if it is to
// another question, [ErrExpired] if the question has expired, and [ErrUnfit] if the answer
// does not fit: another action than the question takes, arguments that are not as the tool
// wants them, a form that is not filled in as asked, more than 1 MiB of text.
func Check(q *Question, a Reply, now time.Time) error {
	switch {
	case a.Question != q.ID:
		return fmt.Errorf("answer question %q with an answer to %.100q: %w", q.ID, a.Question, ErrNotAsked)
	case !q.Expires.IsZero() && !now.Before(q.Expires):
		return fmt.Errorf("answer question %q, which was open until %v: %w", q.ID, q.Expires.Format(time.RFC3339), ErrExpired)
	}
	if err := q.fits(a); err != nil {
		return fmt.Errorf("answer question %q: %w: %w", q.ID, err, ErrUnfit)
	}
	return nil
}

func (q *Question) fits(a Reply) error {
	takes := actions[q.Kind]
	switch {
	case !slices.Contains(takes, a.Action):
		return fmt.Errorf("a question of kind %q takes %q and not %.100q", q.Kind, takes, a.Action)
	case len(a.Reason)+len(a.Arguments)+len(a.Content)+len(a.Scope)+len(a.By) > maxAnswer:
		return fmt.Errorf("it has more than %d bytes", maxAnswer)
	case a.Scope != "" && q.Kind != QuestionApproval || !slices.Contains(scopes, a.Scope):
		return fmt.Errorf("the scope %.100q is not one of an approval", a.Scope)
	case len(a.Arguments) > 0 && (q.Kind != QuestionApproval && q.Kind != QuestionSampling || a.Action != ActionAllow):
		return errors.New("arguments are for a call or a completion that is allowed")
	case len(a.Arguments) > 0 && !isObject(a.Arguments):
		return errors.New("the arguments are not a JSON object")
	case len(a.Content) > 0 && (q.Kind != QuestionForm || a.Action != ActionAccept):
		return errors.New("content is for a form that is accepted")
	}
	switch q.Kind {
	case QuestionApproval:
		return q.suits(a.Arguments)
	case QuestionForm, QuestionURL:
		_, err := q.Elicited(a)
		return err
	case QuestionSampling:
		_, err := a.Sampled()
		return err
	}
	return nil
}

// suits checks arguments of a person by the schema of the tool. The tool itself checks them
// again before it runs; a schema that cannot be read is left to it.
func (q *Question) suits(arguments json.RawMessage) error {
	if len(arguments) == 0 || q.Definition == nil {
		return nil
	}
	s, err := schema.Compile(q.Definition.InputSchema)
	if err != nil {
		return nil
	}
	if err := s.Validate(arguments); err != nil {
		return fmt.Errorf("the arguments are not as the tool wants them: %w", err)
	}
	return nil
}

// Sampled returns the sampling request with which a person has replaced the server's,
// nil if there is none.
func (a Reply) Sampled() (*mcp.CreateMessageParams, error) {
	if len(a.Arguments) == 0 {
		return nil, nil
	}
	params := new(mcp.CreateMessageParams)
	if err := json.Unmarshal(a.Arguments, params); err != nil {
		return nil, fmt.Errorf("the arguments are no sampling request: %w", err)
	}
	if len(params.Messages) == 0 {
		return nil, errors.New("the arguments have no messages")
	}
	return params, inquiry.CheckMessages(params.Messages)
}

// isObject reports whether raw is a JSON object.
func isObject(raw json.RawMessage) bool {
	return json.Valid(raw) && bytes.TrimLeft(raw, " \t\r\n")[0] == '{'
}

// Elicited returns the answer to a question of a server ([QuestionForm], [QuestionURL]) as the server
// gets it: completed with defaults, and checked. An integer keeps all its digits.
func (q *Question) Elicited(a Reply) (*mcp.ElicitResult, error) {
	if q.Elicit == nil {
		return nil, fmt.Errorf("a question of kind %q has no form and no URL", q.Kind)
	}
	r := &mcp.ElicitResult{Action: string(a.Action)}
	if len(a.Content) > 0 {
		if !isObject(a.Content) {
			return nil, errors.New("the content is not a JSON object")
		}
		d := json.NewDecoder(bytes.NewReader(a.Content))
		d.UseNumber()
		if err := d.Decode(&r.Content); err != nil {
			return nil, err
		}
	}
	return forms.Complete(q.Elicit, r)
}

// Allow lets a call run ([QuestionApproval]), or a server have a completion ([QuestionSampling]). Set
// Scope for later calls, such as [ScopeTool].
func (q *Question) Allow() Reply { return q.with(ActionAllow, "") }

// AllowWith lets a call run with other arguments, a JSON object as the tool wants it, or a server have a completion
// for another request: the JSON of [mcp.CreateMessageParams].
func (q *Question) AllowWith(arguments json.RawMessage) Reply {
	return Reply{Question: q.ID, Action: ActionAllow, Arguments: arguments}
}

// Deny refuses a call or a completion. The model is told the reason.
func (q *Question) Deny(reason string) Reply { return q.with(ActionDeny, reason) }

// Accept answers a form with its fields, or consents to visit a URL or to sign in, with
// nil. Fields that are left out have their defaults. The error matches [ErrUnfit] if the
// fields are not as the form asks for; its text is for the person.
func (q *Question) Accept(fields map[string]any) (Reply, error) {
	a := q.with(ActionAccept, "")
	if q.Kind == QuestionForm && q.Elicit != nil {
		r, err := forms.Complete(q.Elicit, &mcp.ElicitResult{Action: string(ActionAccept), Content: fields})
		if err != nil {
			return Reply{}, fmt.Errorf("answer question %q: %w: %w", q.ID, err, ErrUnfit)
		}
		fields = r.Content
	}
	if fields != nil {
		content, err := json.Marshal(fields)
		if err != nil {
			return Reply{}, fmt.Errorf("answer question %q: %w: %w", q.ID, err, ErrUnfit)
		}
		a.Content = content
	}
	if err := q.fits(a); err != nil {
		return Reply{}, fmt.Errorf("answer question %q: %w: %w", q.ID, err, ErrUnfit)
	}
	return a, nil
}

// Decline says no to a form, a URL or a sign-in.
func (q *Question) Decline() Reply { return q.with(ActionDecline, "") }

// Cancel leaves a form, a URL or a sign-in without a choice.
func (q *Question) Cancel() Reply { return q.with(ActionCancel, "") }

// Ran says that a call in doubt ran. Its result is lost.
func (q *Question) Ran() Reply { return q.with(ActionRan, "") }

// RanWith says that a call in doubt ran with a result that the person knows.
func (q *Question) RanWith(result string) Reply { return q.with(ActionKnown, result) }

// NotRun says that a call in doubt did not run. It is sent again.
func (q *Question) NotRun() Reply { return q.with(ActionNotRun, "") }

func (q *Question) with(action Action, reason string) Reply {
	return Reply{Question: q.ID, Action: action, Reason: reason}
}

// Equal reports whether two answers say the same, at whatever time.
func (a Reply) Equal(b Reply) bool {
	a.At, b.At = time.Time{}, time.Time{}
	one, err1 := marshal(a)
	two, err2 := marshal(b)
	return err1 == nil && err2 == nil && bytes.Equal(one, two)
}
