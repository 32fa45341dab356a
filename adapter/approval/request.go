// Package approval is about calls of tools that a person, or a rule, decides on before they are sent: what is asked, what is
// decided, and what is kept of it for later calls. Packages adapter and agent ask; the guide is docs/adapter.md.
package approval

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Request is a call that awaits a decision.
type Request struct {
	Server string        // the host's label, "" for a tool of the toolset's own
	Name   string        // by which the model knows the tool
	Call   llms.ToolCall // as the model made it, or the view
	View   string        // the URI of the view that makes the call, "" if a model does

	// Definition is the tool as its server describes it. Annotations are claims of
	// the server.
	Definition *mcp.Tool

	// Arguments are what will be sent: repaired, checked, and as the interceptors
	// left them. Where an agent puts a result that it keeps into a call, they have a
	// reference to it with its size, kind, shape and digest.
	Arguments json.RawMessage
}

// Decision says what becomes of a [Request]. The zero value denies.
type Decision struct {
	Allow  bool
	Reason string // of a denial, told to the model

	// Arguments replace the arguments of an allowed call. They must fit the tool's
	// schema; the model is told what they are.
	Arguments json.RawMessage

	// Remember makes the decision hold for later calls as well, until
	// Toolset.Forget of package adapter, or until the server's name gets another command line or
	// URL. It holds for the user who made it, see User of adapter.Options.
	// ScopeArguments and ScopeTool hold until the tool's definition changes at the
	// longest; ScopeServer does not end by that. A decision with Arguments is not
	// remembered.
	Remember Scope
}

// Scope says for which calls a decision holds.
type Scope int

const (
	ScopeCall      Scope = iota // no other
	ScopeArguments              // the same tool with the same arguments
	ScopeTool                   // the same tool
	ScopeServer                 // all tools of the server, later ones included
)

// String is what the constant says in words.
func (s Scope) String() string {
	if s < ScopeCall || s > ScopeServer {
		return fmt.Sprintf("Scope(%d)", int(s))
	}
	return [...]string{"this call", "same arguments", "same tool", "same server"}[s]
}

// Allow is the [Decision] to run the call as it is.
func Allow() Decision { return Decision{Allow: true} }

// AllowWith is the [Decision] to run the call with other arguments, a JSON object.
func AllowWith(arguments json.RawMessage) Decision {
	return Decision{Allow: true, Arguments: arguments}
}

// Deny is the [Decision] not to run the call. The model is told the reason and
// continues.
func Deny(reason string) Decision { return Decision{Reason: reason} }

// Func decides on a call before it is sent. A toolset asks about one call of a
// user at a time (User of adapter.Options). It does not ask about calls for which a decision is
// remembered or which Trust of adapter.Policy lets run. An error is adapter.ErrUndecided: the
// call is not sent, its result is fatal (see adapter.Result.Fatal), and a run of package
// agent ends.
type Func func(context.Context, *Request) (Decision, error)
