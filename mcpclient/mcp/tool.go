package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
)

// Tool is a function that a server offers to models.
type Tool struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`

	// InputSchema and OutputSchema are JSON Schemas, byte for byte as the
	// server sent them. OutputSchema is nil when the tool has none.
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`

	Annotations *ToolAnnotations `json:"annotations,omitempty"`
	Icons       []Icon           `json:"icons,omitempty"`
	Execution   json.RawMessage  `json:"execution,omitempty"` // revision 2025-11-25: whether it can be a task, for mcpclient.WithTask
	Meta        json.RawMessage  `json:"_meta,omitempty"`
}

// DisplayName returns the name to show a person: title, annotated title, or name.
func (t *Tool) DisplayName() string {
	switch {
	case t.Title != "":
		return t.Title
	case t.Annotations != nil && t.Annotations.Title != "":
		return t.Annotations.Title
	}
	return t.Name
}

// ToolAnnotations are the server's hints about a tool. They are claims, not
// facts: base no decision about safety on them unless the server is trusted.
type ToolAnnotations struct {
	Title           string `json:"title,omitempty"`
	ReadOnlyHint    *bool  `json:"readOnlyHint,omitempty"`    // default false
	DestructiveHint *bool  `json:"destructiveHint,omitempty"` // default true
	IdempotentHint  *bool  `json:"idempotentHint,omitempty"`  // default false
	OpenWorldHint   *bool  `json:"openWorldHint,omitempty"`   // default true
}

// CallToolResult is the result of a tool call.
type CallToolResult struct {
	Content []Content

	// StructuredContent is the machine-readable answer, nil when absent. It is an object up to
	// revision 2025-11-25 and any JSON value, null included, since 2026-07-28.
	StructuredContent json.RawMessage

	// IsError reports whether the tool ran and failed; Content then says why.
	IsError bool

	Meta json.RawMessage

	Tool string // the name of the tool that was called, set by package mcpclient

	// Advice says what the host can do about a failure, such as to connect with another revision;
	// "" if nothing is known. Package mcpclient sets it.
	Advice string
}

// Text returns the text blocks of the result, joined with newlines.
func (r *CallToolResult) Text() string {
	var parts []string
	for _, c := range r.Content {
		if t, ok := c.(*TextContent); ok {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n")
}

// Err returns a [*ToolError] if the tool failed, and nil otherwise.
func (r *CallToolResult) Err() error {
	if !r.IsError {
		return nil
	}
	return &ToolError{r}
}

func (r *CallToolResult) UnmarshalJSON(data []byte) error {
	d := jsonrpc.NewDecoder(data, jsonrpc.MaxElements)
	r.decode(&d)
	return d.Err()
}

func (r *CallToolResult) decode(d *jsonrpc.Decoder) {
	out := CallToolResult{Tool: r.Tool}
	for key := range d.Members {
		switch string(key) {
		case "content":
			out.Content = readContents(d, maxContentDepth)
		case "structuredContent":
			out.StructuredContent = bytes.Clone(d.Raw())
		case "isError":
			raw := d.Raw()
			failed, ok := jsonrpc.Boolean(raw)
			if !ok {
				d.Fail(fmt.Errorf("isError is not a boolean: %s", excerpt.Quote(raw)))
			}
			out.IsError = failed
		case "_meta":
			out.Meta = bytes.Clone(d.Raw())
		}
	}
	if d.Err() == nil {
		*r = out
	}
}

func (r *CallToolResult) MarshalJSON() ([]byte, error) {
	return jsonrpc.Marshal(struct {
		Content           []Content       `json:"content"`
		StructuredContent json.RawMessage `json:"structuredContent,omitempty"`
		IsError           bool            `json:"isError,omitempty"`
		Meta              json.RawMessage `json:"_meta,omitempty"`
	}{nonNil(r.Content), r.StructuredContent, r.IsError, r.Meta})
}
