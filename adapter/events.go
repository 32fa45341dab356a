package adapter

import (
	"context"
	"slices"
	"sync"
	"time"
)

// EventKind is the kind of an [Event].
type EventKind string

const (
	// ToolsChanged means that the tools of a server have changed, or could not be listed after an announcement (Err).
	ToolsChanged EventKind = "tools changed"

	// ServerAdded means that a server has joined the toolset: by [Toolset.Add], late after Open, or again after [ServerLost].
	// A lazy one may not be connected yet. Added, Removed and Changed list the changes of its tools.
	ServerAdded EventKind = "server added"

	// RevisionChanged means that a server is now connected with an older revision, because its tools ask questions the
	// older way: Err has the refusal of such a question. Set [Server.Revision] to prevent it.
	RevisionChanged EventKind = "revision changed"

	// ServerLost means that the connection to a server has ended by itself: Err has the reason. The tools stay. Their calls
	// fail until the toolset has reconnected, which it does unless the transport can be dialed only once.
	ServerLost EventKind = "server lost"
)

// Event is a change of a toolset. Tools are given by the names that their server uses. Tools that
// are not for models are omitted.
type Event struct {
	Server  string
	Kind    EventKind
	Added   []string
	Removed []string
	Changed []string // tools with another description, schema or annotations

	// Err is the reason of RevisionChanged and ServerLost, or why the tools could not be listed: the toolset keeps
	// the old ones.
	Err error
}

// empty reports whether no tool has changed.
func (e *Event) empty() bool { return len(e.Added)+len(e.Removed)+len(e.Changed) == 0 }

// reporter calls [Options.OnChange] for the events of a toolset, one at a time and in their order. It has a goroutine
// while there are events. Until start is called it only queues them.
type reporter struct {
	opts   *Options
	roster *roster

	mu    sync.Mutex // locked before roster.mu
	queue []queuedEvent
	idle  chan struct{} // closed when no event is left; nil while idle; not nil before start
}

type queuedEvent struct {
	Event
	server *serverState
}

func newReporter(o *Options, r *roster) *reporter {
	return &reporter{opts: o, roster: r, idle: make(chan struct{})}
}

// start reports what was queued, and from now on every event.
func (r *reporter) start() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.queue) > 0 {
		go r.run()
		return
	}
	close(r.idle)
	r.idle = nil
}

// add queues an event. It reports whether the caller may call settle: OnChange was not running, and so cannot be the caller.
func (r *reporter) add(server *serverState, e Event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.opts.OnChange == nil || r.roster.life.Err() != nil {
		return false
	}
	r.queue = append(r.queue, queuedEvent{e, server})
	if r.idle != nil {
		return false
	}
	r.idle = make(chan struct{})
	go r.run()
	return true
}

// run reports the queued events, until the toolset is closed. Events of servers that were removed are dropped.
func (r *reporter) run() {
	r.mu.Lock()
	defer func() {
		close(r.idle)
		r.queue, r.idle = nil, nil
		r.mu.Unlock()
	}()
	for len(r.queue) > 0 && r.roster.life.Err() == nil {
		next := r.queue[0]
		r.queue = slices.Delete(r.queue, 0, 1)
		if r.roster.find(next.server) != nil {
			r.reportUnlocked(next.Event)
		}
	}
}

// reportUnlocked calls OnChange with the lock released.
func (r *reporter) reportUnlocked(e Event) {
	r.mu.Unlock()
	defer r.mu.Lock()
	_ = runGuarded(r.opts.Logger, "Options.OnChange", func() error { r.opts.OnChange(e); return nil })
}

// settle waits until OnChange has returned for all events and, before start, until start has reported the queue, or until
// ctx ends.
func (r *reporter) settle(ctx context.Context) {
	r.mu.Lock()
	idle := r.idle
	r.mu.Unlock()
	if idle != nil {
		_ = await(ctx, idle)
	}
}

// onChangeWait bounds the wait of Close: OnChange may itself be calling Close, and would otherwise never return.
const onChangeWait = 5 * time.Second

// close waits until OnChange has returned, for onChangeWait at most. The life of the roster must be over.
func (r *reporter) close() {
	ctx, cancel := context.WithTimeout(context.Background(), onChangeWait)
	defer cancel()
	r.settle(ctx)
}
