package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/tmc/langchaingo/llms"
)

// Trust says how far a server's word counts when calls are approved.
type Trust int

const (
	// Untrusted has every call approved: what the server says of its tools is
	// a claim.
	Untrusted Trust = iota

	// TrustHints lets tools that say that they change nothing (readOnlyHint) run
	// without approval.
	TrustHints

	// Trusted lets all tools run without approval.
	Trusted
)

// String is what the constant says in words.
func (t Trust) String() string {
	return word("Trust", int(t), "untrusted", "hints are trusted", "trusted")
}

// Approval is a call that awaits a decision.
type Approval struct {
	Tool *Tool
	Call llms.ToolCall // as the model made it

	// Arguments are those that will be sent: repaired, checked, and as the
	// interceptors left them.
	Arguments json.RawMessage
}

// Decision answers an [Approval]. The zero value denies.
type Decision struct {
	Allow  bool
	Reason string // of a denial, told to the model

	// Arguments replace those of an allowed call. They must fit the tool's
	// schema; the model is told what they are.
	Arguments json.RawMessage

	// Remember makes the decision hold for later calls as well, until
	// [Toolset.Forget], or until the command line or the URL behind the server's
	// name is another one. It holds for the user who made it, see [Options.User].
	// SameArguments and SameTool hold until the tool's definition changes at the
	// longest; SameServer does not end by that. A decision with Arguments is not
	// remembered.
	Remember Scope
}

// Scope says for which calls a decision holds.
type Scope int

const (
	ThisCall      Scope = iota // no other
	SameArguments              // the same tool with the same arguments
	SameTool                   // the same tool
	SameServer                 // all tools of the server, later ones included
)

// String is what the constant says in words.
func (s Scope) String() string {
	return word("Scope", int(s), "this call", "same arguments", "same tool", "same server")
}

// word is that of a constant, or what the type calls one that it does not have.
func word(typeName string, n int, words ...string) string {
	if n < 0 || n >= len(words) {
		return fmt.Sprintf("%s(%d)", typeName, n)
	}
	return words[n]
}

// ApproveFunc decides on a call before it is sent. In each toolset it is asked
// about one call of a user at a time ([Options.User]), and not about calls for
// which a decision is remembered or which [Server.Trust] lets run. An error fails
// the call and is fatal (see [Result.Fatal]).
type ApproveFunc func(context.Context, *Approval) (Decision, error)

// DeniedError says that a call was not allowed. It was not sent.
type DeniedError struct {
	Tool   string // the model's name of the tool
	Reason string
}

func (e *DeniedError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("the call of %s was denied", e.Tool)
	}
	return fmt.Sprintf("the call of %s was denied: %s", e.Tool, e.Reason)
}

// approvalError says that there is no decision.
type approvalError struct{ err error }

func (e *approvalError) Error() string { return "approve: " + e.err.Error() }
func (e *approvalError) Unwrap() error { return e.err }

// approvals asks and remembers.
type approvals struct {
	asking turns
	store  DecisionStore
	user   func(context.Context) string // nil: users are not told apart
	log    *slog.Logger
}

func newApprovals(o *Options) *approvals {
	store := o.Decisions
	if store == nil {
		store = &decisions{}
	}
	return &approvals{store: store, user: o.User, log: o.Logger}
}

// question is a call about which somebody may have to be asked.
type question struct {
	*Approval
	user      string
	anonymous bool // the user is not known, so nothing is remembered
}

func (q *question) key(scope Scope) DecisionKey {
	return keyOf(scope, q.user, q.Tool, q.Arguments)
}

// recall finds a decision from before. The narrowest one counts.
func (a *approvals) recall(ctx context.Context, q *question) (d Decision, found bool) {
	if q.anonymous {
		return Decision{}, false
	}
	for _, scope := range []Scope{SameArguments, SameTool, SameServer} {
		err := guarded(a.log, "Options.Decisions", func() (err error) {
			d, found, err = a.store.Recall(ctx, q.key(scope))
			return err
		})
		if err != nil {
			a.warn("a decision cannot be recalled", q, err)
			return Decision{}, false
		}
		if found {
			d.Arguments = nil // those are of one call
			return d, true
		}
	}
	return Decision{}, false
}

func (a *approvals) remember(ctx context.Context, d Decision, q *question) {
	if d.Remember <= ThisCall || d.Remember > SameServer || d.Arguments != nil || q.anonymous {
		return
	}
	err := guarded(a.log, "Options.Decisions", func() error { return a.store.Remember(ctx, q.key(d.Remember), d) })
	if err != nil {
		a.warn("a decision is not remembered", q, err)
	}
}

func (a *approvals) warn(what string, q *question, err error) {
	a.log.Warn(what, "server", q.Tool.Server(), "tool", q.Tool.name, "error", err)
}

// errUnknownUser is why nothing is forgotten for a user without a name.
var errUnknownUser = errors.New("forget decisions: Options.User does not name the user of the context; Forget of Options.Decisions forgets for all users")

// Forget drops the decisions that are remembered for a server, for all servers if
// server is "". With [Options.User] it drops the decisions of the user of the
// context, and an unknown user is an error. Other errors are those of
// [Options.Decisions].
func (t *Toolset) Forget(ctx context.Context, server string) error {
	user, known := t.approvals.userOf(ctx)
	if !known {
		return errUnknownUser
	}
	return t.approvals.store.Forget(ctx, user, server)
}

// needsApproval reports whether somebody must be asked about the tool.
func (t *Tool) needsApproval() bool {
	if t.policy.approve == nil || t.local != nil {
		return false
	}
	switch t.policy.trust {
	case Trusted:
		return false
	case TrustHints:
		return !ReadOnly(t.def)
	}
	return true
}

// approve returns the arguments to send. edited says that they are not the
// model's.
func (a *approvals) approve(ctx context.Context, about *Approval) (_ json.RawMessage, edited bool, err error) {
	if !about.Tool.needsApproval() {
		return about.Arguments, false, nil
	}
	d, err := a.decide(ctx, &question{Approval: about})
	switch {
	case err != nil:
		return nil, false, err
	case !d.Allow:
		return nil, false, &DeniedError{Tool: about.Tool.name, Reason: d.Reason}
	case d.Arguments == nil:
		return about.Arguments, false, nil
	}
	arguments, err := about.Tool.check(d.Arguments)
	if err != nil {
		return nil, false, &approvalError{fmt.Errorf("the edited arguments do not fit: %w", errors.Unwrap(err))}
	}
	return arguments, true, nil
}

// decide finds a decision that holds for the call, or asks for one.
func (a *approvals) decide(ctx context.Context, q *question) (Decision, error) {
	user, known := a.userOf(ctx)
	q.user, q.anonymous = user, !known
	if d, found := a.recall(ctx, q); found {
		return d, nil
	}
	if err := a.asking.take(ctx, user); err != nil {
		return Decision{}, err
	}
	defer a.asking.end(user)
	// The answer to a call that was asked about meanwhile may hold for this one.
	if d, found := a.recall(ctx, q); found {
		return d, nil
	}
	d, err := q.ask(ctx)
	if err == nil {
		a.remember(ctx, d, q)
	}
	return d, err
}

// ask asks the host.
func (q *question) ask(ctx context.Context) (d Decision, err error) {
	p := q.Tool.policy
	about := *q.Approval
	about.Arguments = append(json.RawMessage(nil), q.Arguments...)
	err = guarded(p.log, "ApproveFunc", func() (err error) {
		d, err = p.approve(ctx, &about)
		return err
	})
	if err != nil {
		p.log.Warn("Options.Approve gave no decision", "server", p.label, "tool", q.Tool.name, "error", err)
		return Decision{}, &approvalError{err}
	}
	return d, nil
}
