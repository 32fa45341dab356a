package run

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/replydata"
	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// The errors of [CheckReply].
var (
	ErrNotAsked = errors.New("question is not open")
	ErrExpired  = errors.New("question has expired")
	ErrUnfit    = errors.New("answer does not fit")
)

// maxReply bounds a reply, in bytes.
const maxReply = 1 << 20

// actions lists the valid actions for each kind of question.
var actions = map[QuestionKind][]Action{
	QuestionApproval: {ActionAllow, ActionDeny},
	QuestionForm:     {ActionAccept, ActionDecline, ActionCancel},
	QuestionURL:      {ActionAccept, ActionDecline, ActionCancel},
	QuestionSampling: {ActionAllow, ActionDeny},
	QuestionDoubt:    {ActionRan, ActionNotRun, ActionKnown},
	QuestionSignIn:   {ActionAccept, ActionDecline, ActionCancel},
}

// The scopes of an approval: the later calls that it applies to. The empty scope means only this call.
// The process that continues the run stores the decision in Decisions of the toolset's adapter.Options:
// by default in memory, until that process ends. approval.NewFiles keeps decisions in files.
const (
	ScopeArguments = "arguments" // the same tool with the same arguments
	ScopeTool      = "tool"      // the same tool
	ScopeServer    = "server"    // all tools of the server, including future ones
)

var scopes = []string{"", ScopeArguments, ScopeTool, ScopeServer}

// CheckReply checks a reply to a question. The error matches [ErrNotAsked] if the reply does not
// name this question, [ErrExpired] if the question has expired, and [ErrUnfit] if the reply is
// invalid: an action, a scope, arguments or content that the question does not take, arguments that
// violate the tool's schema, a form that is not filled in correctly, JSON nested more than 1,000 levels
// deep, or more than 1 MiB in all.
func CheckReply(q *Question, r Reply, now time.Time) error {
	switch {
	case r.Question != q.ID:
		return fmt.Errorf("answer question %q with an answer to %.100q: %w", q.ID, r.Question, ErrNotAsked)
	case !q.Expires.IsZero() && !now.Before(q.Expires):
		return fmt.Errorf("answer question %q, which was open until %v: %w", q.ID, q.Expires.Format(time.RFC3339), ErrExpired)
	}
	if err := q.check(r); err != nil {
		return fmt.Errorf("answer question %q: %w: %w", q.ID, err, ErrUnfit)
	}
	return nil
}

func (q *Question) check(r Reply) error {
	valid := actions[q.Kind]
	switch {
	case !slices.Contains(valid, r.Action):
		return fmt.Errorf("a question of kind %q takes %q and not %.100q", q.Kind, valid, r.Action)
	case len(r.Reason)+len(r.Arguments)+len(r.Content)+len(r.Scope)+len(r.By)+len(r.Unknown) > maxReply:
		return fmt.Errorf("reply has more than %d bytes", maxReply)
	case r.Scope != "" && q.Kind != QuestionApproval || !slices.Contains(scopes, r.Scope):
		return fmt.Errorf("scope %.100q is not one of an approval", r.Scope)
	case len(r.Arguments) > 0 && (q.Kind != QuestionApproval && q.Kind != QuestionSampling || r.Action != ActionAllow):
		return errors.New("arguments are for a call or a completion that is allowed")
	case len(r.Arguments) > 0 && !replydata.IsObject(r.Arguments):
		return errors.New("arguments are not a JSON object")
	case len(r.Content) > 0 && (q.Kind != QuestionForm || r.Action != ActionAccept):
		return errors.New("content is for a form that is accepted")
	}
	for _, raw := range [][]byte{r.Arguments, r.Content, r.Unknown} { // deeper JSON could be stored, but not loaded
		if len(raw) > 0 {
			if err := jsonrpc.Check(raw); err != nil {
				return err
			}
		}
	}
	switch q.Kind {
	case QuestionApproval:
		return q.checkArguments(r.Arguments)
	case QuestionForm, QuestionURL:
		_, err := replydata.ElicitResult(q.Elicit, string(r.Action), r.Content)
		return err
	case QuestionSampling:
		_, err := replydata.SamplingParams(r.Arguments)
		return err
	}
	return nil
}

// checkArguments checks a person's arguments against the schema of the tool. If the schema cannot be
// compiled, the check is left to the tool, which makes it again in any case.
func (q *Question) checkArguments(arguments json.RawMessage) error {
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

// Allow returns a reply that lets a call run ([QuestionApproval]) or lets a server have a
// completion ([QuestionSampling]). Set its Scope to decide on later calls, too ([ScopeTool]), and its Arguments to
// change those of the call, or to replace the server's request by another [mcp.CreateMessageParams].
func (q *Question) Allow() Reply { return q.newReply(ActionAllow, "") }

// Deny returns a reply that refuses a call or a completion. The model is told the reason.
func (q *Question) Deny(reason string) Reply { return q.newReply(ActionDeny, reason) }

// Accept returns a reply that fills in a form, or with nil consents to visit a URL or to sign
// in. Fields that are left out get their defaults. The error matches [ErrUnfit] if the fields
// are invalid; its text is written for the person.
func (q *Question) Accept(fields map[string]any) (Reply, error) {
	r, err := q.accept(fields)
	if err != nil {
		return Reply{}, fmt.Errorf("answer question %q: %w: %w", q.ID, err, ErrUnfit)
	}
	return r, nil
}

func (q *Question) accept(fields map[string]any) (r Reply, err error) {
	r = q.newReply(ActionAccept, "")
	if q.Kind == QuestionForm && q.Elicit != nil {
		result, err := forms.Complete(q.Elicit, &mcp.ElicitResult{Action: string(ActionAccept), Content: fields})
		if err != nil {
			return r, err
		}
		fields = result.Content
	}
	if fields != nil {
		if r.Content, err = jsonrpc.Marshal(fields); err != nil {
			return r, err
		}
	}
	return r, q.check(r)
}

// Decline returns a reply that refuses a form, a URL or a sign-in.
func (q *Question) Decline() Reply { return q.newReply(ActionDecline, "") }

func (q *Question) newReply(action Action, reason string) Reply {
	return Reply{Question: q.ID, Action: action, Reason: reason}
}
