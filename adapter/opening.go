package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpchain/mcpchain/internal/bound"
)

// Open connects to all servers concurrently, lists their tools, and returns a toolset of them,
// which may be none. ctx bounds only the opening.
//
// Tools have a stable order: servers as given, tools as listed.
//
// If a server fails, Open fails, unless its [Policy.Start] is [StartAvailable] or [StartLazy]: then the toolset opens
// without it. The error names every server that fails within two seconds of the first. When Open fails it closes what
// it has opened. It also fails if two servers have the same Name.
func Open(ctx context.Context, servers []Server, opts *Options) (*Toolset, error) {
	t := newToolset(opts.withDefaults())
	if err := cmp.Or(t.opts.Policy.check(), checkServers(servers)); err != nil {
		return nil, fmt.Errorf("open toolset: %w", err)
	}
	if err := t.connector.connect(ctx, servers); err != nil {
		_ = t.Close()
		return nil, fmt.Errorf("open toolset: %w", err)
	}
	return t, nil
}

// checkServers returns an error for invalid servers, and for names that are not unique.
func checkServers(servers []Server) error {
	seen := map[string]bool{}
	for i := range servers {
		if err := checkServer(&servers[i]); err != nil {
			return err
		}
		if seen[servers[i].Name] {
			return fmt.Errorf("server %q is there twice: give each a name of its own", servers[i].Name)
		}
		seen[servers[i].Name] = true
	}
	return nil
}

// ErrConnecting is the error of a server that Open did not wait for, see [Options.OpenWait].
var ErrConnecting = errors.New("connection is still being made")

// failTogether is how long the other servers may continue to start after one has failed, so
// that their errors are reported as well.
const failTogether = 2 * time.Second

// errOthersFailed cancels the start of the other servers.
var errOthersFailed = errors.New("another server failed")

// opening is the start of all servers of a toolset.
type opening struct {
	*connector
	all      []*server
	openWait time.Duration // Options.OpenWait, but 0 if a server is required; 0 awaits all servers

	starting context.Context // the context of the servers' start
	end      context.CancelCauseFunc
	ends     []context.CancelFunc // by index: cancels the start of one server
	opened   chan int             // the index of each server that is open or has failed
	pending  []bool               // by index: whether the server is neither open nor has failed

	joined  []*server     // all, with placeholders for late servers
	settled chan struct{} // closed when they are in the roster
}

// connect opens the servers of a toolset that is being opened. Those that are late join it later.
// If connect fails, the roster has all of them to be closed.
func (c *connector) connect(ctx context.Context, servers []Server) error {
	o := c.newOpening(servers)
	defer o.begin(ctx)()
	defer close(o.settled)
	err := o.await(ctx)
	if err == nil {
		o.replaceLate()
	}
	c.roster.setServers(o.joined)
	if err != nil {
		return err
	}
	for i, s := range o.all {
		if !o.pending[i] {
			c.watchServer(s)
		}
	}
	return nil
}

func (c *connector) newOpening(servers []Server) *opening {
	o := &opening{
		connector: c,
		all:       make([]*server, len(servers)),
		openWait:  c.opts.OpenWait,
		ends:      make([]context.CancelFunc, len(servers)),
		opened:    make(chan int, len(servers)),
		pending:   slices.Repeat([]bool{true}, len(servers)),
		settled:   make(chan struct{}),
	}
	for i, recipe := range servers {
		o.all[i] = c.newServer(&recipe, newServerState(c.opts, &recipe))
		if o.all[i].state.policy.Start == StartRequired {
			o.openWait = 0
		}
	}
	o.joined = slices.Clone(o.all)
	return o
}

// begin begins to open the servers. ctx bounds that until detach is called; after it, only late servers are being opened.
func (o *opening) begin(ctx context.Context) (detach func()) {
	if o.openWait > 0 {
		o.starting, o.end = context.WithCancelCause(context.WithoutCancel(ctx))
		context.AfterFunc(o.roster.life, func() { o.end(errToolsetClosed) })
		stop := context.AfterFunc(ctx, func() { o.end(context.Cause(ctx)) })
		detach = func() { stop() }
	} else {
		o.starting, o.end = context.WithCancelCause(ctx)
		detach = func() { o.end(nil) }
	}
	for i, s := range o.all {
		var starting context.Context
		starting, o.ends[i] = context.WithCancel(o.starting)
		s.state.changing <- struct{}{} // until openServer returns
		o.roster.start(func() { o.openServer(starting, i) })
	}
	return detach
}

// openServer opens a server, which replaces its placeholder if it is late. Nothing else connects it meanwhile.
func (o *opening) openServer(ctx context.Context, i int) {
	defer o.ends[i]()
	s := o.all[i]
	defer func() { <-s.state.changing }()
	s.err = o.openOrRecall(ctx, s)
	o.opened <- i
	<-o.settled
	if o.joined[i] != s {
		o.replacePlaceholder(o.joined[i], s)
	}
}

// replaceLate lets placeholders join instead of late servers. If one is removed, its server is not started any more.
func (o *opening) replaceLate() {
	for i, s := range o.all {
		if o.pending[i] {
			o.joined[i] = o.newServer(s.recipe, s.state)
			o.joined[i].err = fmt.Errorf("server %q: %w", s.label, ErrConnecting)
			context.AfterFunc(o.joined[i].life, o.ends[i])
		}
	}
}

// await waits until every server is open or has failed. Once one is open, it waits no longer than openWait. If a
// required one fails, it cancels the others after failTogether, so that the error names all that
// fail at about the same time. After an error no server is still being opened.
func (o *opening) await(ctx context.Context) error {
	failed := make([]error, len(o.all))
	var openWaitOver, failTogetherOver <-chan time.Time
	left, waits := len(o.all), true
	for left > 0 && waits {
		select {
		case i := <-o.opened:
			left--
			o.pending[i] = false
			switch s := o.all[i]; {
			case s.err == nil && o.openWait > 0 && openWaitOver == nil:
				openWaitOver = time.After(o.openWait)
			case s.err == nil:
			case s.state.policy.Start != StartRequired:
				if o.starting.Err() == nil { // else Open fails
					o.opts.Logger.Warn("left out a server", "server", s.label, "error", s.err)
				}
			case context.Cause(o.starting) != errOthersFailed:
				failed[i] = s.err
				if failTogetherOver == nil {
					failTogetherOver = time.After(failTogether)
				}
			}
		case <-failTogetherOver:
			o.end(errOthersFailed)
		case <-openWaitOver:
			waits = false
		}
	}
	err := errors.Join(failed...)
	switch {
	case ctx.Err() != nil:
		for ; left > 0; left-- { // they end with ctx
			<-o.opened
		}
		return cmp.Or(err, bound.Ended(ctx))
	case err != nil:
		return fmt.Errorf("%w (Policy.Start: StartAvailable continues without servers that fail)", err)
	}
	return nil
}

// replacePlaceholder replaces a placeholder by a server that has connected or failed, for the holder of
// serverState.changing.
func (c *connector) replacePlaceholder(placeholder, s *server) {
	if s.err != nil {
		if c.roster.fail(placeholder, s.err) {
			c.opts.Logger.Warn("left out a server", "server", s.label, "error", s.err)
			c.watchServer(placeholder)
		}
		return
	}
	joined := false
	_, _ = c.changeHeld(c.roster.life, placeholder, func(context.Context) (*Event, error) {
		tools := s.tools // once the server has joined, the lock of the roster guards them
		if joined = c.roster.replace(placeholder, s, func() bool { return true }); !joined {
			return nil, nil
		}
		placeholder.end()
		c.watchServer(s)
		c.opts.Logger.Info("a server has joined", "server", s.label, "tools", len(tools))
		return &Event{Server: s.label, Kind: ServerAdded, Added: toolNames(tools)}, nil
	})
	if !joined {
		_ = s.close()
	}
}
