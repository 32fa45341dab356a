package apps

import (
	"encoding/json"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// Extension is the name of MCP Apps among the extensions of clients and servers.
const Extension = "io.modelcontextprotocol/ui"

// MIMEType is the type of a view's document.
const MIMEType = "text/html;profile=mcp-app"

// Declare returns options for a connection whose host shows views: they declare the extension,
// in either era, in addition to what opts declares. Without it servers may leave out tools that
// have views. opts may be nil, and is not modified. It is an error if
// Options.Protocol.Capabilities, or its extensions, are not an object.
func Declare(opts *mcpclient.Options) (*mcpclient.Options, error) {
	var out mcpclient.Options
	if opts != nil {
		out = *opts
	}
	capabilities, err := withMember(out.Protocol.Capabilities, "extensions", func(extensions json.RawMessage) (json.RawMessage, error) {
		return withMember(extensions, Extension, func(settings json.RawMessage) (json.RawMessage, error) {
			return withMember(settings, "mimeTypes", func(json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(`["` + MIMEType + `"]`), nil
			})
		})
	})
	if err != nil {
		return nil, fmt.Errorf("declare views: Options.Protocol.Capabilities: %w", err)
	}
	out.Protocol.Capabilities = capabilities
	return &out, nil
}

// withMember returns an object with one member changed; an absent object has no members.
func withMember(object json.RawMessage, name string, change func(json.RawMessage) (json.RawMessage, error)) (json.RawMessage, error) {
	if len(object) == 0 || string(object) == "null" {
		object = json.RawMessage("{}")
	}
	if !jsonrpc.IsObject(object) {
		return nil, fmt.Errorf("want an object around %q", name)
	}
	out := []byte{'{'}
	var before json.RawMessage
	err := jsonrpc.Members(object, func(key, value []byte) {
		if string(key) == name {
			before = value
			return
		}
		out = jsonrpc.AppendMember(out, string(key), value)
	})
	if err != nil {
		return nil, err
	}
	value, err := change(before)
	if err != nil {
		return nil, err
	}
	return jsonrpc.CloseObject(jsonrpc.AppendMember(out, name, value)), nil
}
