// Package approval defines the approval of tool calls by a person or a rule: requests, decisions,
// and stores of decisions that hold for later calls. Packages adapter and agent ask for decisions.
// The guide is docs/adapter.md of the repository.
package approval

import (
	"context"
	"encoding/json"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Request is a call that awaits a decision.
type Request struct {
	Server string        // the host's label, "" for a tool of the toolset itself
	Name   string        // the model's name of the tool
	Call   llms.ToolCall // as the model or the view made it
	View   string        // the URI of the view that makes the call, "" for a model

	// Definition is the tool as its server describes it. Annotations are claims of the server.
	Definition *mcp.Tool

	// Arguments are the arguments to send: repaired, checked, and as the interceptors left them. Where an agent inserts
	// a stored result, they have a description of it (size, kind, shape and digest) in place of the value.
	Arguments json.RawMessage
}

// Decision is the answer to a [Request]. The zero value denies. The error of a denied call (Err of
// adapter.Result) matches apps.ErrDenied, of mcpclient/apps.
type Decision struct {
	Allow  bool
	Reason string // the reason for a denial; the model reads it and continues

	// Arguments replace the arguments of an allowed call. They must fit the tool's schema, and the model is told.
	Arguments json.RawMessage

	// Remember makes the decision hold for later calls of the same user (User of adapter.Options).
	// The decision ends with Forget of the [Store], or when the server with that label gets
	// another command line or URL. Except for ScopeServer, it also ends when the tool's definition
	// changes. A decision with Arguments, or with ScopeCall, is not remembered.
	Remember Scope
}

// Scope specifies for which calls a decision holds.
type Scope int

const (
	ScopeCall      Scope = iota // this call
	ScopeArguments              // calls of the same tool with the same arguments
	ScopeTool                   // calls of the same tool
	ScopeServer                 // calls of all tools of the server, including later ones
)

// Func decides on a call before it is sent. A toolset asks about one call of a user (User of adapter.Options) at a
// time, and about calls of different users concurrently. It asks only about calls that neither a remembered decision
// nor Trust of adapter.Policy settles. After an error the call is not sent: the error of its result is fatal and
// matches adapter.ErrUndecided, and a run of package agent ends.
type Func func(context.Context, *Request) (Decision, error)
