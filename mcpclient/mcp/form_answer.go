package mcp

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// FormError is an answer that does not fit the form. Its text is for the person
// who gave it; the server is not told what that was.
type FormError struct{ Err error }

func (e *FormError) Error() string { return "elicitation answer: " + e.Err.Error() }

// Unwrap returns Err.
func (e *FormError) Unwrap() error { return e.Err }

// RPCError is what the server gets.
func (e *FormError) RPCError() *RPCError {
	return &RPCError{Code: CodeInternalError, Message: "the answer does not fit the form"}
}

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

// Complete is the answer that the server gets when a handler returns r: the
// defaults filled into an accepted form, every value checked and in the type
// that its field has. The error names the field and what it wants: a
// [*FormError], or that of [ElicitParams.Fields] for a form that cannot be read. The client
// completes what handlers return; a handler that wants to know beforehand, to
// ask the person again or to record what was sent, calls it too. r is not
// changed.
func (p *ElicitParams) Complete(r *ElicitResult) (*ElicitResult, error) {
	switch r.Action {
	case ElicitDecline, ElicitCancel:
		return &ElicitResult{Action: r.Action}, nil
	case ElicitAccept:
	default:
		return nil, &FormError{fmt.Errorf("action %q, want accept, decline or cancel", excerpt.Cut(r.Action))}
	}
	if p.Mode == ElicitURL {
		return &ElicitResult{Action: r.Action}, nil
	}
	fields, err := p.Fields()
	if err != nil {
		return nil, err
	}
	content, err := fill(fields, r.Content)
	if err != nil {
		return nil, &FormError{err}
	}
	return &ElicitResult{Action: r.Action, Content: content}, nil
}
