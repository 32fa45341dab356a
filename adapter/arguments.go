package adapter

import (
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/mcpclient/apps"
)

// argumentError is the error of arguments of a model that do not fit the tool.
type argumentError struct {
	tool string // the model's name for it
	err  error
}

func (e *argumentError) Error() string {
	return fmt.Sprintf("arguments of %s: %v", e.tool, e.err)
}

// Is lets a view learn the error, see [Toolset.ViewAccess].
func (e *argumentError) Is(target error) bool {
	return target == ErrArguments || target == apps.ErrInvalid
}

func (e *argumentError) Unwrap() error { return e.err }

func (e *argumentError) forModel(effect string) (text string, fatal bool) {
	return e.Error() + ". " + effect + " Correct the arguments and call the tool again.", false
}

// arguments parses the input of a model, see [Catalog.Prepare]. The error matches [ErrArguments]. The result must not
// be parsed again: a property that looks like the wrapper of a profile may be a parameter.
func (t *Tool) arguments(input string) (json.RawMessage, error) {
	if t.fill != nil {
		return t.check(json.RawMessage(input))
	}
	return t.completeCheck(t.input.Arguments(input, t.wrapped))
}

// check is like arguments for input that a host has written or edited, which is sent unchanged if it fits.
func (t *Tool) check(arguments json.RawMessage) (json.RawMessage, error) {
	if t.fill == nil {
		return t.completeCheck(t.input.Check(arguments))
	}
	shown, sent, err := t.fill(arguments)
	if err != nil {
		return nil, t.argumentError(err)
	}
	if _, err := t.completeCheck(t.input.CheckWithin(maxFilled, sent)); err != nil {
		return nil, err
	}
	return t.withoutKey(shown), nil
}

// maxFilled bounds arguments after references were replaced by values, in bytes.
const maxFilled = 40 << 20

// completeCheck completes a check by the schema, whose error is err, with the host's validator.
func (t *Tool) completeCheck(args json.RawMessage, err error) (json.RawMessage, error) {
	if err == nil && t.validate != nil {
		err = t.validate(args)
	}
	if err != nil {
		return nil, t.argumentError(err)
	}
	return t.withoutKey(args), nil
}

func (t *Tool) argumentError(err error) error {
	return &argumentError{tool: t.name, err: err}
}

// filler replaces references in arguments by values. The server gets sent, which has to fit the schema; interceptors,
// approvers and records see shown. The input is the model's arguments, or an earlier shown.
type filler func(arguments json.RawMessage) (shown, sent json.RawMessage, err error)

// WithReferences returns a copy of the tool whose calls may contain references instead of values;
// it is for implementers of an agent. f replaces the references: shown is what approvals see, sent
// what the server gets. Such arguments are not repaired: with their values they fit or are refused.
func (t *Tool) WithReferences(f func(arguments json.RawMessage) (shown, sent json.RawMessage, err error)) *Tool {
	filling := *t
	filling.fill = f
	return &filling
}

// fillIn returns the arguments to send, with values instead of references.
func (t *Tool) fillIn(arguments json.RawMessage) (json.RawMessage, error) {
	if t.fill == nil {
		return arguments, nil
	}
	_, sent, err := t.fill(arguments)
	if err != nil {
		return nil, &unsentError{t.argumentError(err)}
	}
	return sent, nil
}
