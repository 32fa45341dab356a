package eval

import (
	"context"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/evals/agent/suite"
	"github.com/mcpchain/mcpchain/internal/tryout"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// addServers adds the servers of -config, or the demo server, to the suites without servers. Each trial connects again.
func (o *options) addServers(ctx context.Context, suites []*suite.Suite) error {
	servers := map[string]*suite.Server{"demo": {Dial: demo}}
	switch o.config {
	case "":
	case cli.NoServers:
		servers = nil
	default:
		c, err := (&config.Loader{AllowFilters: true}).Load(ctx, o.config)
		if err != nil {
			return &cli.FileError{Err: err}
		}
		found, wrong := adapter.FromConfig(c)
		if len(wrong) > 0 {
			return &cli.FileError{Err: wrong[0].Err}
		}
		servers = map[string]*suite.Server{}
		for _, s := range found {
			servers[s.Name] = &suite.Server{As: s, Dial: func(context.Context, string) (mcpclient.Transport, func() error, error) {
				return s.Transport, nil, nil
			}}
		}
	}
	for _, s := range suites {
		if len(s.Servers) == 0 {
			s.Servers = servers
		}
	}
	return nil
}

// demo starts a demo server.
func demo(ctx context.Context, _ string) (mcpclient.Transport, func() error, error) {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	session, err := tryout.NewServer().Connect(context.WithoutCancel(ctx), &sdk.IOTransport{Reader: fromClient, Writer: toClient}, nil)
	if err != nil {
		return nil, nil, err
	}
	return &mcpclient.IO{Reader: fromServer, Writer: toServer}, session.Close, nil
}
