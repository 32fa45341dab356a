package adapter

import (
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
)

// argumentError says that a model's arguments do not fit the tool.
type argumentError struct {
	tool string // the model's name of the tool
	path string // a JSON pointer to what does not fit, "" for the arguments as a whole; "…" for keys that are too long
	err  error
}

func (e *argumentError) Error() string {
	return fmt.Sprintf("arguments of %s: %v", e.tool, e.err)
}

// Is makes a view be told the error, see [ViewAccess].
func (e *argumentError) Is(target error) bool {
	return target == ErrArguments || target == apps.ErrInvalid
}

func (e *argumentError) Unwrap() error { return e.err }

// arguments reads the input of a model, see [Catalog.Prepare]. The error is an
// [ErrArguments]. Do not pass its result to it again: an object in the wrapper of a
// profile may be a parameter.
func (t *Tool) arguments(input string) (json.RawMessage, error) {
	if t.fill != nil {
		return t.check(json.RawMessage(input))
	}
	args, err := t.input.Arguments(input, t.wrapped)
	if err == nil && t.held != nil {
		err = t.held(args)
	}
	if err != nil {
		return nil, t.argumentError(err)
	}
	return t.withoutKey(args), nil
}

// check is arguments for what a host has written or edited: it is sent unchanged if
// it fits.
func (t *Tool) check(arguments json.RawMessage) (json.RawMessage, error) {
	if t.fill == nil {
		return t.checked(t.input.Check(arguments))
	}
	shown, sent, err := t.fill(arguments)
	if err != nil {
		return nil, t.argumentError(err)
	}
	if _, err := t.checked(t.input.CheckWithin(maxFilled, sent)); err != nil {
		return nil, err
	}
	return t.withoutKey(shown), nil
}

// maxFilled bounds arguments with values instead of references, in bytes.
const maxFilled = 40 << 20

// checked completes a check of arguments.
func (t *Tool) checked(args json.RawMessage, err error) (json.RawMessage, error) {
	if err == nil && t.held != nil {
		err = t.held(args)
	}
	if err != nil {
		return nil, t.argumentError(err)
	}
	return t.withoutKey(args), nil
}

func (t *Tool) argumentError(err error) error {
	e := &argumentError{tool: t.name, err: err}
	switch v := err.(type) {
	case *schema.Violation:
		e.path = v.Path
	case *mcpclient.SchemaViolation:
		e.path = v.Path
	}
	return e
}

// filler puts values in place of references in arguments: sent fits the tool's schema and goes to it, and shown is what
// interceptors, whoever approves the call, and records see instead. It gets arguments of the model, and shown of an earlier time.
type filler func(arguments json.RawMessage) (shown, sent json.RawMessage, err error)

// Filling returns the tool for calls whose arguments have references. They are not repaired: with the values they fit, or are refused.
func (t *Tool) Filling(f func(arguments json.RawMessage) (shown, sent json.RawMessage, err error)) *Tool {
	filling := *t
	filling.fill = f
	return &filling
}

// filled are the arguments as they are sent.
func (t *Tool) filled(arguments json.RawMessage) (json.RawMessage, error) {
	if t.fill == nil {
		return arguments, nil
	}
	_, sent, err := t.fill(arguments)
	if err != nil {
		return nil, &unsentError{t.argumentError(err)}
	}
	return sent, nil
}
