package adapter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrConnecting is the error of a server that is still being connected, see [Options.Patience].
var ErrConnecting = errors.New("it is still being connected to")

// connectQuick opens every server, and returns when the quick ones are ready. The others join later.
func (c *connector) connectQuick(ctx context.Context, all []*server) error {
	opening, end := context.WithCancelCause(context.WithoutCancel(ctx))
	detach := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	defer detach()
	context.AfterFunc(c.roster.life, func() { end(errToolsetClosed) })
	opened, done := make(chan int, len(all)), make([]chan struct{}, len(all))
	for i, s := range all {
		done[i] = make(chan struct{})
		c.roster.start(func() {
			s.err = s.openOrRecall(opening)
			close(done[i])
			opened <- i
		})
	}
	ready := c.awaitQuick(all, opened)
	if ctx.Err() != nil {
		for i, s := range all { // they are in no toolset that Close would close
			<-done[i]
			_ = s.close()
		}
		return context.Cause(ctx)
	}
	places := slices.Clone(all)
	for i, s := range all {
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
		c.watchServer(s)
	}
	return nil
}

// awaitQuick waits until every server is open or has failed, but for at most Options.Patience once
// one is open. It reports which servers are open or have failed.
func (c *connector) awaitQuick(all []*server, opened <-chan int) []bool {
	ready := make([]bool, len(all))
	var patience <-chan time.Time
	for range all {
		select {
		case i := <-opened:
			ready[i] = true
			if all[i].err == nil && patience == nil {
				patience = time.After(c.opts.Patience)
			}
		case <-patience:
			return ready
		}
	}
	return ready
}

// join replaces a placeholder by a server that has connected or failed.
func (c *connector) join(place, s *server) {
	if s.err != nil {
		c.opts.Logger.Warn("left out a server", "server", s.label, "error", s.err)
		if c.roster.fail(place, s.err) {
			c.watchServer(place)
		}
		return
	}
	if !c.roster.replace(place, s, func() bool { return true }) {
		_ = s.close()
		return
	}
	place.end()
	c.watchServer(s)
	c.opts.Logger.Info("a server has joined", "server", s.label, "tools", len(s.tools))
	c.notifyHost(Event{Server: s.label, Kind: ServerAdded, Added: toolNames(s.tools)})
}
