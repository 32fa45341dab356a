package mcpclient

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/schema"
)

// Schemas say what is held against the JSON Schemas of a server: see [Options].
type Schemas struct {
	// CheckOutputs holds the result of every tool that [Client.Tools] has listed, or
	// [Client.RegisterTools] has named, against its output schema, as by
	// [WithOutputCheck]: what does not fit is an [*OutputError] of the call. A
	// schema that cannot be used is not held against; the log says so at Warn.
	// Default: results are taken as they are.
	CheckOutputs bool

	// Validator checks values against JSON Schemas of the server: results for
	// CheckOutputs, [WithOutputCheck] and [Client.CheckOutput], answers to forms
	// after they were held against their fields, and the arguments that package
	// adapter reads. Default: see [Validator]; forms have their fields only.
	Validator Validator

	// OnInvalidTool, when set, is told of every tool that [Client.Tools] leaves
	// out because its x-mcp-header is invalid, and why. It runs on the goroutine
	// that ranges over the list. The log says the same at Warn.
	OnInvalidTool func(tool *Tool, reason error)
}

// Validator checks JSON values against JSON Schemas of servers. It is called
// concurrently, and a server controls all that it gets.
//
// The one that is used when [Schemas.Validator] is nil knows the dialects
// 2020-12 (without $schema it is that), 2019-09, draft-07, draft-06 and
// draft-04, and refuses others by name. It follows references inside the schema
// only and never fetches one: a schema with another reference is refused. A
// schema is bounded to 1 MiB, 10,000 subschemas and a depth of 64, its patterns to
// about 10,000 instructions of package regexp each and 250,000 together, an $id to
// 1 KiB, and what its references take to be resolved is bounded, too. A value that
// would take more than about 130,000 steps to check is one of which a check cannot
// tell. A schema is compiled once. Formats are annotations, as 2020-12 has it.
type Validator interface {
	// Compile reads a schema. check returns nil for a value that fits, a
	// [*SchemaViolation] for one that does not, and another error when it
	// cannot tell.
	Compile(schema json.RawMessage) (check func(value json.RawMessage) error, err error)
}

// SchemaViolation is the first place where a value does not fit its schema.
type SchemaViolation struct {
	Path    string // a JSON pointer into the value, "" for the value itself
	Keyword string // of the schema, such as "required"; "" when it is none
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
	Tool   string
	Result *CallToolResult
	Err    error // a [*SchemaViolation], unless the validator could not tell
}

func (e *OutputError) Error() string {
	return fmt.Sprintf("output of tool %q: %v", e.Tool, e.Err)
}

// Unwrap returns Err and [ErrInvalidResult].
func (e *OutputError) Unwrap() []error { return []error{e.Err, ErrInvalidResult} }

// WithOutputCheck holds the result of [Client.CallTool], [Continue] or
// [Task.Wait] against the output schema of the tool, as [Client.CheckOutput] does. A schema
// that cannot be used fails the call before it is sent. Other methods ignore the
// option.
func WithOutputCheck(tool *Tool) CallOption {
	return func(o *callOptions) { o.described = tool }
}

// Validator is [Schemas.Validator], nil for the default.
func (c *Client) Validator() Validator { return c.opts.Schemas.Validator }

// CheckOutput reports the first violation of the tool's output schema by the
// structured content of a result, as an [*OutputError]. A successful result
// without structured content violates every schema; a tool without a schema and
// a result that is an error are not checked. An error that is no OutputError is
// about the schema.
func (c *Client) CheckOutput(tool *Tool, result *CallToolResult) error {
	check, err := c.outputCheck(tool)
	if err != nil || check == nil {
		return err
	}
	return check(result)
}

// resultCheck is how the result of a tool is checked, nil for not at all: by the
// definition that the caller gave, or by what is known of the tool.
func (c *Client) resultCheck(name string, described *Tool) (func(*CallToolResult) error, error) {
	if described != nil {
		return c.outputCheck(described)
	}
	check, err := c.outputCheck(c.tools.made.Load().of(name).output)
	if err != nil {
		l := c.link.Load()
		l.tolerated(c, "the result of a tool is not checked", "tool", l.cut(name), "reason", c.scrubbed(err))
		return nil, nil
	}
	return check, nil
}

// outputCheck compiles the output schema of a tool; it is nil when there is
// nothing to check.
func (c *Client) outputCheck(tool *Tool) (func(*CallToolResult) error, error) {
	if tool == nil || len(tool.OutputSchema) == 0 {
		return nil, nil
	}
	v := c.Validator()
	if v == nil {
		v = (*validator)(c.schemas.get())
	}
	check, err := v.Compile(tool.OutputSchema)
	if err != nil {
		return nil, fmt.Errorf("output schema of tool %q: %w", tool.Name, err)
	}
	return func(r *CallToolResult) error {
		if r.IsError {
			return nil
		}
		err := error(&SchemaViolation{Message: "no structured content, which the tool's output schema promises"})
		if r.StructuredContent != nil {
			err = check(r.StructuredContent)
		}
		if err != nil {
			return &OutputError{Tool: tool.Name, Result: r, Err: err}
		}
		return nil
	}, nil
}

// validator is the default [Validator]. It remembers compiled schemas.
type validator schema.Cache

func (v *validator) Compile(raw json.RawMessage) (func(json.RawMessage) error, error) {
	s, err := (*schema.Cache)(v).Compile(raw)
	if err != nil {
		return nil, err
	}
	return func(value json.RawMessage) error {
		err := s.Validate(value)
		if bad, ok := errors.AsType[*schema.Violation](err); ok {
			return &SchemaViolation{Path: bad.Path, Keyword: bad.Keyword, Message: bad.Message}
		}
		return err
	}, nil
}
