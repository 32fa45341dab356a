package adapter

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
)

// Trust specifies how far a server's own description of its tools is believed when calls are approved.
type Trust int

const (
	// TrustNone exempts no tool from [Options.Approve].
	TrustNone Trust = iota + 1

	// TrustHints exempts tools that declare that they change nothing (readOnlyHint).
	TrustHints

	// TrustFull exempts all tools.
	TrustFull
)

// deniedError is the error of a call that was denied. It was not sent.
type deniedError struct {
	tool   string // the model's name for it
	reason string
}

// Is lets a view learn that the call was denied, see [Toolset.ViewAccess].
func (e *deniedError) Is(target error) bool { return target == apps.ErrDenied }

func (e *deniedError) Error() string {
	if e.reason == "" {
		return fmt.Sprintf("the call of %s was denied", e.tool)
	}
	return fmt.Sprintf("the call of %s was denied: %s", e.tool, e.reason)
}

func (e *deniedError) forModel(effect string) (text string, fatal bool) {
	return e.Error() + ". " + effect, false
}

// approvalError is the error of a call without a decision: the approver failed, or returned
// arguments that do not fit, which is an editError.
type approvalError struct {
	tool string // the model's name for it
	err  error
}

func (e *approvalError) Error() string {
	return fmt.Sprintf("approve call of tool %q: %v", e.tool, e.err)
}

func (e *approvalError) Unwrap() error        { return e.err }
func (e *approvalError) Is(target error) bool { return target == ErrUndecided }

func (e *approvalError) forModel(effect string) (text string, fatal bool) {
	if edit, ok := e.err.(*editError); ok {
		return fmt.Sprintf("the user changed the arguments to some that do not fit: %v. %s", edit.argumentError, effect), true
	}
	return "no person could be asked to approve the call. " + effect, true
}

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
	store = cmp.Or(store, approval.NewMemory())
	return &approvals{asking: turns{users: map[string]*turn{}}, store: store, user: o.User, log: o.Logger}
}

// question is a call that may need approval. A remembered decision is found by these fields.
type question struct {
	tool      *Tool
	arguments json.RawMessage
	user      string
	anonymous bool // the user is unknown, so nothing is remembered
}

func (a *approvals) newQuestion(ctx context.Context, t *Tool, arguments json.RawMessage) *question {
	user, known := a.callUser(ctx)
	return &question{tool: t, arguments: arguments, user: user, anonymous: !known}
}

// key returns the key of a decision about the call.
func (q *question) key(scope approval.Scope) approval.Key {
	k := approval.Key{
		Scope:  scope,
		User:   q.user,
		Server: q.tool.server.label,
		Origin: q.tool.server.origin,
		Place:  q.tool.server.address,
	}
	if scope == approval.ScopeServer {
		return k
	}
	k.Tool, k.Fingerprint = q.tool.def.Name, q.tool.fingerprint
	if scope == approval.ScopeArguments {
		sum := sha256.Sum256(canonical(q.arguments))
		k.Arguments = hex.EncodeToString(sum[:])
	}
	return k
}

// recall returns the remembered decision with the narrowest scope that covers the call.
func (a *approvals) recall(ctx context.Context, q *question) (d approval.Decision, found bool) {
	if q.anonymous {
		return approval.Decision{}, false
	}
	for _, scope := range []approval.Scope{approval.ScopeArguments, approval.ScopeTool, approval.ScopeServer} {
		err := runGuarded(a.log, "Options.Decisions", func() (err error) {
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
	err := runGuarded(a.log, "Options.Decisions", func() error { return a.store.Remember(ctx, q.key(d.Remember), d) })
	if err != nil {
		a.warn("could not remember a decision", q, err)
	}
}

func (a *approvals) warn(what string, q *question, err error) {
	a.log.Warn(what, "server", q.tool.server.label, "tool", q.tool.name, "error", err)
}

// approver returns the function that decides on calls of the tool, nil if they need no approval.
// The [caller.Caller] of the context may replace the host's function.
func (t *Tool) approver(ctx context.Context) approval.Func {
	if t.isReader() || t.server.policy.Trust == TrustFull || t.server.policy.Trust == TrustHints && declaresReadOnly(t.def) {
		return nil
	}
	return wrapApproval(ctx, t.server.opts.Logger, t.server.opts.Approve)
}

// approve returns the arguments to send, after a decision if the call needs one. edited reports whether they differ from
// the model's.
func (a *approvals) approve(
	ctx context.Context, t *Tool, call llms.ToolCall, arguments json.RawMessage,
) (_ json.RawMessage, edited bool, err error) {
	ask := t.approver(ctx)
	if ask == nil {
		return arguments, false, nil
	}
	d, err := a.decide(ctx, a.newQuestion(ctx, t, arguments), func() (approval.Decision, error) {
		return t.askHost(ctx, ask, &approval.Request{
			Server:     t.server.label,
			Name:       t.name,
			Call:       call,
			View:       ViewFrom(ctx),
			Definition: t.def,
			Arguments:  slices.Clone(arguments),
		})
	})
	if err != nil {
		return nil, false, err
	}
	return t.apply(d, arguments)
}

// apply returns the arguments to send according to a decision. edited reports whether they differ from the model's.
func (t *Tool) apply(d approval.Decision, arguments json.RawMessage) (_ json.RawMessage, edited bool, err error) {
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

// decide returns the decision for the call: a remembered one, or else the result of ask.
func (a *approvals) decide(ctx context.Context, q *question, ask func() (approval.Decision, error)) (approval.Decision, error) {
	if d, found := a.recall(ctx, q); found {
		return d, nil
	}
	endTurn, err := a.asking.acquire(ctx, q.user)
	if err != nil {
		return approval.Decision{}, err
	}
	defer endTurn()
	// A decision on a concurrent call may cover this one.
	if d, found := a.recall(ctx, q); found {
		return d, nil
	}
	d, err := ask()
	if err != nil {
		return approval.Decision{}, err
	}
	a.remember(ctx, d, q)
	return d, nil
}

// askHost asks the host to decide on a call of the tool. The error matches [ErrUndecided].
func (t *Tool) askHost(ctx context.Context, ask approval.Func, request *approval.Request) (d approval.Decision, err error) {
	err = runGuarded(t.server.opts.Logger, "Options.Approve", func() (err error) {
		d, err = ask(ctx, request)
		return err
	})
	if err == nil {
		return d, nil
	}
	if callerOf(ctx).Approve == nil { // a Caller that decides may ask later
		t.server.opts.Logger.Warn("Options.Approve gave no decision", "server", t.server.label, "tool", t.name, "error", err)
	}
	return approval.Decision{}, &approvalError{t.name, err}
}

// callUser returns the user of a call, "" without Options.User. If that returns "", known is
// false and nothing is remembered.
func (a *approvals) callUser(ctx context.Context) (user string, known bool) {
	if a.user == nil {
		return "", true
	}
	if err := runGuarded(a.log, "Options.User", func() error { user = a.user(ctx); return nil }); err != nil {
		a.log.Error("a call has no user", "error", err)
		return "", false
	}
	return user, user != ""
}
