package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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
	all      []*attempt
	left     int           // attempts that await has not seen end
	openWait time.Duration // Options.OpenWait, but 0 if a server is required; 0 awaits all servers

	starting context.Context // the context of the attempts
	end      context.CancelCauseFunc
	opened   chan *attempt // those that have ended
	joined   chan struct{} // closed when all servers, or their placeholders, are in the roster

	openWaitOver, failTogetherOver <-chan time.Time // nil until the first server is open, or a required one has failed
}

// attempt is the start of one server.
type attempt struct {
	server      *server
	cancel      context.CancelFunc
	ended       bool    // the server is open or has failed, as await has seen
	placeholder *server // joins the toolset instead of a late server, otherwise nil
	fatal       error   // why Open fails
}

// connect opens the servers of a toolset that is being opened. Those that are late join it later.
// If connect fails, the roster has all of them to be closed.
func (c *connector) connect(ctx context.Context, servers []Server) error {
	o := c.newOpening(servers)
	detach := o.begin(ctx)
	err := o.await(ctx)
	joined := make([]*server, len(o.all))
	for i, a := range o.all {
		if joined[i] = a.server; !a.ended && err == nil {
			joined[i] = o.replaceLate(a)
		}
	}
	c.roster.setServers(joined)
	close(o.joined)
	detach()
	if err != nil {
		return err
	}
	for _, a := range o.all {
		if a.ended {
			c.watchServer(a.server)
		}
	}
	return nil
}

func (c *connector) newOpening(servers []Server) *opening {
	o := &opening{
		connector: c,
		left:      len(servers),
		openWait:  c.opts.OpenWait,
		opened:    make(chan *attempt, len(servers)),
		joined:    make(chan struct{}),
	}
	for _, recipe := range servers {
		s := c.newServer(newServerState(c.opts, &recipe))
		o.all = append(o.all, &attempt{server: s})
		if s.state.policy.Start == StartRequired {
			o.openWait = 0
		}
	}
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
	for _, a := range o.all {
		var starting context.Context
		starting, a.cancel = context.WithCancel(o.starting)
		a.server.state.changing <- struct{}{} // until openServer returns
		o.roster.start(func() { o.openServer(starting, a) })
	}
	return detach
}

// openServer opens a server, which replaces its placeholder if it is late. Nothing else connects it meanwhile.
func (o *opening) openServer(ctx context.Context, a *attempt) {
	defer a.cancel()
	s := a.server
	defer func() { <-s.state.changing }()
	s.err = o.openOrRecall(ctx, s)
	o.opened <- a
	<-o.joined
	if a.placeholder != nil {
		o.replacePlaceholder(a.placeholder, s)
	}
}

// replaceLate returns a placeholder for a late server. If it is removed, the server is not started any more.
func (o *opening) replaceLate(a *attempt) *server {
	s := a.server
	a.placeholder = o.newServer(s.state)
	a.placeholder.err = fmt.Errorf("server %q: %w", s.state.label, ErrConnecting)
	context.AfterFunc(a.placeholder.life, a.cancel)
	return a.placeholder
}

// await waits until every server is open or has failed. Once one is open, it waits no longer than openWait. If a
// required one fails, it cancels the others after failTogether, so that the error names all that
// fail at about the same time. After an error no server is still being opened.
func (o *opening) await(ctx context.Context) error {
	for waits := true; waits && o.left > 0; {
		select {
		case a := <-o.opened:
			o.note(a)
		case <-o.failTogetherOver:
			o.end(errOthersFailed)
		case <-o.openWaitOver:
			waits = false
		}
	}
	var fatal []error
	for _, a := range o.all {
		fatal = append(fatal, a.fatal)
	}
	err := errors.Join(fatal...)
	switch {
	case ctx.Err() != nil:
		for ; o.left > 0; o.left-- { // they end with ctx
			<-o.opened
		}
		return cmp.Or(err, bound.Ended(ctx))
	case err != nil:
		return fmt.Errorf("%w (Policy.Start: StartAvailable continues without servers that fail)", err)
	}
	return nil
}

// note notes the end of an attempt, and limits the wait for the others.
func (o *opening) note(a *attempt) {
	a.ended = true
	o.left--
	switch err := a.server.err; {
	case err == nil:
		if o.openWait > 0 && o.openWaitOver == nil {
			o.openWaitOver = time.After(o.openWait)
		}
	case a.server.state.policy.Start != StartRequired:
		if o.starting.Err() == nil { // else Open fails
			o.logLeftOut(a.server)
		}
	case context.Cause(o.starting) != errOthersFailed:
		a.fatal = err
		if o.failTogetherOver == nil {
			o.failTogetherOver = time.After(failTogether)
		}
	}
}

func (c *connector) logLeftOut(s *server) {
	c.opts.Logger.Warn("left out a server", "server", s.state.label, "error", s.err)
}

// replacePlaceholder replaces a placeholder by a server that has connected or failed, for the holder of
// serverState.changing.
func (c *connector) replacePlaceholder(placeholder, s *server) {
	if s.err != nil {
		if c.roster.fail(placeholder, s.err) {
			c.logLeftOut(s)
			c.watchServer(placeholder)
		}
		return
	}
	joined := false
	_, _ = c.changeHeld(c.roster.life, placeholder, func(context.Context) (*Event, error) {
		tools := s.tools // once the server has joined, the lock of the roster guards them
		if joined = c.roster.replace(placeholder, func() *server { return s }); !joined {
			return nil, nil
		}
		placeholder.end()
		c.watchServer(s)
		c.opts.Logger.Info("a server has joined", "server", s.state.label, "tools", len(tools))
		return &Event{Server: s.state.label, Kind: ServerAdded, Added: toolNames(tools)}, nil
	})
	if !joined {
		_ = s.close()
	}
}
