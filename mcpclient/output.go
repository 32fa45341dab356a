package mcpclient

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Schemas say what is checked against the JSON Schemas of a server: see [Options].
type Schemas struct {
	// Validator checks values against JSON Schemas of the server: results for CheckOutputs and
	// [WithOutputCheck], answers to forms in addition to the client's own checks, and the
	// arguments that package adapter parses. Package mcpclient/schemacheck has one. Default:
	// none; forms are checked by the client only.
	Validator Validator

	// CheckOutputs checks the results of all tools from [Client.Tools] and
	// [Client.AddToolDefinitions] against their output schemas, as [WithOutputCheck] does: a
	// violation is an [*OutputError] of the call. An unusable schema is logged at Warn and
	// ignored. It needs a Validator. Default: results are not checked.
	CheckOutputs bool

	// OnInvalidTool, if set, is called for every tool that [Client.Tools] leaves out because its
	// x-mcp-header is invalid, on the goroutine of the range loop. The log has the same at Warn.
	OnInvalidTool func(tool *mcp.Tool, reason error)
}

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
	Keyword string // the violated keyword of the schema, such as "required"; "" for none
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
	Err    error // a [*SchemaViolation], unless the validator could not tell

	tool string
}

// Error implements error.
func (e *OutputError) Error() string {
	return fmt.Sprintf("output of tool %q: %v", e.tool, e.Err)
}

// Unwrap returns Err and [mcp.ErrInvalidResult].
func (e *OutputError) Unwrap() []error { return []error{e.Err, mcp.ErrInvalidResult} }

// errNoValidator says how to enable checks of outputs.
var errNoValidator = errors.New("no Validator: set Options.Schemas.Validator, such as new(schemacheck.Validator) of package mcpclient/schemacheck")

// WithOutputCheck checks the result of [Client.CallTool], [Continue] or [Task.Wait] against the
// output schema of the tool: a violation is an [*OutputError]. A successful result without
// structured content violates every schema. Nothing is checked if the tool has no schema or the
// result is an error. v may be nil for the Validator of [Schemas]. If there is none either, or the
// schema is unusable, the call fails before it is sent. Other methods ignore the option.
func WithOutputCheck(tool *mcp.Tool, v Validator) CallOption {
	return func(o *callOptions) { o.outputTool, o.validator = tool, v }
}

// resultCheck returns the check of a tool's result, by the definition that the caller gave or
// that the client knows; nil for no check.
func (r *toolRegistry) resultCheck(name string, o *callOptions) (func(*mcp.CallToolResult) error, error) {
	v := r.schemas.Validator
	if o.outputTool != nil {
		return outputCheck(cmp.Or(o.validator, v), o.outputTool)
	}
	check, err := outputCheck(v, r.lookup(name).output)
	if err != nil {
		l := r.peer.link.Load()
		l.warnings.logViolation("the result of a tool is not checked", "tool", l.texts.cut(name), "reason", r.peer.scrubError(err))
		return nil, nil
	}
	return check, nil
}

// outputCheck compiles the output schema of a tool, nil if there is nothing to check.
func outputCheck(v Validator, tool *mcp.Tool) (func(*mcp.CallToolResult) error, error) {
	if tool == nil || len(tool.OutputSchema) == 0 {
		return nil, nil
	}
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
			return &OutputError{Result: r, Err: err, tool: tool.Name}
		}
		return nil
	}, nil
}
