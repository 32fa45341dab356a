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

// serveFunc serves a request, by the functions of the host or by the view's server. params is an object.
type serveFunc func(r *requests, ctx context.Context, params json.RawMessage) (any, error)

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
	"ping":                    {when: immediate, serve: (*requests).ping},
	"ui/initialize":           {when: immediate, serve: (*requests).initialize},
	"ui/update-model-context": {when: inOrder, serve: (*requests).updateModelContext},
	"tools/list":              {serve: (*requests).listTools},
	"tools/call":              {serve: (*requests).callTool},
	"resources/read":          {serve: (*requests).readResource},
	"ui/open-link":            {serve: (*requests).openLink, single: true},
	"ui/message":              {serve: (*requests).message, single: true},
	"ui/request-display-mode": {serve: (*requests).requestDisplayMode, single: true},
}

func (*requests) ping(context.Context, json.RawMessage) (any, error) { return struct{}{}, nil }

// initialize answers the handshake, and records the modes that the view supports.
func (r *requests) initialize(_ context.Context, params json.RawMessage) (any, error) {
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
		"hostInfo":         r.opts.Host,
		"hostCapabilities": r.opts.capabilities(),
		"hostContext":      r.view.greet(p.AppCapabilities.AvailableDisplayModes),
	}, nil
}

// listTools answers with the tools that the view may call.
func (r *requests) listTools(context.Context, json.RawMessage) (any, error) {
	tools := []*mcp.Tool{} // the server's own list stays unchanged
	for _, tool := range r.server.Tools() {
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
func (r *requests) callTool(ctx context.Context, params json.RawMessage) (any, error) {
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
	known := slices.ContainsFunc(r.server.Tools(), func(tool *mcp.Tool) bool { return tool.Name == p.Name && forViews(tool) })
	if !known {
		return nil, errorf(mcp.CodeInvalidParams, "no such tool for views: %s", excerpt.CutAt(p.Name, 200))
	}
	var opts []mcpclient.CallOption
	if token := p.Meta.ProgressToken; len(token) > 0 && string(token) != "null" {
		if len(token) > maxID || !isID(token) {
			return nil, errorf(mcp.CodeInvalidParams, "the progress token is not a string or number, or is over %d bytes", maxID)
		}
		opts = append(opts, mcpclient.WithProgress(func(p mcp.Progress) { r.progress(token, p) }))
	}
	return r.server.CallTool(ctx, p.Name, p.Arguments, opts...)
}

// isID reports whether a value is a string or a number.
func isID(raw json.RawMessage) bool {
	return raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
}

// progress sends progress of a call to the view, unless many messages wait already, or the view is
// not ready for notifications.
func (r *requests) progress(token json.RawMessage, p mcp.Progress) {
	if _, ready := r.view.phase(); !ready {
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
	r.out.sendWithin(jsonrpc.AppendNotification(nil, "notifications/progress", params), r.opts.Limits.Outgoing, maxWaiting)
}

func (r *requests) readResource(ctx context.Context, params json.RawMessage) (any, error) {
	var p struct {
		URI string `json:"uri"`
	}
	if err := json.Unmarshal(params, &p); err != nil || p.URI == "" {
		return nil, errorf(mcp.CodeInvalidParams, "want a uri")
	}
	res, err := r.server.ReadResource(ctx, p.URI)
	if err != nil {
		return nil, err
	}
	out := map[string]any{"contents": append([]mcp.ResourceContents{}, res.Contents...)} // a list even if it is empty
	if len(res.Meta) > 0 {
		out["_meta"] = res.Meta
	}
	return out, nil
}

func notOffered(method string) error {
	return errorf(mcp.CodeMethodNotFound, "the host does not offer %s", method)
}
