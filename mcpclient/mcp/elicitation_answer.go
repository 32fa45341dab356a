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
