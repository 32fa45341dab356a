package mcpclient_test

import (
	"slices"
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func TestServerIsKeptWhole(t *testing.T) {
	for revision, answer := range map[string]string{
		mcp.Revision20260728: `{"supportedVersions":["2026-07-28","2027-01-01"],"capabilities":{"com.example/x":{"y":1}},"_meta":{"k":1}}`,
		mcp.Revision20251125: `{"protocolVersion":"2025-11-25","capabilities":{"com.example/x":{"y":1}},"serverInfo":{"name":"s","version":"1"},"_meta":{"k":1}}`,
	} {
		c := connected(t, library(map[string]string{"server/discover": answer, "initialize": answer}), mcpclient.Options{Protocol: mcpclient.Protocol{Revision: revision}})
		got := c.Server()
		if string(got.Meta) != `{"k":1}` || string(got.Capabilities.Others["com.example/x"]) != `{"y":1}` {
			t.Errorf("%s: got %+v, want _meta and the unknown capability", revision, got)
		}
		if modern := revision == mcp.Revision20260728; modern != slices.Equal(got.Revisions, []string{"2026-07-28", "2027-01-01"}) {
			t.Errorf("%s: got the revisions %q", revision, got.Revisions)
		}
		_ = c.Close()
	}
}
