package host

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// handlers serve the view's requests, by the functions of the host and by the view's server.
type handlers struct {
	server Server
	opts   *Options
	view   *view
	out    *outbox
}

// serveFunc serves a request. params is an object.
type serveFunc func(h *handlers, ctx context.Context, params json.RawMessage) (any, error)

// schedule specifies when a request is served.
type schedule int

const (
	concurrent schedule = iota // on a goroutine of its own
	immediate                  // before the next message is read: it calls no code of the host
	inOrder                    // after waiting calls of the host's functions, in the order of requests
)

// method specifies how a request is served.
type method struct {
	serve  serveFunc
	when   schedule
	single bool // it asks a person: only one at a time
}

var methods = map[string]method{
	"ping":                    {when: immediate, serve: (*handlers).ping},
	"ui/initialize":           {when: immediate, serve: (*handlers).initialize},
	"ui/update-model-context": {when: inOrder, serve: (*handlers).updateModelContext},
	"tools/list":              {serve: (*handlers).listTools},
	"tools/call":              {serve: (*handlers).callTool},
	"resources/read":          {serve: (*handlers).readResource},
	"ui/open-link":            {serve: (*handlers).openLink, single: true},
	"ui/message":              {serve: (*handlers).message, single: true},
	"ui/request-display-mode": {serve: (*handlers).requestDisplayMode, single: true},
}

func (*handlers) ping(context.Context, json.RawMessage) (any, error) { return struct{}{}, nil }

// initialize answers the handshake, and records the modes that the view supports.
func (h *handlers) initialize(_ context.Context, params json.RawMessage) (any, error) {
	var p struct {
		ProtocolVersion string             `json:"protocolVersion"`
		AppInfo         mcp.Implementation `json:"appInfo"` // only its form is checked
		AppCapabilities struct {
			AvailableDisplayModes []string `json:"availableDisplayModes"`
		} `json:"appCapabilities"`
	}
	if err := json.Unmarshal(params, &p); err != nil || p.ProtocolVersion == "" {
		return nil, errorf(mcp.CodeInvalidParams, "want protocolVersion, appInfo and appCapabilities")
	}
	return map[string]any{
		"protocolVersion":  protocol,
		"hostInfo":         h.opts.Host,
		"hostCapabilities": h.opts.capabilities(),
		"hostContext":      h.view.greet(p.AppCapabilities.AvailableDisplayModes),
	}, nil
}

// listTools answers with the tools that the view may call.
func (h *handlers) listTools(context.Context, json.RawMessage) (any, error) {
	tools := []*mcp.Tool{} // the server's own list stays unchanged
	for _, tool := range h.server.Tools() {
		if forViews(tool) {
			tools = append(tools, tool)
		}
	}
	return map[string]any{"tools": tools}, nil
}

// forViews reports whether views may call a tool; not if its visibility is invalid.
func forViews(tool *mcp.Tool) bool {
	meta, _ := apps.ReadToolMeta(tool)
	return meta.ForViews
}

// callTool passes a call on to the server of the view. "Host MUST reject tools/call requests
// from apps for tools that don't include "app" in visibility."
func (h *handlers) callTool(ctx context.Context, params json.RawMessage) (any, error) {
	var p struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
		Meta      struct {
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return nil, errorf(mcp.CodeInvalidParams, "want a name and arguments")
	}
	if len(p.Arguments) == 0 {
		p.Arguments = json.RawMessage("{}")
	}
	if !jsonrpc.IsObject(p.Arguments) {
		return nil, errorf(mcp.CodeInvalidParams, "the arguments are not an object")
	}
	known := slices.ContainsFunc(h.server.Tools(), func(tool *mcp.Tool) bool { return tool.Name == p.Name && forViews(tool) })
	if !known {
		return nil, errorf(mcp.CodeInvalidParams, "no such tool for views: %s", excerpt.CutAt(p.Name, 200))
	}
	var opts []mcpclient.CallOption
	if token := p.Meta.ProgressToken; len(token) > 0 && string(token) != "null" {
		if len(token) > maxID || !isID(token) {
			return nil, errorf(mcp.CodeInvalidParams, "the progress token is not a string or number, or is over %d bytes", maxID)
		}
		opts = append(opts, mcpclient.WithProgress(func(p mcp.Progress) { h.progress(token, p) }))
	}
	return h.server.CallTool(ctx, p.Name, p.Arguments, opts...)
}

// isID reports whether a value is a string or a number.
func isID(raw json.RawMessage) bool {
	return raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
}

// progress sends progress of a call to the view, unless many messages wait already, or the view is
// not ready for notifications.
func (h *handlers) progress(token json.RawMessage, p mcp.Progress) {
	if _, ready := h.view.phase(); !ready {
		return
	}
	params, err := jsonrpc.Marshal(struct {
		ProgressToken json.RawMessage `json:"progressToken"`
		Progress      float64         `json:"progress"`
		Total         *float64        `json:"total,omitempty"`
		Message       string          `json:"message,omitempty"`
	}{token, p.Progress, p.Total, p.Message})
	if err != nil {
		return
	}
	h.out.sendWithin(jsonrpc.AppendNotification(nil, "notifications/progress", params), h.opts.Limits.Outgoing, maxWaiting)
}

func (h *handlers) readResource(ctx context.Context, params json.RawMessage) (any, error) {
	var p struct {
		URI string `json:"uri"`
	}
	if err := json.Unmarshal(params, &p); err != nil || p.URI == "" {
		return nil, errorf(mcp.CodeInvalidParams, "want a uri")
	}
	res, err := h.server.ReadResource(ctx, p.URI)
	if err != nil {
		return nil, err
	}
	contents := make([]json.RawMessage, len(res.Contents))
	for i := range res.Contents {
		block, err := jsonrpc.Marshal(&mcp.EmbeddedResource{Resource: res.Contents[i]})
		if err != nil {
			return nil, err
		}
		contents[i] = jsonrpc.Lookup(block, "resource")
	}
	out := map[string]any{"contents": contents}
	if len(res.Meta) > 0 {
		out["_meta"] = res.Meta
	}
	return out, nil
}

func notOffered(method string) error {
	return errorf(mcp.CodeMethodNotFound, "the host does not offer %s", method)
}
