// Package inquiry reads the questions of servers, and has the conventions about them that handlers
// and hosts of this module share.
package inquiry

import (
	"cmp"
	"encoding/json"
	"net/url"
	"strings"
	"unicode"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Elicitation reads a question of a round as a question to a person. ok is false for a question of
// another kind, with nil params, and for a URL that is not [Visitable].
func Elicitation(r *mcp.InputRequest) (params *mcp.ElicitParams, ok bool) {
	params = new(mcp.ElicitParams)
	if r.Method != "elicitation/create" || json.Unmarshal(r.Params, params) != nil {
		return nil, false
	}
	params.Mode = cmp.Or(params.Mode, mcp.ElicitForm)
	return params, params.Mode != mcp.ElicitURL || Visitable(params.URL)
}

// Sampling reads a question of a round as a question to a model. ok is false for another kind.
func Sampling(r *mcp.InputRequest) (params *mcp.CreateMessageParams, ok bool) {
	params = new(mcp.CreateMessageParams)
	if r.Method != "sampling/createMessage" || json.Unmarshal(r.Params, params) != nil {
		return nil, false
	}
	return params, true
}

// Visitable reports whether a person may be sent to a server's URL: http or https, with a host.
// Other schemes may run code or access the person's machine. User info and invisible characters make
// a URL look like another one, and are refused.
func Visitable(raw string) bool {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return false
	}
	return u.Host != "" && u.User == nil && isVisible(raw) && isVisible(u.Host)
}

func isVisible(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}

// AnswerError is the error of an answer that does not fit its form. Its text is for the person who
// answers; the server gets RPCError.
type AnswerError struct{ Err error }

func (e *AnswerError) Error() string { return "elicitation answer: " + e.Err.Error() }

func (e *AnswerError) Unwrap() error { return e.Err }

// RPCError returns the error for the server.
func (e *AnswerError) RPCError() *mcp.RPCError {
	return &mcp.RPCError{Code: mcp.CodeInternalError, Message: "the answer does not fit the form"}
}
