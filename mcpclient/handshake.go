package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/results"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// handshake identifies the server. In the legacy era it agrees on a revision, and sets the era.
func (n *negotiator) handshake(ctx context.Context, e era) (*mcp.Server, error) {
	if e, ok := e.(*legacyEra); ok {
		return n.initialize(ctx, e)
	}
	return n.discover(ctx, e)
}

// initialize introduces the client to a legacy server and requests a revision. The server may
// choose another, unless the host has forced one.
func (n *negotiator) initialize(ctx context.Context, e *legacyEra) (*mcp.Server, error) {
	params := fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":%s,"clientInfo":%s}`,
		e.revision, n.offers.encode(`{"listChanged":true}`, false), n.introduction)
	l := n.link.Load()
	got, err := n.send(ctx, &request{method: "initialize", params: params, era: e}, new(callOptions))
	if err != nil {
		if rpc, ok := errors.AsType[*mcp.RPCError](err); ok && len(supportedRevisions(rpc)) > 0 {
			speaks := listRevisions(supportedRevisions(rpc))
			return nil, fmt.Errorf("initialize: %w (asked for %s, the server speaks %s)", err, e.revision, speaks)
		}
		return nil, fmt.Errorf("initialize: %w", l.handshakeError(err))
	}
	var g results.Greeting
	if err := jsonrpc.DecodeResult(got.result, &g); err != nil {
		return nil, fmt.Errorf("initialize: %w: %v: %s", mcp.ErrInvalidResult, err, l.texts.quote(got.result))
	}
	if ours := n.allowedRevisions(legacyRevisions[:]); !slices.Contains(ours, g.Revision) {
		return nil, fmt.Errorf("initialize: %w", &RevisionError{ClientRevisions: ours, ServerRevisions: []string{g.Revision}})
	}
	g.Server.Revision = g.Revision
	n.era.Store(negotiatedLegacy[g.Revision])
	if err := n.notify(ctx, l, "notifications/initialized", nil); err != nil {
		return nil, fmt.Errorf("notifications/initialized: %w", err)
	}
	return g.Server, nil
}

var errIncomplete = errors.New("resultType is not complete")

// discover identifies a modern server. The error is a [*RevisionError] with the server's
// revisions if e is not among them.
func (n *negotiator) discover(ctx context.Context, e era) (*mcp.Server, error) {
	revision := e.name()
	got, err := n.send(ctx, &request{method: "server/discover", era: e}, new(callOptions))
	if err != nil {
		return nil, fmt.Errorf("server/discover: %w", n.link.Load().handshakeError(err))
	}
	raw := got.result
	g := results.Greeting{Modern: true}
	if err := jsonrpc.DecodeResult(raw, &g); err != nil || len(g.Revisions) == 0 {
		return nil, fmt.Errorf("server/discover: %w: want a list supportedVersions: %s", mcp.ErrInvalidResult, n.quote(raw))
	}
	if notNull(g.ResultType) != nil && string(jsonrpc.Plain(g.ResultType)) != "complete" {
		return nil, fmt.Errorf("server/discover: %w: %w: %s", mcp.ErrInvalidResult, errIncomplete, n.quoteJSON(g.ResultType))
	}
	if !slices.Contains(g.Revisions, revision) {
		return nil, &RevisionError{ClientRevisions: n.allowedRevisions(Revisions()), ServerRevisions: g.Revisions}
	}
	g.Server.Revision = revision
	return g.Server, nil
}

// handshakeError returns the error of a handshake, over HTTP with the hint of [addURLHint].
func (l *link) handshakeError(err error) error {
	if l.exchange == nil {
		return err
	}
	return addURLHint(err)
}

// addURLHint adds to an error that the URL may lead to a web site or another API, if the
// response suggests that.
func addURLHint(err error) error {
	status, refused := errors.AsType[*transport.HTTPError](err)
	rpc, answered := errors.AsType[*mcp.RPCError](err)
	noServer := refused && slices.Contains(foreignStatuses[:], status.Status)
	otherAPI := answered && rpc.Code == 0 // its error is not one of JSON-RPC
	if !noServer && !otherAPI && !errors.Is(err, mcp.ErrInvalidResult) {
		return err
	}
	return fmt.Errorf("%w (is this the URL of an MCP server?)", err)
}

// foreignStatuses are statuses with which another kind of server may answer a handshake.
var foreignStatuses = [...]int{
	http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone,
	http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity,
}
