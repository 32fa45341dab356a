// Package results decodes results of a server that only a client needs: pages of lists, errors, and
// how the server describes itself.
package results

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

const maxCursor = 64 << 10

// Page is a page whose items stand under a key of the result.
type Page[T any] struct {
	mcp.Page[T]
	Key   string // such as "tools": to be set before the JSON is read
	Found bool   // there is a member Key; some servers leave it out if there are no items
	Nulls int    // number of items that were null; Items does not have them
}

func (p *Page[T]) UnmarshalJSON(data []byte) error {
	d := jsonrpc.NewDecoder(data, jsonrpc.MaxElements)
	p.decode(&d)
	return d.Err()
}

func (p *Page[T]) decode(d *jsonrpc.Decoder) {
	for key := range d.Members {
		switch string(key) {
		case p.Key:
			p.Found = true
			p.items(d)
		case "nextCursor":
			jsonrpc.UnmarshalMember(d, "nextCursor", &p.NextCursor)
			if p.NextCursor != nil && len(*p.NextCursor) > maxCursor {
				d.Fail(fmt.Errorf("nextCursor: %d bytes, more than %d", len(*p.NextCursor), maxCursor))
			}
		case "ttlMs":
			p.TTL = jsonrpc.TTL(d.Raw())
		case "_meta":
			p.Meta = bytes.Clone(d.Raw())
		}
	}
}

func (p *Page[T]) items(d *jsonrpc.Decoder) {
	p.Items, p.Nulls = nil, 0 // the last of equal members counts
	if d.Kind() == 'n' {      // null, as of servers written in Go
		d.Raw()
		return
	}
	for range d.Elements {
		if d.Kind() == 'n' {
			p.Nulls++
			continue
		}
		item := new(T)
		if tool, ok := any(item).(*mcp.Tool); ok {
			decodeTool(d, tool)
		} else {
			jsonrpc.UnmarshalMember(d, p.Key, item)
		}
		p.Items = append(p.Items, item)
	}
}

// Error decodes the error of a message and removes secrets with scrub. URLs for a person to
// visit stay unchanged, because some contain the session.
func Error(raw json.RawMessage, scrub func(string) string) (*mcp.RPCError, error) {
	e := new(mcp.RPCError)
	if err := jsonrpc.Unmarshal(raw, e); err != nil {
		return nil, err
	}
	e.Message = scrub(e.Message)
	if e.Code != mcp.CodeURLElicitationNeeded {
		e.Data = jsonrpc.MapTexts(e.Data, scrub)
	}
	return e, nil
}

// OnlyModern reports whether only servers of the modern era answer with the code of an error.
func OnlyModern(e *mcp.RPCError) bool {
	return e.Code == mcp.CodeHeaderMismatch || e.Code == mcp.CodeMissingCapability || e.Code == mcp.CodeUnsupportedRevision
}

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
			a.Title, _ = d.String()
		case "readOnlyHint":
			a.ReadOnlyHint = hint(d.Raw())
		case "destructiveHint":
			a.DestructiveHint = hint(d.Raw())
		case "idempotentHint":
			a.IdempotentHint = hint(d.Raw())
		case "openWorldHint":
			a.OpenWorldHint = hint(d.Raw())
		}
	}
	return a
}

// hint decodes a hint. It is nil for a value that is not a boolean: then the cautious default of the hint
// holds, and the list remains usable.
func hint(raw []byte) *bool {
	if b, ok := jsonrpc.Boolean(raw); ok && string(raw) != "null" {
		return &b
	}
	return nil
}
