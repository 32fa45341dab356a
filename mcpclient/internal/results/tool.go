package results

import (
	"bytes"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func decodeTool(d *jsonrpc.Decoder, t *mcp.Tool) {
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

func decodeToolAnnotations(d *jsonrpc.Decoder) *mcp.ToolAnnotations {
	if d.Kind() == 'n' {
		d.Raw()
		return nil
	}
	a := new(mcp.ToolAnnotations)
	for key := range jsonrpc.MembersOf(d) {
		switch string(key) {
		case "title":
			a.Title = jsonrpc.StringMember(d, "title", d.Raw())
		case "readOnlyHint":
			a.ReadOnlyHint = hint(d, "readOnlyHint")
		case "destructiveHint":
			a.DestructiveHint = hint(d, "destructiveHint")
		case "idempotentHint":
			a.IdempotentHint = hint(d, "idempotentHint")
		case "openWorldHint":
			a.OpenWorldHint = hint(d, "openWorldHint")
		}
	}
	return a
}

// hint decodes a hint, nil for null. Another value fails d.
func hint(d *jsonrpc.Decoder, name string) *bool {
	if d.Kind() == 'n' {
		return nil
	}
	return new(jsonrpc.BooleanMember(d, name))
}
