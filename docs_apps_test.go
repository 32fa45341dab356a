package mcpchain_test

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/apps/sandbox"
)

// viewOfTool is the program in docs/apps.md. It is only compiled.
func viewOfTool(ctx context.Context, servers []adapter.Server, result *adapter.Result, arguments json.RawMessage, conn mcpclient.Conn, user, serverURL string, approve approval.Func, openLink func(context.Context, string) error) error {
	opts, declareErr := apps.Declare(&mcpclient.Options{}) // servers learn that views are shown
	ts, openErr := adapter.Open(ctx, servers, &adapter.Options{ClientOptions: opts, Approve: approve})

	tool := result.Tool // of an adapter.Result
	view, loadErr := apps.Load(ctx, tool.Client(), tool.ViewURI())

	box, boxErr := sandbox.New(&sandbox.Options{Origin: "http://*.localhost:8081", HostOrigins: []string{"http://localhost:8080"}})
	frame, frameErr := box.Frame(view.Meta, sandbox.FrameOptions{User: user, Server: serverURL}) // URL and attributes of the iframe

	s, err := host.Open(ctx, conn, ts.ViewAccess(tool.Server(), view.URI), &host.Options{
		Sandbox:  host.Grants{CSP: frame.CSP, Permissions: frame.Permissions},
		OpenLink: openLink,
	})
	inputErr := s.ToolInput(arguments)
	resultErr := s.ToolResult(result.Raw)
	return errors.Join(declareErr, openErr, loadErr, boxErr, frameErr, err, inputErr, resultErr)
}

var _ = viewOfTool
