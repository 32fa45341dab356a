package views

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/viewframe"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// access gives a view access to its server. The person is asked about the view's calls as about those of the model.
type access struct {
	session *session
	direct  host.Server
}

// Tools implements [host.Server].
func (a *access) Tools() []*mcp.Tool { return a.direct.Tools() }

// CallTool implements [host.Server].
func (a *access) CallTool(ctx context.Context, name string, arguments json.RawMessage, opts ...mcpclient.CallOption) (*mcp.CallToolResult, error) {
	o := &a.session.service.opts
	ctx, done := o.Aside(ctx)
	defer done()
	c := &Call{Server: a.session.view.server, Tool: name, Arguments: arguments}
	began := time.Now()
	caller := &adapter.Caller{
		Approve: func(approval.Func) approval.Func {
			return func(ctx context.Context, q *approval.Request) (approval.Decision, error) {
				d, err := o.Person.Approve(ctx, q)
				began = time.Now() // the time of the question does not count
				return d, err
			}
		},
		Elicit: func(ctx context.Context, params *mcp.ElicitParams, _ mcp.ElicitationHandler) (*mcp.ElicitResult, error) {
			return o.Person.Elicit(ctx, params)
		},
	}
	o.Began(c)
	c.Result, c.Err = a.direct.CallTool(adapter.WithCaller(ctx, caller), name, arguments, opts...)
	c.Took = time.Since(began)
	o.Ended(c)
	return c.Result, c.Err
}

// ReadResource implements [host.Server].
func (a *access) ReadResource(ctx context.Context, uri string, opts ...mcpclient.CallOption) (*mcp.ReadResourceResult, error) {
	return a.direct.ReadResource(ctx, uri, opts...)
}

// ask asks the person a question of the view, unless the person has refused the last maxRefused ones.
func (n *session) ask(ctx context.Context, question func(context.Context) error) error {
	s := n.service
	s.mu.Lock()
	blocked := n.refused >= maxRefused
	s.mu.Unlock()
	if blocked {
		return fmt.Errorf("%w: the user has refused %d times, and is not asked again before the page is loaded again", apps.ErrInvalid, maxRefused)
	}
	ctx, done := s.opts.Aside(ctx)
	defer done()
	err := question(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		n.refused = 0
	case !errors.Is(err, apps.ErrInvalid):
		n.refused++
	}
	return err
}

// openLink handles a view's request to open a page.
func (n *session) openLink(ctx context.Context, url string) error {
	return n.ask(ctx, func(ctx context.Context) error { return n.service.opts.Person.OpenLink(ctx, n.view.server, url) })
}

// message handles a view's message to the model.
func (n *session) message(ctx context.Context, content []mcp.Content) error {
	text, err := viewframe.Message(content)
	if err != nil {
		return err
	}
	return n.ask(ctx, func(ctx context.Context) error { return n.service.opts.Person.TakeMessage(ctx, n.view.server, text) })
}
