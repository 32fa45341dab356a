// Package approval defines the approval of tool calls by a person or a rule: requests, decisions,
// and stores of decisions that hold for later calls. Packages adapter and agent ask for decisions.
// The guide is docs/adapter.md of the repository.
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
	Server string        // the host's label, "" for a tool of the toolset itself
	Name   string        // the model's name of the tool
	Call   llms.ToolCall // as the model or the view made it
	View   string        // the URI of the view that makes the call, "" for a model

	// Definition is the tool as its server describes it. Annotations are claims of the server.
	Definition *mcp.Tool

	// Arguments are the arguments to send: repaired, checked, and as the interceptors left them. If
	// an agent inserts a stored result into a call, they have a reference to it instead, with its
	// size, kind, shape and digest.
	Arguments json.RawMessage
}

// Decision is the answer to a [Request]. The zero value denies.
type Decision struct {
	Allow  bool
	Reason string // the reason for a denial; the model reads it

	// Arguments replace the arguments of an allowed call. They must fit the tool's schema, and the
	// model is told.
	Arguments json.RawMessage

	// Remember makes the decision hold for later calls of the same user (User of adapter.Options).
	// It ends with adapter.Toolset.Forget, or if the label of the server gets another command line
	// or URL. Except for ScopeServer, it also ends if the tool's definition changes. A decision
	// with Arguments is not remembered.
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

// String describes the scope for a person.
func (s Scope) String() string {
	if s < ScopeCall || s > ScopeServer {
		return fmt.Sprintf("Scope(%d)", int(s))
	}
	return [...]string{"this call", "same arguments", "same tool", "same server"}[s]
}

// Allow returns the decision to run a call unchanged. To change its arguments, set
// Decision.Arguments.
func Allow() Decision { return Decision{Allow: true} }

// Deny returns the decision not to run a call. The model reads the reason and continues.
func Deny(reason string) Decision { return Decision{Reason: reason} }

// Func decides on a call before it is sent. Toolsets ask each user about one call at a time (User
// of adapter.Options), and only about calls without a remembered decision that Trust of
// adapter.Policy does not allow. After an error the call is not sent: its result is the fatal
// adapter.ErrUndecided, and a run of package agent ends.
type Func func(context.Context, *Request) (Decision, error)
