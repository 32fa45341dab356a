package service

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/internal/tryout"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// userHeader tells the demo server whose call it is. A server believes it because only the service reaches it,
// by its network. A server of others wants a token of the user instead.
const userHeader = "X-User"

// demoLabel is the host's label of the demo server.
const demoLabel = "demo"

// patience is how long the start waits for servers that are slower than others; they join later.
const patience = 2 * time.Second

// openTools connects to the servers of a file, or to the demo server. The log names the servers that cannot be used;
// it is an error if none of a file can be.
func openTools(ctx context.Context, o *options, logger *slog.Logger) (*adapter.Toolset, func(), error) {
	end := func() {}
	var servers []adapter.Server
	var wrong []adapter.ServerStatus
	var err error
	if o.config != "" {
		var cfg *config.Config
		if cfg, err = hosting.Load(ctx, o.config, &o.Hosting, false); err == nil {
			servers, wrong = hosting.Servers(cfg, &o.Hosting)
		}
	} else {
		var demo *http.Server
		if demo, servers, err = startDemo(); demo != nil {
			end = func() { _ = demo.Close() }
		}
	}
	if err != nil {
		return nil, nil, err
	}
	opts := &adapter.Options{
		Policy: adapter.Policy{Start: adapter.StartAvailable, ConnectTimeout: o.timeouts.Connect}, Patience: patience, User: hosting.User,
		Logger: logger, Client: &mcpclient.Options{Logger: logger},
	}
	if dir := cli.Place("service-tools"); dir != "" {
		opts.Lists = dir
	}
	toolset, err := adapter.Open(ctx, servers, opts)
	if err != nil {
		end()
		return nil, nil, err
	}
	if err := hosting.Report(logger, o.config, toolset.Servers(), wrong); err != nil {
		_ = toolset.Close()
		end()
		return nil, nil, err
	}
	return toolset, func() {
		_ = toolset.Close()
		end()
	}, nil
}

// startDemo serves the demo server on a port of the loopback interface, with a tool more: whoami.
func startDemo() (*http.Server, []adapter.Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, nil, fmt.Errorf("start the demo server: %w", err)
	}
	server := tryout.NewServer()
	sdk.AddTool(server, &sdk.Tool{Name: "whoami", Description: "Says who the caller is.", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}},
		func(_ context.Context, r *sdk.CallToolRequest, _ struct{}) (*sdk.CallToolResult, any, error) {
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "You are " + r.Extra.Header.Get(userHeader) + "."}}}, nil, nil
		})
	web := &http.Server{
		Handler:           sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true}),
		ReadHeaderTimeout: 10 * time.Second,
	}
	go func() { _ = web.Serve(listener) }()
	url := "http://" + listener.Addr().String()
	return web, []adapter.Server{{Name: demoLabel, Transport: hosting.CarryUser(&mcpclient.HTTP{URL: url}, userHeader)}}, nil
}

// approveDemo lets the demo server of this program read without a question. A person is asked about every
// other call, and about all calls of a file's servers, whatever they say of themselves.
func approveDemo(ctx context.Context, a *approval.Request) (approval.Decision, error) {
	if hint := a.Definition.Annotations; a.Server == demoLabel && hint != nil && hint.ReadOnlyHint != nil && *hint.ReadOnlyHint {
		return approval.Allow(), nil
	}
	return agent.AskPerson(ctx, a)
}
