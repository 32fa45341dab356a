package mcpclient

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Validator checks JSON values against JSON Schemas of servers. It is called concurrently, and
// the server controls all its input.
type Validator interface {
	// Compile compiles a schema. check returns nil for a valid value, a [*SchemaViolation] for
	// an invalid one, and another error if it cannot tell.
	Compile(schema json.RawMessage) (check func(value json.RawMessage) error, err error)
}

// SchemaViolation is the first place where a value violates its schema.
type SchemaViolation struct {
	Path    string // a JSON pointer into the value, "" for the value itself
	Message string // what was expected, and what was found
}

// Error has the path and the message.
func (v *SchemaViolation) Error() string {
	if v.Path == "" {
		return v.Message
	}
	return fmt.Sprintf("at %q: %s", v.Path, v.Message)
}

// OutputError is the error of a result whose structured content violates the tool's output
// schema. The tool ran.
type OutputError struct {
	Result *mcp.CallToolResult

	err  error
	tool string
}

// Error implements error.
func (e *OutputError) Error() string {
	return fmt.Sprintf("output of tool %q: %v", e.tool, e.err)
}

// Unwrap returns a [*SchemaViolation], or another error if the validator could not tell, and [mcp.ErrInvalidResult].
func (e *OutputError) Unwrap() []error { return []error{e.err, mcp.ErrInvalidResult} }

var errNoValidator = errors.New("no Validator: set Options.Validator, such as new(schemacheck.Validator) of package mcpclient/schemacheck")

// WithOutputCheck checks the result of [Client.CallTool], [Continue] or [Task.Wait] against the
// output schema of the tool: a violation is an [*OutputError]. A successful result without
// structured content violates every schema. Nothing is checked if the tool has no schema or the
// result is an error. v may be nil for the Validator of [Options]. If there is none either, or the
// schema is unusable, the call fails before it is sent. Other methods ignore the option.
func WithOutputCheck(tool *mcp.Tool, v Validator) CallOption {
	return func(o *callOptions) { o.outputTool, o.validator = tool, v }
}

// resultCheck compiles the output schema of a tool for the check of its result, nil if there is
// nothing to check. v is the Validator of [Options].
func (o *callOptions) resultCheck(v Validator) (func(*mcp.CallToolResult) error, error) {
	tool := o.outputTool
	if tool == nil || len(tool.OutputSchema) == 0 {
		return nil, nil
	}
	v = cmp.Or(o.validator, v)
	if v == nil {
		return nil, fmt.Errorf("output schema of tool %q: %w", tool.Name, errNoValidator)
	}
	check, err := v.Compile(tool.OutputSchema)
	if err != nil {
		return nil, fmt.Errorf("output schema of tool %q: %w", tool.Name, err)
	}
	return func(r *mcp.CallToolResult) error {
		if r.IsError {
			return nil
		}
		err := error(&SchemaViolation{Message: "no structured content, which the tool's output schema promises"})
		if r.StructuredContent != nil {
			err = check(r.StructuredContent)
		}
		if err != nil {
			return &OutputError{Result: r, err: err, tool: tool.Name}
		}
		return nil
	}, nil
}
