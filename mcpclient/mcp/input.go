package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

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
