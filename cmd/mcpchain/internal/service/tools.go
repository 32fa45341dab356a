package service

import (
	"context"
	"log/slog"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// openTools connects to the servers of a file, or to the demo servers. It logs the servers that cannot be used, and
// fails if none of a file can be used. end closes the toolset and the demo servers.
func openTools(ctx context.Context, o *options, logger *slog.Logger) (_ *adapter.Toolset, end func(), err error) {
	entries, err := hosting.ReadEntries(ctx, o.config, &o.Hosting, false)
	if err != nil {
		return nil, nil, err
	}
	opts := &adapter.Options{
		Policy:        adapter.Policy{Start: adapter.StartAvailable, ConnectTimeout: o.timeouts.Connect, IdleTimeout: o.timeouts.Idle, CallTimeout: o.timeouts.Call},
		OpenWait:      hosting.Patience,
		User:          hosting.User,
		Logger:        logger,
		ClientOptions: &mcpclient.Options{Logger: logger},
		ListDir:       cli.Place("service-tools"),
	}
	toolset, err := adapter.Open(ctx, entries.Shared, opts)
	if err != nil {
		_ = entries.Close()
		return nil, nil, err
	}
	end = func() {
		_ = toolset.Close()
		_ = entries.Close()
	}
	if err := hosting.Report(logger, o.config, toolset.Servers(), entries.Wrong); err != nil {
		end()
		return nil, nil, err
	}
	return toolset, end, nil
}
