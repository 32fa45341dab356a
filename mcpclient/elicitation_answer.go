package mcpclient

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
)

// Parse turns what a person typed into the field's value and checks it. The
// value is a string, float64, int64, bool or []string, as the kind has it. The
// empty text takes the default, or else is nil for a field that is not
// required.
//
// A choice is named by its value, its title, or its number from 1; case does
// not matter unless it tells options apart. Choices are separated by commas. A
// boolean is yes or no, true or false, y or n, 1 or 0.
func (f *Field) Parse(text string) (any, error) {
	if f.Kind != FieldString || formatName(f.Format) != "" {
		text = strings.TrimSpace(text)
	}
	if text == "" {
		return f.untouched()
	}
	switch f.Kind {
	case FieldString:
		return f.value(text)
	case FieldNumber, FieldInteger:
		return f.value(json.Number(text))
	case FieldBoolean:
		switch strings.ToLower(text) {
		case "yes", "y", "true", "1":
			return true, nil
		case "no", "n", "false", "0":
			return false, nil
		}
		return nil, f.want()
	case FieldChoice:
		return f.pick(text)
	}
	if value, err := f.pick(text); err == nil { // an option may have a comma in it
		return f.value([]string{value})
	}
	var values []string
	for part := range strings.SplitSeq(text, ",") {
		value, err := f.pick(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		values = append(values, value)
	}
	return f.value(values)
}

// Check reports why v is not an answer to the field. A number may be of any
// numeric type or a [json.Number], choices may be a []any of strings, and a
// choice is the option's value, not its title. Nil is an answer to a field that
// is not required or that has a default.
func (f *Field) Check(v any) error {
	_, err := f.answer(v)
	return err
}

// answer checks v and returns it in the type that the field's kind has. Nil
// leaves the field alone.
func (f *Field) answer(v any) (any, error) {
	if v == nil {
		return f.untouched()
	}
	return f.value(v)
}

// Complete is the answer that the server gets when a handler returns r: the
// defaults filled into an accepted form, every value checked and in the type
// that its field has. The error names the field and what it wants. The client
// completes what handlers return; a handler that wants to know beforehand, to
// ask the person again or to record what was sent, calls it too. r is not
// changed.
func (p *ElicitParams) Complete(r *ElicitResult) (*ElicitResult, error) {
	switch r.Action {
	case ElicitDecline, ElicitCancel:
		return &ElicitResult{Action: r.Action}, nil
	case ElicitAccept:
	default:
		return nil, &misfitError{fmt.Errorf("action %q, want accept, decline or cancel", excerpt.Cut(r.Action))}
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
		return nil, &misfitError{err}
	}
	return &ElicitResult{Action: r.Action, Content: content}, nil
}

// misfitError is an answer that does not fit the form. Its text is for the person
// who gave it; the server is not told what that was.
type misfitError struct{ err error }

func (e *misfitError) Error() string { return "elicitation answer: " + e.err.Error() }
func (e *misfitError) Unwrap() error { return e.err }

// RPCError is what the server gets.
func (e *misfitError) RPCError() *RPCError {
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

// untouched is the value of a field that the person left alone.
func (f *Field) untouched() (any, error) {
	switch v := f.Default.(type) {
	case nil:
	case []string:
		return slices.Clone(v), nil
	default:
		return v, nil
	}
	if f.Required {
		return nil, fmt.Errorf("field %q: an answer is required: %s", excerpt.Cut(f.Name), f.expected())
	}
	return nil, nil
}

// pick finds the option that the text names.
func (f *Field) pick(text string) (string, error) {
	if f.hasOption(text) {
		return text, nil
	}
	exact := func(o FieldOption) bool { return o.Title == text }
	folded := func(o FieldOption) bool {
		return strings.EqualFold(o.Title, text) || strings.EqualFold(o.Value, text)
	}
	for _, fits := range []func(FieldOption) bool{exact, folded} {
		i := slices.IndexFunc(f.Options, fits)
		switch {
		case i < 0:
		case slices.ContainsFunc(f.Options[i+1:], fits):
			return "", fmt.Errorf("field %q: several options have this name: give the value or the number of one", excerpt.Cut(f.Name))
		default:
			return f.Options[i].Value, nil
		}
	}
	if n, err := strconv.Atoi(text); err == nil && 1 <= n && n <= len(f.Options) {
		return f.Options[n-1].Value, nil
	}
	return "", f.want()
}
