package mcpclient

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func checkRoot(r mcp.Root) error {
	if _, err := url.Parse(r.URI); err != nil || !strings.HasPrefix(r.URI, "file://") {
		return fmt.Errorf("root %q: the URI must start with file://", r.URI)
	}
	return nil
}

const rootsMethod = "roots/list"

// keepRoots stores a copy of the roots, which is never nil.
func (a *answerer) keepRoots(roots []mcp.Root) {
	kept := append([]mcp.Root{}, roots...)
	a.roots.Store(&kept)
}

// listRoots answers a request for the roots.
func (a *answerer) listRoots() (json.RawMessage, error) {
	if !a.peer.offers.roots {
		return nil, uninstalled("roots are not available", "Options.Roots")
	}
	roots := *a.roots.Load()
	return jsonrpc.Marshal(struct {
		Roots []mcp.Root `json:"roots"`
	}{roots})
}
