package apps

import (
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// extension is the name of MCP Apps among the extensions of clients.
const extension = "io.modelcontextprotocol/ui"

// mimeType is the type of a view's document.
const mimeType = "text/html;profile=mcp-app"

// Declare returns options for a connection whose host shows views: they declare the extension,
// in either era, in addition to what opts declares. Without it servers may leave out tools that
// have views. opts may be nil, and is not modified. It is an error if
// Options.Protocol.Capabilities, or its extensions, are not an object.
func Declare(opts *mcpclient.Options) (*mcpclient.Options, error) {
	var out mcpclient.Options
	if opts != nil {
		out = *opts
	}
	types := json.RawMessage(`["` + mimeType + `"]`)
	capabilities, err := withMember(out.Protocol.Capabilities, types, "extensions", extension, "mimeTypes")
	if err != nil {
		return nil, fmt.Errorf("declare views: Options.Protocol.Capabilities: %w", err)
	}
	out.Protocol.Capabilities = capabilities
	return &out, nil
}

// withMember returns an object with the value at a path. Absent objects on the path have no members.
func withMember(object, value json.RawMessage, path ...string) (json.RawMessage, error) {
	if len(path) == 0 {
		return value, nil
	}
	var members map[string]json.RawMessage
	if len(object) > 0 && json.Unmarshal(object, &members) != nil {
		return nil, fmt.Errorf("want an object around %q", path[0])
	}
	inner, err := withMember(members[path[0]], value, path[1:]...)
	if err != nil {
		return nil, err
	}
	if members == nil {
		members = map[string]json.RawMessage{}
	}
	members[path[0]] = inner
	return jsonrpc.Marshal(members)
}
