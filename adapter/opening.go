package adapter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
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
	if err := t.opts.Policy.check(); err != nil {
		return nil, fmt.Errorf("open toolset: %w", err)
	}
	if err := t.connector.connect(ctx, servers); err != nil {
		_ = t.Close()
		return nil, fmt.Errorf("open toolset: %w", err)
	}
	return t, nil
}

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
	detach   func() bool // frees starting from the context of Open; false if that has ended
	ended    chan *attempt
	over     atomic.Bool // Open waits no longer

	openWaitOver, failTogetherOver <-chan time.Time // nil until the first server is open, or a required one has failed
}

// attempt is the start of one server.
type attempt struct {
	server *server // its placeholder
	err    error   // why the server could not be opened, once the attempt has ended
	fatal  error   // why Open fails
}

// connect opens the servers of a toolset that is being opened. Those that are late continue to be opened.
func (c *connector) connect(ctx context.Context, servers []Server) error {
	defer c.reporter.start()
	o := &opening{connector: c, left: len(servers), openWait: c.opts.OpenWait, ended: make(chan *attempt, len(servers))}
	for _, recipe := range servers {
		s, err := c.addPlaceholder(&recipe)
		if err != nil {
			return err
		}
		o.all = append(o.all, &attempt{server: s})
		if s.state.policy.Start == StartRequired {
			o.openWait = 0
		}
	}
	o.begin(ctx)
	err := o.await(ctx)
	o.over.Store(true)
	if err != nil {
		c.roster.end() // nothing is tried again or reported
	}
	return err
}

// begin begins to open the servers. ctx bounds that until detach is called; after it, only late servers are being opened.
func (o *opening) begin(ctx context.Context) {
	if o.openWait > 0 {
		o.starting, o.end = context.WithCancelCause(context.WithoutCancel(ctx))
		o.detach = context.AfterFunc(ctx, func() { o.end(context.Cause(ctx)) })
	} else {
		o.starting, o.end = context.WithCancelCause(ctx)
		o.detach = func() bool { o.end(nil); return ctx.Err() == nil }
	}
	for _, a := range o.all {
		o.roster.start(func() { o.openServer(a) })
	}
}

// openServer opens a server. If that fails although Open does not, it is tried again later.
func (o *opening) openServer(a *attempt) {
	s := a.server
	a.err = o.changeServer(o.starting, s, func(ctx context.Context) (*Event, error) {
		e, err := o.reconnect(ctx, s, ServerAdded, o.openOrRecall)
		if e == nil || !o.over.Load() {
			return nil, err
		}
		o.opts.Logger.Info("a server has joined", "server", s.state.label, "tools", len(e.Added))
		return e, nil
	})
	if a.err != nil && s.state.policy.Start != StartRequired && o.starting.Err() == nil && a.err != errToolsetClosed {
		o.opts.Logger.Warn("left out a server", "server", s.state.label, "error", a.err)
		o.roster.fail(s, a.err)
		o.watchServer(s)
	}
	o.ended <- a
}

// await waits until every server is open or has failed. Once one is open, it waits no longer than openWait. If a
// required one fails, it cancels the others after failTogether, so that the error names all that
// fail at about the same time. After an error no server is still being opened.
func (o *opening) await(ctx context.Context) error {
	for waits := true; waits && o.left > 0; {
		select {
		case a := <-o.ended:
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
	case !o.detach():
		for ; o.left > 0; o.left-- { // they end with ctx
			<-o.ended
		}
		return cmp.Or(err, bound.Ended(ctx))
	case err != nil:
		return fmt.Errorf("%w (Policy.Start: StartAvailable continues without servers that fail)", err)
	}
	return nil
}

// note notes the end of an attempt, and limits the wait for the others.
func (o *opening) note(a *attempt) {
	o.left--
	switch {
	case a.err == nil && o.openWait > 0 && o.openWaitOver == nil:
		o.openWaitOver = time.After(o.openWait)
	case a.err != nil && a.server.state.policy.Start == StartRequired && context.Cause(o.starting) != errOthersFailed:
		a.fatal = a.err
		if o.failTogetherOver == nil {
			o.failTogetherOver = time.After(failTogether)
		}
	}
}
