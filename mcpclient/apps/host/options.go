package host

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/internal/version"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Server gives a view access to the server that it came from, and to no other. The view learns the text of an error of
// package apps; of any other error, only that its request failed. adapter.Toolset.ViewAccess returns one.
type Server interface {
	// Tools returns the tools that views may call.
	Tools() []*mcp.Tool

	// CallTool calls one of them. [CallID] returns the view's request.
	CallTool(ctx context.Context, name string, arguments json.RawMessage, opts ...mcpclient.CallOption) (*mcp.CallToolResult, error)

	// ReadResource reads a resource by a URI from the view.
	ReadResource(ctx context.Context, uri string, opts ...mcpclient.CallOption) (*mcp.ReadResourceResult, error)
}

// Options configure a session. Nil and the zero value are valid: the view may then call tools,
// read resources and log. An error of a function refuses the view's request, as errors of [Server]
// do. The context that a function gets ends with the request that caused the call.
type Options struct {
	// Host is the name and version of the program. Default: name "mcpchain" and the version of this module.
	Host mcp.Implementation

	// Context describes the host to the view, in the handshake.
	Context HostContext

	// CSP and Permissions are what the sandbox allows the view, which learns them in the handshake.
	CSP         apps.CSP
	Permissions []string // by their names in [apps.ResourceMeta]

	// OpenLink opens a URL outside of the view, after a person has seen the whole URL and
	// agreed. The URL has the scheme http or https and a host, at most 8 KiB, and no user info
	// or invisible characters. Return apps.ErrDenied if the person refuses.
	OpenLink func(ctx context.Context, url string) error

	// Message adds a message of the view to the conversation, in the role of the user. Show who wrote it.
	Message func(ctx context.Context, content []mcp.Content) error

	// DisplayMode shows the view in another mode and returns the resulting mode, which the view
	// gets. It is only called with modes that both the host and the view have declared; a view that
	// declares none supports all. An error is logged, and the mode stays.
	DisplayMode func(ctx context.Context, mode string) (string, error)

	// OnModelContext is called with context that the view wants future model calls to have, in
	// place of the previous one; an empty one removes it. structured is an object, or nil. Tell the model
	// that the context comes from the view. An error refuses the update.
	OnModelContext func(content []mcp.Content, structured json.RawMessage) error

	// OnSize is called with the view's size in pixels. An unknown width or height is nil.
	OnSize func(width, height *float64)

	// OnLog is called with the view's log messages.
	OnLog func(*mcp.LogMessage)

	// OnCloseRequest is called when the view asks to be closed.
	OnCloseRequest func()

	Limits Limits

	// Logger logs each served request at Info, without its contents, and at most 60 lines a minute
	// about refused requests (Info) and violations of the protocol (Warn). Default: discarded.
	Logger *slog.Logger
}

// Limits bound what a view can do. Zero means the default; a negative number is an error of [Open].
type Limits struct {
	Incoming int // bytes of one message from the view; default 4 MiB
	Outgoing int // bytes of one message to the view; default 16 MiB
	Requests int // concurrent requests of the view; default 16
	Rate     int // requests of the view per minute, and ten times as many notifications; default 600

	RequestTimeout time.Duration // one request of the view; default 10 min
}

// Bounds of waits for the view.
const (
	initializeTime = 5 * time.Minute  // from Open until the view is ready
	sendTime       = 30 * time.Second // one message
	teardownTime   = 2 * time.Second  // the answer to the end of the session
)

func (l Limits) withDefaults() Limits {
	return Limits{
		Incoming:       cmp.Or(l.Incoming, 4<<20),
		Outgoing:       cmp.Or(l.Outgoing, 16<<20),
		Requests:       cmp.Or(l.Requests, 16),
		Rate:           cmp.Or(l.Rate, 600),
		RequestTimeout: cmp.Or(l.RequestTimeout, 10*time.Minute),
	}
}

func (l Limits) check() error {
	if min(l.Incoming, l.Outgoing, l.Requests, l.Rate) < 0 || l.RequestTimeout < 0 {
		return fmt.Errorf("host: a limit of Options.Limits is negative: %+v", l)
	}
	return nil
}

func (o *Options) withDefaults() *Options {
	out := *cmp.Or(o, new(Options))
	if out.Host.Name == "" {
		out.Host = mcp.Implementation{Name: "mcpchain", Version: version.Module()}
	}
	out.Logger = cmp.Or(out.Logger, slog.New(slog.DiscardHandler))
	out.Limits = out.Limits.withDefaults()
	return &out
}

// capabilities returns the capabilities to declare: what every host has, and what needs a function that is set.
func (o *Options) capabilities() map[string]any {
	none := struct{}{}
	permissions := map[string]any{}
	for _, name := range o.Permissions {
		permissions[name] = none
	}
	content := map[string]any{"text": none, "image": none, "audio": none, "resource": none, "resourceLink": none}
	all := map[string]any{
		"serverTools": none, "serverResources": none, "logging": none,
		"sandbox": map[string]any{"csp": o.CSP, "permissions": permissions},
	}
	if o.OpenLink != nil {
		all["openLinks"] = none
	}
	if o.Message != nil {
		all["message"] = content
	}
	if o.OnModelContext != nil {
		structured := maps.Clone(content)
		structured["structuredContent"] = none
		all["updateModelContext"] = structured
	}
	return all
}
