package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// connector connects the servers of a toolset and lists their tools. It replaces connections
// that are lost, idle, or need another protocol revision.
type connector struct {
	opts    *Options
	roster  *roster
	lender  *lender
	calls   *calls // of the tools
	schemas schema.Cache
	level   atomic.Pointer[mcp.LogLevel] // set by SetLogLevel; nil before
}

// newServer returns a server of this toolset. The recipe must not change afterwards.
func (c *connector) newServer(recipe *Server, p *policy) *server {
	s := &server{
		label: recipe.Name, recipe: recipe, policy: p, opts: c.opts, pins: recipe.Pins,
		listing: make(chan struct{}, 1),
		start:   c.roster.start, released: c.lender.released, schemas: &c.schemas, level: &c.level, calls: c.calls,
	}
	s.watch = newWatch(s.label, c.opts, func(ctx context.Context) error { return c.relist(ctx, s) }, c.notifyHost)
	s.question = func(ctx context.Context) func(error) { return c.lender.question(ctx, s) }
	s.life, s.end = context.WithCancel(c.roster.life)
	return s
}

// failTogether is how long the other servers may continue to start after one has failed, so
// that their errors are reported as well.
const failTogether = 2 * time.Second

// errOthersFailed cancels the start of the other servers.
var errOthersFailed = errors.New("another server failed")

// connect opens every server of a toolset that is being opened.
func (c *connector) connect(ctx context.Context, servers []Server) error {
	all := make([]*server, len(servers))
	required := false
	for i, recipe := range servers {
		all[i] = c.newServer(&recipe, newPolicy(c.opts, &recipe))
		required = required || all[i].policy.Start == StartRequired
	}
	if !required && c.opts.Patience > 0 {
		return c.connectQuick(ctx, all)
	}
	return c.connectAll(ctx, all)
}

// connectAll waits until every server is open or has failed. If a required one fails, it cancels the
// others after failTogether, so that the error names all that fail at about the same time.
func (c *connector) connectAll(ctx context.Context, all []*server) error {
	starting, end := context.WithCancelCause(ctx)
	defer end(nil)
	var (
		wg   sync.WaitGroup
		once sync.Once
		late *time.Timer // nil before the first failure
	)
	failed := make([]error, len(all))
	for i, s := range all {
		wg.Go(func() {
			s.err = s.openOrRecall(starting)
			switch {
			case s.err == nil:
			case s.policy.Start != StartRequired:
				c.opts.Logger.Warn("left out a server", "server", s.label, "error", s.err)
			case context.Cause(starting) != errOthersFailed:
				failed[i] = s.err
				once.Do(func() { late = time.AfterFunc(failTogether, func() { end(errOthersFailed) }) })
			}
		})
	}
	wg.Wait()
	if late != nil {
		late.Stop()
	}
	c.roster.fill(all)
	err := errors.Join(failed...)
	switch {
	case ctx.Err() != nil:
		return cmp.Or(err, ctx.Err())
	case err != nil:
		return fmt.Errorf("%w (Policy.Start: StartAvailable continues without servers that fail)", err)
	}
	for _, s := range all {
		c.watchServer(s)
	}
	return nil
}

// add opens a server for an open toolset.
func (c *connector) add(ctx context.Context, added *Server) error {
	if err := checkServer(added); err != nil {
		return err
	}
	if err := c.roster.reserve(added.Name); err != nil {
		return err
	}
	s := c.newServer(added, newPolicy(c.opts, added))
	if err := c.roster.add(s, s.openOrRecall(ctx)); err != nil {
		_ = s.close()
		return err
	}
	c.watchServer(s)
	c.notifyHost(Event{Server: s.label, Kind: ServerAdded, Added: toolNames(s.tools)})
	return nil
}

// watchServer starts to watch a server that has joined the toolset.
func (c *connector) watchServer(s *server) {
	close(s.watch.offered)
	c.keepConnected(s)
}
