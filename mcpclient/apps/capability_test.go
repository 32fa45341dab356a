package apps_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// declared connects with the options and returns the capabilities that the server got.
func declared(t *testing.T, opts *mcpclient.Options) string {
	c, seen := connect(t, opts, "", "")
	check.NoError(t, c.Close())
	if found := jsonrpc.Lookup(seen.first, "capabilities"); found != nil {
		return string(found)
	}
	return string(jsonrpc.Lookup(seen.first, "_meta", "io.modelcontextprotocol/clientCapabilities"))
}

func TestDeclare(t *testing.T) {
	const settings = `{"mimeTypes":["text/html;profile=mcp-app"]}`
	for _, revision := range []string{mcp.Revision20251125, mcp.Revision20260728} {
		synctest.Test(t, func(t *testing.T) {
			given := &mcpclient.Options{Protocol: mcpclient.Protocol{Revision: revision, Capabilities: json.RawMessage(`{"experimental":{"e":{}},"extensions":{"com.example/x":{"n":1}}}`)}}
			for _, before := range []*mcpclient.Options{{Protocol: mcpclient.Protocol{Revision: revision}}, given} {
				got := declared(t, check.Value(apps.Declare(before))(t))
				check.Equal(t, revision, string(jsonrpc.Lookup([]byte(got), "extensions", "io.modelcontextprotocol/ui")), settings)
				if before == given && (jsonrpc.Lookup([]byte(got), "extensions", "com.example/x") == nil || jsonrpc.Lookup([]byte(got), "experimental", "e") == nil) {
					t.Errorf("%s: got %s, want what was declared before, too", revision, got)
				}
			}
			check.That(t, jsonrpc.Lookup([]byte(declared(t, given)), "extensions", "io.modelcontextprotocol/ui") == nil, "%s: the options given have changed", revision)
		})
	}
}

func TestDeclareRefuses(t *testing.T) {
	for _, capabilities := range []string{"[]", `"x"`, `{"extensions":[]}`, `{"extensions":{"io.modelcontextprotocol/ui":7}}`, `{"x"`} {
		opts := &mcpclient.Options{Protocol: mcpclient.Protocol{Capabilities: json.RawMessage(capabilities)}}
		check.Fails(t, check.Err(apps.Declare(opts)), capabilities)
	}
	opts, err := apps.Declare(nil)
	check.That(t, err == nil && opts.Protocol.Capabilities != nil, "without options: got %v and %v", opts, err)
}
