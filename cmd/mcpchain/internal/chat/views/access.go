package views

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/viewframe"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// access is what a view reaches of its server. The person is asked about its calls as about the model's.
type access struct {
	session *session
	direct  *adapter.ViewAccess
}

// Tools implements [host.Server].
func (a *access) Tools() []*mcp.Tool { return a.direct.Tools() }

// CallTool implements [host.Server].
func (a *access) CallTool(ctx context.Context, name string, arguments json.RawMessage, opts ...mcpclient.CallOption) (*mcp.CallToolResult, error) {
	o := &a.session.service.opts
	ctx, done := o.Aside(ctx)
	defer done()
	c := &Call{Server: a.session.view.server, Tool: name, Arguments: arguments}
	asked := func(next func(*Call)) {
		if next != nil {
			next(c)
		}
	}
	began := time.Now()
	caller := &adapter.Caller{
		Approve: func(approval.Func) approval.Func {
			return func(ctx context.Context, q *approval.Request) (approval.Decision, error) {
				d, err := o.Person.Approve(ctx, q)
				began = time.Now()
				return d, err
			}
		},
		Elicit: func(ctx context.Context, params *mcp.ElicitParams, _ mcp.ElicitationHandler) (*mcp.ElicitResult, error) {
			return o.Person.Elicit(ctx, params)
		},
	}
	asked(o.Began)
	c.Result, c.Err = a.direct.CallTool(adapter.WithCaller(ctx, caller), name, arguments, opts...)
	c.Took = time.Since(began)
	asked(o.Ended)
	return c.Result, c.Err
}

// ReadResource implements [host.Server].
func (a *access) ReadResource(ctx context.Context, uri string, opts ...mcpclient.CallOption) (*mcp.ReadResourceResult, error) {
	return a.direct.ReadResource(ctx, uri, opts...)
}

// refusals count what a person has refused a view, one after the other.
type refusals struct {
	mu sync.Mutex // guards the field below
	n  int
}

// ask puts a question of the view to the person, unless the person has refused the last ones.
func (n *session) ask(ctx context.Context, question func(context.Context) error) error {
	n.refused.mu.Lock()
	much := n.refused.n >= maxRefused
	n.refused.mu.Unlock()
	if much {
		return fmt.Errorf("%w: the user has refused %d times, and is not asked again before the page is loaded again", apps.ErrInvalid, maxRefused)
	}
	ctx, done := n.service.opts.Aside(ctx)
	defer done()
	err := question(ctx)
	n.refused.mu.Lock()
	defer n.refused.mu.Unlock()
	switch {
	case err == nil:
		n.refused.n = 0
	case !errors.Is(err, apps.ErrInvalid):
		n.refused.n++
	}
	return err
}

func (n *session) openLink(ctx context.Context, url string) error {
	return n.ask(ctx, func(ctx context.Context) error { return n.service.opts.Person.OpenLink(ctx, n.view.server, url) })
}

func (n *session) message(ctx context.Context, content []mcp.Content) error {
	text, err := viewframe.Message(content)
	if err != nil {
		return err
	}
	return n.ask(ctx, func(ctx context.Context) error { return n.service.opts.Person.TakeMessage(ctx, n.view.server, text) })
}

// shown is a text of a server for the page.
func shown(text string, n int) string { return hosttext.Line(text, n) }
