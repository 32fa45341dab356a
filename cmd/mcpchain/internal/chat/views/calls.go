package views

import (
	"context"
	"encoding/json"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Call is a tool call of a view. Result or Err, and Duration, are set when it has ended.
type Call struct {
	Server, Tool string
	Arguments    json.RawMessage
	Result       *mcp.CallToolResult
	Err          error
	Duration     time.Duration // without the time of a question to the person
}

// viewServer is the server of a view, as the view may use it. The person is asked about the view's
// calls as about the model's calls, and answers what the server asks during them.
type viewServer struct {
	session *session
	direct  host.Server
}

// Tools implements [host.Server].
func (a *viewServer) Tools() []*mcp.Tool { return a.direct.Tools() }

// CallTool implements [host.Server].
func (a *viewServer) CallTool(
	ctx context.Context, name string, arguments json.RawMessage, opts ...mcpclient.CallOption,
) (*mcp.CallToolResult, error) {
	o := &a.session.service.opts
	ctx, done := o.Interruptible(ctx)
	defer done()
	c := &Call{Server: a.session.view.server, Tool: name, Arguments: arguments}
	start := time.Now()
	caller := &adapter.Caller{
		Approve: func(approval.Func) approval.Func {
			return func(ctx context.Context, r *approval.Request) (approval.Decision, error) {
				d, err := o.Person.Approve(ctx, r)
				start = time.Now() // the time of the question does not count
				return d, err
			}
		},
		Elicit: func(ctx context.Context, p *mcp.ElicitParams, _ mcp.ElicitationHandler) (*mcp.ElicitResult, error) {
			return o.Person.Elicit(ctx, p)
		},
	}
	o.OnCallStart(c)
	c.Result, c.Err = a.direct.CallTool(adapter.WithCaller(ctx, caller), name, arguments, opts...)
	c.Duration = time.Since(start)
	o.OnCallEnd(c)
	return c.Result, c.Err
}

// ReadResource implements [host.Server].
func (a *viewServer) ReadResource(
	ctx context.Context, uri string, opts ...mcpclient.CallOption,
) (*mcp.ReadResourceResult, error) {
	return a.direct.ReadResource(ctx, uri, opts...)
}
