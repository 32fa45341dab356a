package host

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/internal/version"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Server is what a view reaches of the server that it came from, and of no other. The
// errors of package apps say what the view is told. An adapter.ViewAccess is one.
type Server interface {
	// Tools returns the tools that views may call.
	Tools() []*mcp.Tool

	// CallTool calls one of them. [CallID] tells which request of the view this is.
	CallTool(ctx context.Context, name string, arguments json.RawMessage, opts ...mcpclient.CallOption) (*mcp.CallToolResult, error)

	// ReadResource reads a resource by a URI that the view names.
	ReadResource(ctx context.Context, uri string, opts ...mcpclient.CallOption) (*mcp.ReadResourceResult, error)
}

// Options configure a session. Nil and the zero value are valid: the view then may call
// tools, read resources and log. An error of a function refuses what the view asks for; the errors
// of package apps say what the view is told. The context of a function ends with the request of the view.
type Options struct {
	// Host is the name and version of the program. Default: name "mcpchain" and the
	// version of this module.
	Host mcp.Implementation

	// Context is what the view is told of the host when it begins.
	Context Context

	// Sandbox is what the view may reach and use in its sandbox, which the view is told.
	Sandbox Grants

	// OpenLink opens a URL outside of the view, once a person has seen the whole URL and
	// agreed. The URL has https or http and a host, and neither user info nor characters that cannot be seen. apps.ErrDenied says that the person did not.
	OpenLink func(ctx context.Context, url string) error

	// Message adds a message of the view to the conversation, in the role of the user. Show who wrote
	// it.
	Message func(ctx context.Context, content []mcp.Content) error

	// Download has a person save files of the view, once the person has agreed.
	Download func(ctx context.Context, files []File) error

	// DisplayMode shows the view in another mode and returns the mode it is shown in now.
	// It is asked only for modes that host and view have declared.
	DisplayMode func(ctx context.Context, mode DisplayMode) (DisplayMode, error)

	// Sampling answers the view with a model. The host decides what is sent, as for a
	// server's requests.
	Sampling mcp.SamplingHandler

	// OnModelContext is called with what the view wants models to know in future turns;
	// [Session.ModelContext] has the last of it. An error refuses it.
	OnModelContext func(*ModelContext) error

	// OnReady is called when the view has begun, OnSize with its size in pixels (nil: unknown),
	// OnLog with what it logs, and OnCloseRequest when it asks to be closed.
	OnReady        func()
	OnSize         func(width, height *float64)
	OnLog          func(*mcp.LogMessage)
	OnCloseRequest func()

	Limits Limits

	// Logger gets each request that is served at Info, without its contents, and at most 60 lines
	// a minute about refused requests (Info) and breaches of the protocol (Warn). Default: discarded.
	Logger *slog.Logger
}

// Grants lists what the sandbox of a view allows.
type Grants struct {
	CSP         apps.CSP         `json:"csp"`
	Permissions apps.Permissions `json:"permissions"`
}

// Limits bound what a view can do. Zero is the default, see the package's list.
type Limits struct {
	Incoming, Outgoing                  int // bytes of one message of the view, and to it
	Requests                            int // of the view, at once
	Rate                                int // requests of the view in a minute; of notifications ten times as many
	Initialize, Request, Send, Teardown time.Duration
}

func (l Limits) withDefaults() Limits {
	for _, n := range []struct {
		of    *int
		value int
	}{{&l.Incoming, 4 << 20}, {&l.Outgoing, 16 << 20}, {&l.Requests, 16}, {&l.Rate, 600}} {
		if *n.of <= 0 {
			*n.of = n.value
		}
	}
	for _, d := range []struct {
		of    *time.Duration
		value time.Duration
	}{{&l.Initialize, time.Minute}, {&l.Request, 10 * time.Minute}, {&l.Send, 30 * time.Second}, {&l.Teardown, 5 * time.Second}} {
		if *d.of <= 0 {
			*d.of = d.value
		}
	}
	return l
}

func (o *Options) withDefaults() *Options {
	out := &Options{}
	if o != nil {
		*out = *o
	}
	if out.Host.Name == "" {
		out.Host = mcp.Implementation{Name: "mcpchain", Version: version.Module()}
	}
	if out.Logger == nil {
		out.Logger = slog.New(slog.DiscardHandler)
	}
	out.Limits = out.Limits.withDefaults()
	return out
}

// capabilities is what the view is told that the host does.
func (o *Options) capabilities() map[string]any {
	none := struct{}{}
	content := map[string]any{"text": none, "image": none, "audio": none, "resource": none, "resourceLink": none}
	all := map[string]any{"serverTools": map[string]any{"listChanged": true}, "serverResources": map[string]any{"listChanged": true}, "logging": none, "sandbox": o.Sandbox}
	if o.OpenLink != nil {
		all["openLinks"] = none
	}
	if o.Download != nil {
		all["downloadFile"] = none
	}
	if o.Message != nil {
		all["message"] = content
	}
	if o.OnModelContext != nil {
		structured := map[string]any{"structuredContent": none}
		for name, v := range content {
			structured[name] = v
		}
		all["updateModelContext"] = structured
	}
	if o.Sampling != nil {
		settings := map[string]any{}
		if inquiry.SamplingCapabilityOf(o.Sampling).Tools {
			settings["tools"] = none
		}
		all["sampling"] = settings
	}
	return all
}
