package mcpclient

import (
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Schemas that are too large together replace one another; one that is too large alone is not kept, and
// replaces none.
func TestKnownSchemasAreBounded(t *testing.T) {
	var r toolRegistry
	schemaOf := func(size int) knownTool { return knownTool{output: &mcp.Tool{OutputSchema: make([]byte, size)}} }
	r.store("a", schemaOf(maxKnownSchemas))
	r.store("large", schemaOf(maxKnownSchemas+1))
	if r.lookup("a").output == nil || r.lookup("large").output != nil || r.bytes != maxKnownSchemas {
		t.Errorf("got %d bytes, tools %v, want a alone", r.bytes, len(r.tools))
	}
	r.store("b", schemaOf(1))
	if r.lookup("b").output == nil || r.bytes != 1 {
		t.Errorf("got %d bytes, tools %v, want b alone", r.bytes, len(r.tools))
	}
	r.store("b", knownTool{})
	if r.bytes != 0 || len(r.tools) != 0 {
		t.Errorf("got %d bytes, tools %v, want none", r.bytes, len(r.tools))
	}
}
