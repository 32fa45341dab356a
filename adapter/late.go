package adapter

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrConnecting is the error of a server that is still being connected, see [Options.Patience].
var ErrConnecting = errors.New("it is still being connected to")

// connectQuick opens every server, and returns when the quick ones are ready. The others join
// later.
func (c *connector) connectQuick(ctx context.Context, servers []Server, policies []*policy) error {
	opening, end := context.WithCancelCause(context.WithoutCancel(ctx))
	detach := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	defer detach()
	context.AfterFunc(c.roster.life, func() { end(errToolsetClosed) })
	opened := make(chan int, len(servers))
	all, done := make([]*server, len(servers)), make([]chan struct{}, len(servers))
	for i := range servers {
		recipe := servers[i]
		s := c.newServer(&recipe, policies[i])
		all[i], done[i] = s, make(chan struct{})
		c.roster.start(func() {
			if !s.recall() {
				s.err = s.enter(opening)
			}
			close(done[i])
			opened <- i
		})
	}
	ready := make([]bool, len(servers))
	var patience <-chan time.Time
	for n := 0; n < len(servers); n++ {
		select {
		case i := <-opened:
			ready[i] = true
			if all[i].err == nil && patience == nil {
				patience = time.After(c.opts.Patience)
			}
			continue
		case <-patience:
		}
		break
	}
	if ctx.Err() != nil {
		for i, s := range all { // they are in no toolset that Close would close
			<-done[i]
			_ = s.close()
		}
		return context.Cause(ctx)
	}
	places := make([]*server, len(servers))
	for i, s := range all {
		places[i] = s
		if !ready[i] {
			places[i] = c.newServer(s.recipe, s.policy)
			places[i].err = fmt.Errorf("server %q: %w", s.label, ErrConnecting)
		}
	}
	c.roster.fill(places)
	for i, s := range all {
		if !ready[i] {
			c.roster.start(func() {
				<-done[i]
				c.join(places[i], s)
			})
			continue
		}
		if s.err != nil {
			c.opts.Logger.Warn("left out a server", "server", s.label, "error", s.err)
		}
		c.attend(s)
	}
	return nil
}

// join replaces a placeholder by a server that has connected or failed.
func (c *connector) join(place, s *server) {
	if s.err != nil {
		c.opts.Logger.Warn("left out a server", "server", s.label, "error", s.err)
		if c.roster.fail(place, s.err) {
			c.attend(place)
		}
		return
	}
	if !c.roster.replace(place, s, func() bool { return true }) {
		_ = s.close()
		return
	}
	place.end()
	c.attend(s)
	c.opts.Logger.Info("a server has joined", "server", s.label, "tools", len(s.tools))
	c.tell(Event{Server: s.label, Kind: ServerAdded, Added: toolNames(s.tools)})
}
