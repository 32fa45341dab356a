package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
)

// Trust says how far a server's own description of its tools is believed when calls are approved.
type Trust int

const (
	// TrustNone requires approval of every call.
	TrustNone Trust = iota + 1

	// TrustHints exempts tools that declare that they change nothing (readOnlyHint).
	TrustHints

	// TrustFull exempts all tools.
	TrustFull
)

// deniedError is the error of a call that was denied. It was not sent.
type deniedError struct {
	tool   string // as the model knows it
	reason string
}

// Is lets a view learn that the call was denied, see [Toolset.ViewAccess].
func (e *deniedError) Is(target error) bool { return target == ErrDenied || target == apps.ErrDenied }

func (e *deniedError) Error() string {
	if e.reason == "" {
		return fmt.Sprintf("the call of %s was denied", e.tool)
	}
	return fmt.Sprintf("the call of %s was denied: %s", e.tool, e.reason)
}

// approvalError is the error of a call without a decision: the approver failed, or returned
// arguments that do not fit, which is an argumentError.
type approvalError struct {
	tool string // as the model knows it
	err  error
}

func (e *approvalError) Error() string {
	return fmt.Sprintf("approve call of tool %q: %v", e.tool, e.err)
}

func (e *approvalError) Unwrap() error        { return e.err }
func (e *approvalError) Is(target error) bool { return target == ErrUndecided }

// editError is the error of a decision whose arguments do not fit.
type editError struct{ *argumentError }

func (e *editError) Error() string { return "the edited arguments do not fit: " + e.err.Error() }
func (e *editError) Unwrap() error { return e.argumentError }

// approvals asks the host for decisions and remembers them.
type approvals struct {
	asking turns // one question per user at a time
	store  approval.Store
	user   func(context.Context) string // nil: all calls belong to one user
	log    *slog.Logger
}

func newApprovals(o *Options) *approvals {
	store := o.Decisions
	if store == nil {
		store = &decisions{}
	}
	return &approvals{store: store, user: o.User, log: o.Logger}
}

// question is a call that may need approval.
type question struct {
	tool      *Tool
	about     *approval.Request
	ask       approval.Func
	user      string
	anonymous bool // the user is unknown, so nothing is remembered
}

func (q *question) key(scope approval.Scope) approval.Key {
	return keyOf(scope, q.user, q.tool, q.about.Arguments)
}

// recall returns the remembered decision with the narrowest scope that covers the call.
func (a *approvals) recall(ctx context.Context, q *question) (d approval.Decision, found bool) {
	if q.anonymous {
		return approval.Decision{}, false
	}
	for _, scope := range []approval.Scope{approval.ScopeArguments, approval.ScopeTool, approval.ScopeServer} {
		err := guarded(a.log, "Options.Decisions", func() (err error) {
			d, found, err = a.store.Recall(ctx, q.key(scope))
			return err
		})
		if err != nil {
			a.warn("could not recall a decision", q, err)
			return approval.Decision{}, false
		}
		if found {
			d.Arguments = nil // edited arguments belong to one call
			return d, true
		}
	}
	return approval.Decision{}, false
}

// remember stores a decision that holds for later calls. A decision with arguments is for one call.
func (a *approvals) remember(ctx context.Context, d approval.Decision, q *question) {
	if d.Remember <= approval.ScopeCall || d.Remember > approval.ScopeServer || d.Arguments != nil || q.anonymous {
		return
	}
	err := guarded(a.log, "Options.Decisions", func() error { return a.store.Remember(ctx, q.key(d.Remember), d) })
	if err != nil {
		a.warn("could not remember a decision", q, err)
	}
}

func (a *approvals) warn(what string, q *question, err error) {
	a.log.Warn(what, "server", q.about.Server, "tool", q.about.Name, "error", err)
}

// errUnknownUser is the error of forgetting decisions of a user without a name.
var errUnknownUser = errors.New("forget decisions: Options.User does not name the user of the context; Forget of Options.Decisions forgets for all users")

// forget implements [Toolset.Forget].
func (a *approvals) forget(ctx context.Context, server string) error {
	user, known := a.userOf(ctx)
	if !known {
		return errUnknownUser
	}
	return a.store.Forget(ctx, user, server)
}

// approver returns whom to ask about calls of the tool, nil if they need no approval. The [Caller]
// of the context may replace the host's function.
func (t *Tool) approver(ctx context.Context) approval.Func {
	ask := t.policy.approve
	if around := callerFrom(ctx).Approve; around != nil {
		ask = around(ask)
	}
	switch {
	case t.isReader(), t.policy.Trust == TrustFull, t.policy.Trust == TrustHints && ReadOnly(t.def):
		return nil
	}
	return ask
}

// approve returns the arguments to send. edited reports whether they differ from the model's.
func (a *approvals) approve(ctx context.Context, t *Tool, call llms.ToolCall, arguments json.RawMessage) (_ json.RawMessage, edited bool, err error) {
	ask := t.approver(ctx)
	if ask == nil {
		return arguments, false, nil
	}
	about := &approval.Request{Server: t.policy.label, Name: t.name, Call: call, View: ViewFrom(ctx), Definition: t.def, Arguments: arguments}
	d, err := a.decide(ctx, &question{tool: t, about: about, ask: ask})
	if err != nil {
		return nil, false, err
	}
	return t.decided(d, arguments)
}

// decided returns the arguments to send according to a decision.
func (t *Tool) decided(d approval.Decision, arguments json.RawMessage) (_ json.RawMessage, edited bool, err error) {
	switch {
	case !d.Allow:
		return nil, false, &deniedError{tool: t.name, reason: d.Reason}
	case d.Arguments == nil:
		return arguments, false, nil
	}
	checked, err := t.check(d.Arguments)
	if bad, ok := errors.AsType[*argumentError](err); ok {
		return nil, false, &approvalError{t.name, &editError{bad}}
	}
	return checked, true, err
}

// decide returns the decision for the call: a remembered one, or the host's.
func (a *approvals) decide(ctx context.Context, q *question) (approval.Decision, error) {
	user, known := a.userOf(ctx)
	q.user = user
	q.anonymous = !known
	if d, found := a.recall(ctx, q); found {
		return d, nil
	}
	if err := a.asking.take(ctx, user); err != nil {
		return approval.Decision{}, err
	}
	defer a.asking.end(user)
	// A decision on a concurrent call may cover this one.
	if d, found := a.recall(ctx, q); found {
		return d, nil
	}
	d, err := q.put(ctx)
	if err != nil {
		return approval.Decision{}, err
	}
	a.remember(ctx, d, q)
	return d, nil
}

// put asks the host.
func (q *question) put(ctx context.Context) (d approval.Decision, err error) {
	log := q.tool.policy.log
	about := *q.about
	about.Arguments = slices.Clone(q.about.Arguments)
	err = guarded(log, "Options.Approve", func() (err error) {
		d, err = q.ask(ctx, &about)
		return err
	})
	if err != nil && callerFrom(ctx).Approve == nil { // a caller that takes over may ask later
		log.Warn("Options.Approve gave no decision", "server", about.Server, "tool", about.Name, "error", err)
	}
	if err != nil {
		return approval.Decision{}, &approvalError{q.about.Name, err}
	}
	return d, nil
}
