package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
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

func (t *Tool) decode(d *jsonrpc.Decoder) {
	for key := range d.Members {
		switch string(key) {
		case "name":
			t.Name = jsonrpc.StringMember(d, "name", d.Raw())
		case "title":
			t.Title = jsonrpc.StringMember(d, "title", d.Raw())
		case "description":
			t.Description = jsonrpc.StringMember(d, "description", d.Raw())
		case "inputSchema":
			t.InputSchema = bytes.Clone(d.Raw())
		case "outputSchema":
			t.OutputSchema = bytes.Clone(d.Raw())
		case "annotations":
			t.Annotations = decodeToolAnnotations(d)
		case "icons":
			jsonrpc.UnmarshalMember(d, "icons", &t.Icons)
		case "execution":
			t.Execution = bytes.Clone(d.Raw())
		case "_meta":
			t.Meta = bytes.Clone(d.Raw())
		}
	}
}

func decodeToolAnnotations(d *jsonrpc.Decoder) *ToolAnnotations {
	if d.Kind() == 'n' {
		d.Raw()
		return nil
	}
	var hints [4]bool
	a := new(ToolAnnotations)
	for key := range jsonrpc.MembersOf(d) {
		switch string(key) {
		case "title":
			a.Title = jsonrpc.StringMember(d, "title", d.Raw())
		case "readOnlyHint":
			a.ReadOnlyHint = hint(d, "readOnlyHint", &hints[0])
		case "destructiveHint":
			a.DestructiveHint = hint(d, "destructiveHint", &hints[1])
		case "idempotentHint":
			a.IdempotentHint = hint(d, "idempotentHint", &hints[2])
		case "openWorldHint":
			a.OpenWorldHint = hint(d, "openWorldHint", &hints[3])
		}
	}
	return a
}

// hint decodes a hint into b; it is nil when there is none.
func hint(d *jsonrpc.Decoder, name string, b *bool) *bool {
	raw := d.Raw()
	var ok bool
	if *b, ok = jsonrpc.Boolean(raw); !ok {
		d.Fail(fmt.Errorf("member %q is not a boolean: %s", name, excerpt.Quote(raw)))
	}
	if string(raw) == "null" {
		return nil
	}
	return b
}

// DisplayName is the name to show a person: title, annotated title, or name.
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

// String has the hints that the server gave, for logs: `title="Weather"
// readOnlyHint=true`, or "". The title is cut to 1 KiB.
func (a ToolAnnotations) String() string {
	var all []string
	if a.Title != "" {
		all = append(all, "title="+strconv.Quote(excerpt.Cut(a.Title)))
	}
	for _, h := range []struct {
		name string
		says *bool
	}{
		{"readOnlyHint", a.ReadOnlyHint}, {"destructiveHint", a.DestructiveHint},
		{"idempotentHint", a.IdempotentHint}, {"openWorldHint", a.OpenWorldHint},
	} {
		if h.says != nil {
			all = append(all, h.name+"="+strconv.FormatBool(*h.says))
		}
	}
	return strings.Join(all, " ")
}
