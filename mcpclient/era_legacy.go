package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// legacyEra is 2024-11-05 to 2025-11-25: initialize, then requests in both
// directions for as long as the session lasts.
type legacyEra struct {
	revision string // the one we ask for, then the negotiated one
	settled  bool   // the handshake is done
	version  field  // the revision, in headers after the handshake
}

// settledLegacy has the era of each revision that a handshake can end with.
var settledLegacy = func() map[string]*eraBox {
	all := make(map[string]*eraBox, len(legacyRevisions))
	for _, r := range legacyRevisions {
		all[r] = &eraBox{&legacyEra{revision: r, settled: true, version: versionField(r)}}
	}
	return all
}()

func (e *legacyEra) handshake(ctx context.Context, c *Client) (*mcp.Server, error) {
	introduction := c.introduction
	b := append(append(make([]byte, 0, envelope+len(introduction)), `{"protocolVersion":"`...), e.revision...)
	b = c.offers.appendTo(append(b, `","capabilities":`...), `{"listChanged":true}`)
	params := append(append(append(b, `,"clientInfo":`...), introduction...), '}')
	l := c.link.Load()
	got, err := c.direct(ctx, &request{method: "initialize", params: params}, new(callOptions))
	if rpc, ok := errors.AsType[*mcp.RPCError](err); ok && len(supportedBy(rpc)) > 0 {
		return nil, fmt.Errorf("initialize: %w (asked for %s, the server speaks %s)", err, e.revision, excerpt.Cut(strings.Join(supportedBy(rpc), ", ")))
	} else if err != nil {
		return nil, fmt.Errorf("initialize: %w", l.doubted(err))
	}
	var g mcp.Greeting
	if err := jsonrpc.DecodeResult(got.result, &g); err != nil {
		return nil, fmt.Errorf("initialize: %w: %v: %s", mcp.ErrInvalidResult, err, l.quote(got.result))
	}
	if ours := c.spokenBy(legacyRevisions[:]); !slices.Contains(ours, g.Revision) {
		return nil, fmt.Errorf("initialize: %w", &RevisionError{Client: ours, Server: []string{g.Revision}})
	}
	g.Server.Revision = g.Revision
	c.era.Store(settledLegacy[g.Revision])
	if err := l.notify(ctx, c, "notifications/initialized", nil); err != nil {
		return nil, fmt.Errorf("notifications/initialized: %w", err)
	}
	return g.Server, nil
}

func (e *legacyEra) started(ctx context.Context, c *Client) error {
	if c.heeds() {
		e.listen(ctx, c)
	}
	level := c.session.toldLevel()
	if level == "" {
		level = c.logLevel()
	}
	if level == "" || c.server.Load().Capabilities.Logging == nil {
		return nil
	}
	err := c.askLogLevel(ctx, c.direct, level)
	if _, refused := errors.AsType[*mcp.RPCError](err); refused {
		c.log.Warn("the server declares logging and refuses to be told the level", "error", err)
		return nil
	}
	return err
}

func (e *legacyEra) encode(b []byte, id int64, r *request, o *callOptions) []byte {
	b = jsonrpc.AppendRequest(b, id, r.method)
	meta := o.token || len(o.meta) > 0
	switch {
	case meta || len(r.answers) > 0:
		b = append(b, `,"params":{`...)
		b = jsonrpc.AppendMembers(b, r.params)
		b = append(b, r.answers...)
		if meta {
			b = jsonrpc.CloseObject(appendMeta(append(b, `"_meta":{`...), id, o))
		}
		b = jsonrpc.CloseObject(b)
	case len(r.params) > 0:
		b = append(append(b, `,"params":`...), r.params...)
	}
	return append(b, '}')
}

func (e *legacyEra) room(r *request) int {
	return envelope + len(r.method) + len(r.params) + len(r.answers)
}

func (e *legacyEra) header(h fields, r *request) fields {
	first := r != nil && r.method == "initialize"
	if !e.settled || first || e.revision < mcp.Revision20250618 {
		return h
	}
	return append(h, e.version)
}

func (e *legacyEra) inputRequired(*Client, *request, json.RawMessage) (*inputRound, error) {
	return nil, nil
}

// cancel sends a notice on every transport: "disconnection SHOULD NOT be
// interpreted as the client cancelling its request". "For task-augmented requests,
// requestors MUST use tasks/cancel instead of notifications/cancelled."
func (e *legacyEra) cancel(c *Client, l *link, call *jsonrpc.Call, reason string) {
	if r := call.Value.(*inFlight).request; !r.task || r.method != "tools/call" {
		tellCancelled(c, l, call, reason)
	}
}

func (e *legacyEra) pingMethod() string { return "ping" }

func (e *legacyEra) mirrors() bool { return false }

func (e *legacyEra) answers() bool { return true }

func (e *legacyEra) severalBlocks() bool { return e.revision >= mcp.Revision20251125 }

func (e *legacyEra) has(f feature) bool {
	switch f {
	case sessionLevel, sessionCursors:
		return true
	case completionCapability, audioContent:
		return e.revision >= mcp.Revision20250326
	case completionContext:
		return e.revision >= mcp.Revision20250618
	case urlElicitationErrors, coreTasks:
		return e.revision == mcp.Revision20251125
	}
	return false
}
