package forms

import (
	"fmt"
	"maps"
	"slices"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

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
// field. The error names the field and what it expects, or is the error of [Fields] for an invalid
// form. The client completes the results of handlers; a handler calls Complete to check an
// answer beforehand, or to record what is sent. It does not modify r.
func Complete(p *mcp.ElicitParams, r *mcp.ElicitResult) (*mcp.ElicitResult, error) {
	switch r.Action {
	case mcp.ElicitDecline, mcp.ElicitCancel:
		return &mcp.ElicitResult{Action: r.Action}, nil
	case mcp.ElicitAccept:
	default:
		return nil, &inquiry.AnswerError{Err: fmt.Errorf("action %q, want accept, decline or cancel", excerpt.Cut(r.Action))}
	}
	if p.Mode == mcp.ElicitURL {
		return &mcp.ElicitResult{Action: r.Action}, nil
	}
	fields, err := Fields(p)
	if err != nil {
		return nil, err
	}
	content, err := fill(fields, r.Content)
	if err != nil {
		return nil, &inquiry.AnswerError{Err: err}
	}
	return &mcp.ElicitResult{Action: r.Action, Content: content}, nil
}
