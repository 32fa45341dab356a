package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// Origin is where a server's request comes from, for its handler.
type Origin struct {
	// Session is the session in which the server asks: a *mcpclient.Client, which a handler may
	// call, or a session of the host. Requests of one session have equal values.
	Session any
	Server  Server

	// Call is the client's call during which the server asks. It is nil if that is unknown: on a
	// connection of the legacy era with no call, or several calls, under way. Lists, pings and
	// other requests that give a server no reason to ask count only while no other call is under way.
	Call *CallInfo

	ID   json.RawMessage // the id of the server's request; nil in the modern era
	Key  string          // the question's key in its round; "" in the legacy era
	Meta json.RawMessage // _meta of the server's request
}

// CallInfo describes a call that is under way.
type CallInfo struct {
	// ID is unique within the Client and never 0. The input rounds of a call have its ID, as do
	// the requests about a task that the call became or that mcpclient.Client.Task resumed.
	ID int64

	Method string // "tools/call", even if the call has become a task
	Name   string // the name of the tool or prompt, or the URI of the resource
}

type originKey struct{}

// WithOrigin returns a context for a handler whose request has this origin. Hosts with sessions of
// their own use it. Origin.Session must be comparable.
func WithOrigin(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// OriginFrom returns the origin of the request that a handler is answering.
//
// The handler's context also has the values of the call's context; if the server's request may belong to several calls,
// those values on which all their contexts agree. In the modern era and over HTTP, where the request came in the
// response to the call, the context ends with the call. Otherwise it ends when the only call under way is given up.
func OriginFrom(ctx context.Context) (Origin, bool) {
	o, ok := ctx.Value(originKey{}).(Origin)
	return o, ok
}

// Root is a place that the server may work in. Roots are advice: they restrict
// nothing. Revision 2026-07-28 deprecates them; they work in both eras.
type Root struct {
	URI  string          `json:"uri"` // starts with file://
	Name string          `json:"name,omitempty"`
	Meta json.RawMessage `json:"_meta,omitempty"`
}

// InputRequired is a call that waits for input: the server's questions, and all that is needed to
// continue. It may be stored as JSON and continued days later, by another client and in another
// process, with mcpclient.Continue, or mcpclient.Task.Answer if a task asks.
//
// It is the error of a call made mcpclient.WithManualInput; find it with [errors.As].
type InputRequired struct {
	Method string          `json:"method"` // "tools/call", "prompts/get" or "resources/read"; "tasks/update" if a task asks
	Params json.RawMessage `json:"params"` // the call's params, without _meta; for a task its id, a secret

	// Requests are the server's questions, by keys of its own choice. Nil means
	// that it only asks to be called again later.
	Requests map[string]InputRequest `json:"inputRequests,omitzero"`

	// Answers have been given by handlers, by the keys of Requests, while other handlers
	// returned [ErrAnswerLater]. mcpclient.Continue sends them, too.
	Answers map[string]json.RawMessage `json:"answers,omitempty"`

	// State belongs to the server and is given back unchanged. It may be a secret.
	State json.RawMessage `json:"requestState,omitempty"`

	Rounds int `json:"rounds"` // rounds with questions so far, this one included
}

// Error names the kinds of questions, but not their texts.
func (r *InputRequired) Error() string {
	if len(r.Requests) == 0 {
		return "the server wants to be called again"
	}
	var asked []string
	for _, key := range slices.Sorted(maps.Keys(r.Requests)) {
		asked = append(asked, fmt.Sprintf("%q (%s)", key, r.Requests[key].Method))
	}
	return excerpt.Cut("the server needs input: " + strings.Join(asked, ", "))
}

// InputRequest is one question of an [InputRequired].
type InputRequest struct {
	Method string          `json:"method"`           // "elicitation/create", "sampling/createMessage" or "roots/list"
	Params json.RawMessage `json:"params,omitempty"` // an [ElicitParams] or a [CreateMessageParams]
}
