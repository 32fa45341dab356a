// Package apps reads the descriptions of views in tools and resources, and loads views: MCP Apps,
// the extension io.modelcontextprotocol/ui, revision 2026-01-26.
//
// A tool may have a view, which is HTML that a host shows with the tool's result. A tool may be
// for models, for views, or for both ([ReadToolMeta]):
//
//	about, err := apps.ReadToolMeta(tool)
//	if err == nil && about.ResourceURI != "" {
//		view, err := apps.Load(ctx, client, about.ResourceURI)
//		…
//	}
//
// A host that shows views declares this to its servers ([Declare]). Package host, below this one,
// runs the session with a view, and package sandbox serves the page in which a view runs.
//
// The guide is docs/apps.md of the repository.
//
// # Bounds
//
//	document of a view        16 MiB
//	URI of a view             2 KiB
//	sources in a list         64, of 256 bytes each; others are refused
//	resources listed to find the description of a view  1,000
package apps

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// Errors that callbacks of a host return to tell the view why a request failed.
// [mcp.ErrRejected] counts as ErrDenied, and an [*mcp.RPCError] is sent unchanged. For other
// errors the view only learns that there was one, or that it took too long.
var (
	// ErrDenied means that a person, or a policy of the host, refused.
	ErrDenied = errors.New("apps: denied by the user")

	// ErrInvalid means that the view asked for something that does not exist or is malformed.
	// The view gets the text of the error.
	ErrInvalid = errors.New("apps: invalid request")
)

// extension is the name of MCP Apps among the extensions of clients.
const extension = "io.modelcontextprotocol/ui"

// mimeType is the type of a view's document.
const mimeType = "text/html;profile=mcp-app"

// Declare returns options for a connection whose host shows views: they declare the extension, in either era, in
// addition to what opts declares. Without it servers may leave out tools that have views. opts may be nil, and is not
// modified. It is an error if Options.Protocol.Capabilities, or its extensions, are not an object.
func Declare(opts *mcpclient.Options) (*mcpclient.Options, error) {
	out := *cmp.Or(opts, new(mcpclient.Options))
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
