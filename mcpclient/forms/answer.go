package forms

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// misfit is an answer that does not fit the form. Its text is for the person
// who gave the answer; the server learns only that it does not fit.
type misfit struct{ err error }

func (e *misfit) Error() string { return "elicitation answer: " + e.err.Error() }

func (e *misfit) Unwrap() error { return e.err }

// RPCError is what the server gets.
func (e *misfit) RPCError() *mcp.RPCError {
	return &mcp.RPCError{Code: mcp.CodeInternalError, Message: "the answer does not fit the form"}
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

// Complete gives the answer that the server gets when a handler returns r: the
// defaults filled into an accepted form, every value checked and in the type
// that its field has. The error names the field and what it wants, or is
// that of [Read] for a form that cannot be read. The client
// completes what handlers return; a handler that wants to know beforehand, to
// ask the person again or to record what was sent, calls it too. r is not
// changed.
func Complete(p *mcp.ElicitParams, r *mcp.ElicitResult) (*mcp.ElicitResult, error) {
	switch r.Action {
	case mcp.ElicitDecline, mcp.ElicitCancel:
		return &mcp.ElicitResult{Action: r.Action}, nil
	case mcp.ElicitAccept:
	default:
		return nil, &misfit{fmt.Errorf("action %q, want accept, decline or cancel", excerpt.Cut(r.Action))}
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
		return nil, &misfit{err}
	}
	return &mcp.ElicitResult{Action: r.Action, Content: content}, nil
}
