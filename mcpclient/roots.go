package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
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

// SetRoots replaces the roots and notifies a legacy server, unless
// [Protocol.ExactCapabilities] omits roots.listChanged; a modern server asks
// again when it needs the roots. The client's [Options.Roots] must have been
// set, empty or not.
func (c *Client) SetRoots(ctx context.Context, roots []mcp.Root) error {
	switch {
	case c.opts.Handlers[rootsMethod] != nil:
		return errors.New("set roots: Options.Handlers answers roots/list (Notify tells the server that they changed: notifications/roots/list_changed)")
	case !c.offers.roots:
		return errors.New("set roots: Options.Roots was nil, so that the client did not declare roots")
	}
	for _, r := range roots {
		if err := checkRoot(r); err != nil {
			return fmt.Errorf("set roots: %w", err)
		}
	}
	c.answerer.keepRoots(roots)
	if !c.current().answers() || c.offers.quietRoots {
		return nil
	}
	return c.Notify(ctx, "notifications/roots/list_changed", nil)
}

// keepRoots keeps a copy of the roots; the copy is never nil.
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
