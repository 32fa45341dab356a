package service

import (
	"context"
	"log/slog"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// patience is how long the start waits for slow servers, which join later.
const patience = 2 * time.Second

// openTools connects to the servers of a file, or to the demo servers. The log names the
// servers that cannot be used; if that is all servers of a file it is an error.
func openTools(ctx context.Context, o *options, logger *slog.Logger) (*adapter.Toolset, func(), error) {
	end := func() error { return nil }
	var servers []adapter.Server
	var wrong []adapter.ServerStatus
	var err error
	if o.config != "" {
		var cfg *config.Config
		if cfg, err = hosting.Load(ctx, o.config, &o.Hosting, false); err == nil {
			servers, wrong = hosting.Servers(cfg, &o.Hosting)
		}
	} else {
		servers, end, err = hosting.DemoServers()
	}
	if err != nil {
		return nil, nil, err
	}
	opts := &adapter.Options{
		Policy: adapter.Policy{Start: adapter.StartAvailable, ConnectTimeout: o.timeouts.Connect, IdleTimeout: o.timeouts.Idle, CallTimeout: o.timeouts.Call}, Patience: patience, User: hosting.User,
		Logger: logger, Client: &mcpclient.Options{Logger: logger},
	}
	if dir := cli.Place("service-tools"); dir != "" {
		opts.Lists = dir
	}
	toolset, err := adapter.Open(ctx, servers, opts)
	if err != nil {
		_ = end()
		return nil, nil, err
	}
	if err := hosting.Report(logger, o.config, toolset.Servers(), wrong); err != nil {
		_ = toolset.Close()
		_ = end()
		return nil, nil, err
	}
	return toolset, func() {
		_ = toolset.Close()
		_ = end()
	}, nil
}
