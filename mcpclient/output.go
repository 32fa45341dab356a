package mcpclient

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Schemas say what is held against the JSON Schemas of a server: see [Options].
type Schemas struct {
	// Validator checks values against JSON Schemas of the server: results for
	// CheckOutputs and [WithOutputCheck], answers to forms after they were held
	// against their fields, and the arguments that package adapter reads. Package
	// mcpclient/schemacheck has one. Default: none; forms have their fields only.
	Validator Validator

	// CheckOutputs holds the result of every tool that [Client.Tools] has listed, or
	// [Client.RegisterTools] has named, against its output schema, as by
	// [WithOutputCheck]: what does not fit is an [*OutputError] of the call. A
	// schema that cannot be used is not held against; the log says so at Warn.
	// It needs a Validator. Default: results are taken as they are.
	CheckOutputs bool

	// OnInvalidTool, when set, is told of every tool that [Client.Tools] leaves
	// out because its x-mcp-header is invalid, and why. It runs on the goroutine
	// that ranges over the list. The log says the same at Warn.
	OnInvalidTool func(tool *mcp.Tool, reason error)
}

// Validator checks JSON values against JSON Schemas of servers. It is called
// concurrently, and a server controls all that it gets.
type Validator interface {
	// Compile reads a schema. check returns nil for a value that fits, a
	// [*SchemaViolation] for one that does not, and another error when it
	// cannot tell.
	Compile(schema json.RawMessage) (check func(value json.RawMessage) error, err error)
}

// SchemaViolation is the first place where a value does not fit its schema.
type SchemaViolation struct {
	Path    string // a JSON pointer into the value, "" for the value itself
	Keyword string // of the schema, such as "required"; "" for none
	Message string // what was expected, and what was found
}

// Error gives the path and the message.
func (v *SchemaViolation) Error() string {
	if v.Path == "" {
		return v.Message
	}
	return fmt.Sprintf("at %q: %s", v.Path, v.Message)
}

// OutputError says that the structured content of a result does not fit what
// its tool declared. The tool ran.
type OutputError struct {
	Result *mcp.CallToolResult
	Err    error // a [*SchemaViolation], unless the validator could not tell

	tool string
}

func (e *OutputError) Error() string {
	return fmt.Sprintf("output of tool %q: %v", e.tool, e.Err)
}

// Unwrap returns Err and [mcp.ErrInvalidResult].
func (e *OutputError) Unwrap() []error { return []error{e.Err, mcp.ErrInvalidResult} }

// errNoValidator says how a check of outputs gets its compiler.
var errNoValidator = errors.New("no Validator: set Options.Schemas.Validator, such as new(schemacheck.Validator) of package mcpclient/schemacheck")

// WithOutputCheck holds the result of [Client.CallTool], [Continue] or
// [Task.Wait] against the output schema of the tool: the first violation by its structured
// content is an [*OutputError]. A successful result without structured content violates every
// schema; a tool without a schema and a result that is an error are not checked. v may be
// nil for the Validator of [Schemas]. A schema that cannot be used fails the call
// before it is sent. Other methods ignore the option.
func WithOutputCheck(tool *mcp.Tool, v Validator) CallOption {
	return func(o *callOptions) { o.described, o.validator = tool, v }
}

// resultCheck is how the result of a tool is checked, nil for not at all: by the
// definition that the caller gave, or by what is known of the tool.
func (k *toolRegistry) resultCheck(name string, o *callOptions) (func(*mcp.CallToolResult) error, error) {
	v := k.schemas.Validator
	if o.described != nil {
		return outputCheck(cmp.Or(o.validator, v), o.described)
	}
	check, err := outputCheck(v, k.of(name).output)
	if err != nil {
		l := k.peer.link.Load()
		l.warnings.tolerated("the result of a tool is not checked", "tool", l.texts.cut(name), "reason", k.peer.scrubbed(err))
		return nil, nil
	}
	return check, nil
}

// outputCheck compiles the output schema of a tool; it is nil when there is
// nothing to check.
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
