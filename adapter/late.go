package adapter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrConnecting is why a server cannot be used that is still being connected to, see [Options.Patience].
var ErrConnecting = errors.New("it is still being connected to")

// connectQuick opens every server, and returns when the quick ones are ready: the others join later.
func (t *Toolset) connectQuick(ctx context.Context, servers []Server, policies []*policy) error {
	opening, end := context.WithCancelCause(context.WithoutCancel(ctx))
	detach := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	defer detach()
	context.AfterFunc(t.life, func() { end(errToolsetClosed) })
	opened := make(chan int, len(servers))
	all := make([]*server, len(servers))
	for i := range servers {
		recipe := servers[i]
		s := t.newServer(&recipe, policies[i])
		all[i], s.coming = s, make(chan struct{})
		t.start(func() {
			if !s.recall() {
				s.err = s.enter(opening)
			}
			close(s.coming)
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
				patience = time.After(t.opts.Patience)
			}
			continue
		case <-patience:
		}
		break
	}
	if ctx.Err() != nil {
		for _, s := range all { // what was opened is in no toolset that Close knows
			<-s.coming
			_ = s.close()
		}
		return context.Cause(ctx)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.servers = make([]*server, len(servers))
	for i, s := range all {
		if ready[i] {
			t.servers[i] = s
			s.coming = nil
			if s.err != nil {
				t.opts.Logger.Warn("left out a server", "server", s.label, "error", s.err)
			}
			continue
		}
		place := t.newServer(s.recipe, s.policy)
		place.err, place.coming = fmt.Errorf("server %q: %w", s.label, ErrConnecting), s.coming
		t.servers[i] = place
		t.background.Go(func() { t.join(place, s) })
	}
	return nil
}

// join puts a server in its place when it has been opened.
func (t *Toolset) join(place, s *server) {
	<-s.coming
	t.mu.Lock()
	i := slices.Index(t.servers, place)
	switch {
	case i < 0 || t.closed:
		t.mu.Unlock()
		_ = s.close()
		return
	case s.err != nil:
		place.err = s.err
		t.mu.Unlock()
		t.opts.Logger.Warn("left out a server", "server", s.label, "error", s.err)
		close(place.watch.offered)
		t.tend(place)
		return
	}
	t.servers = slices.Clone(t.servers)
	t.servers[i] = s
	t.buildLocked()
	t.mu.Unlock()
	place.end()
	close(s.watch.offered)
	t.tend(s)
	t.opts.Logger.Info("a server has joined", "server", s.label, "tools", len(s.tools))
	t.tell(Event{Server: s.label, Kind: ServerAdded, Added: toolNames(s.tools)})
}
