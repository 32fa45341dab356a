package forms

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// invalidAnswerError is the error of an answer that does not fit the form. Its text is for the
// person; the server only learns that there was an error.
type invalidAnswerError struct{ err error }

func (e *invalidAnswerError) Error() string { return "elicitation answer: " + e.err.Error() }

func (e *invalidAnswerError) Unwrap() error { return e.err }

// RPCError returns the error for the server.
func (e *invalidAnswerError) RPCError() *mcp.RPCError {
	return &mcp.RPCError{Code: mcp.CodeInternalError, Message: "the answer does not fit the form"}
}

// fill checks and completes the answers, and leaves out fields without an answer. The error names
// the first wrong field, in the order of the form, or one that is not in the form.
func fill(fields []*Field, answers map[string]any) (map[string]any, error) {
	content := map[string]any{}
	known := map[string]bool{}
	for _, f := range fields {
		known[f.Name] = true
		v, err := f.answer(answers[f.Name])
		if err != nil {
			return nil, err
		}
		if v != nil {
			content[f.Name] = v
		}
	}
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		if !known[name] {
			return nil, fmt.Errorf("field %q is not in the form", excerpt.Cut(name))
		}
	}
	return content, nil
}

// Complete returns the answer that the server gets when a handler returns r: defaults are
// filled into an accepted form, and every value is checked and converted to the type of its
// field. The error names the field and what it expects, or is that of [Read] for an invalid
// form. The client completes the results of handlers; a handler calls Complete to check an
// answer beforehand, or to record what is sent. It does not modify r.
func Complete(p *mcp.ElicitParams, r *mcp.ElicitResult) (*mcp.ElicitResult, error) {
	switch r.Action {
	case mcp.ElicitDecline, mcp.ElicitCancel:
		return &mcp.ElicitResult{Action: r.Action}, nil
	case mcp.ElicitAccept:
	default:
		return nil, &invalidAnswerError{fmt.Errorf("action %q, want accept, decline or cancel", excerpt.Cut(r.Action))}
	}
	if p.Mode == mcp.ElicitURL {
		return &mcp.ElicitResult{Action: r.Action}, nil
	}
	fields, err := Read(p)
	if err != nil {
		return nil, err
	}
	content, err := fill(fields, r.Content)
	if err != nil {
		return nil, &invalidAnswerError{err}
	}
	return &mcp.ElicitResult{Action: r.Action, Content: content}, nil
}
