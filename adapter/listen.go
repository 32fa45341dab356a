package adapter

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// listened is what a toolset wants to hear of.
var listened = mcpclient.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}

const (
	// agreeWait bounds how long the opening of a server waits for its word that
	// it tells of changes.
	agreeWait = time.Second

	// maxRelisten bounds the wait before a server that ended a subscription is
	// asked for another one.
	maxRelisten = 30 * time.Second
)

// refreshState is what is known of a server's announcements.
type refreshState struct {
	wanted    bool // the server has announced a change that was not looked at
	running   bool // a goroutine looks at announcements
	listening bool // a goroutine listens, or there is nothing to hear
	told      bool // a subscription tells of tools
	late      bool // the server was opened before it agreed to tell
}

// listen has a server heard until it leaves the toolset, unless it is heard
// already. It returns when the server has agreed to tell of changes, or has not
// within agreeWait; when it does later, everything counts as changed.
func (t *Toolset) listen(ctx context.Context, s *server) {
	agreed := make(chan struct{})
	t.mu.Lock()
	if t.closed || s.refresh.listening {
		t.mu.Unlock()
		return
	}
	s.refresh.listening, s.refresh.late = true, false
	t.behind.Go(func() { t.hear(s, sync.OnceFunc(func() { close(agreed) })) })
	t.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, agreeWait)
	defer cancel()
	select {
	case <-agreed:
	case <-ctx.Done():
		t.mu.Lock()
		s.refresh.late = true
		t.mu.Unlock()
	}
}

// hear subscribes to a server's changes. A broken stream is the subscription's
// own business; where the server ends it, it is asked again, ever more slowly.
func (t *Toolset) hear(s *server, agreed func()) {
	defer agreed()
	pause := backoff.Policy{First: t.opts.RefreshInterval, Max: max(maxRelisten, t.opts.RefreshInterval)}
	for failures, first := 0, true; ; failures, first = failures+1, false {
		began := time.Now()
		sub, err := s.client.Subscribe(s.life, listened)
		if err == nil {
			t.tells(s, sub.Filter().ToolsListChanged)
			agreed()
			err = t.changes(s, sub, first)
			_ = sub.Close()
		}
		if _, nothing := errors.AsType[*mcpclient.CapabilityError](err); nothing && first || s.life.Err() != nil {
			return
		}
		if sub == nil || !errors.Is(err, mcpclient.ErrSubscriptionEnded) {
			t.deaf(s, err)
			return
		}
		if time.Since(began) > maxRelisten {
			failures = 0
		}
		if backoff.Sleep(s.life, pause.Delay(failures)) != nil {
			return
		}
	}
}

// tells notes whether a subscription tells of a server's tools.
func (t *Toolset) tells(s *server, told bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.refresh.told = told
}

// changes brings what a server tells to where it belongs, once the server is
// offered, and returns why nothing comes any more. What happened when nobody
// listened is not told by the server.
func (t *Toolset) changes(s *server, sub *mcpclient.Subscription, first bool) error {
	select {
	case <-s.offered:
	case <-s.life.Done():
		return s.life.Err()
	}
	granted := sub.Filter()
	t.mu.Lock()
	missed := s.refresh.late || !first
	t.mu.Unlock()
	if missed {
		t.changed(s, granted, mcpclient.Stale)
	}
	for change, err := range sub.Changes(s.life) {
		if err != nil {
			return err
		}
		t.changed(s, granted, change.Kind)
		if err := backoff.Sleep(s.life, t.opts.RefreshInterval); err != nil { // what comes meanwhile is kept once
			return err
		}
	}
	return nil
}

// changed handles one change.
func (t *Toolset) changed(s *server, granted mcpclient.SubscriptionFilter, kind mcpclient.ChangeKind) {
	stale := kind == mcpclient.Stale
	if kind == mcpclient.ToolsChanged || stale && granted.ToolsListChanged {
		t.mu.Lock()
		s.refresh.wanted = true
		t.wakeLocked(s)
		t.mu.Unlock()
	}
	if !t.has(s) {
		return
	}
	if kind == mcpclient.PromptsChanged || stale && granted.PromptsListChanged {
		t.tell(Event{Server: s.label, Kind: PromptsChanged})
	}
	if kind == mcpclient.ResourcesChanged || stale && granted.ResourcesListChanged {
		t.tell(Event{Server: s.label, Kind: ResourcesChanged})
	}
}

// deaf notes that a server is not heard any more.
func (t *Toolset) deaf(s *server, err error) {
	select {
	case <-s.offered:
	case <-s.life.Done():
		return
	}
	t.mu.Lock()
	s.refresh.listening, s.refresh.told = false, false
	t.mu.Unlock()
	if t.has(s) {
		t.opts.Logger.Warn("changes are not heard of", "server", s.label, "error", err)
		t.tell(Event{Server: s.label, Kind: ListeningEnded, Err: err})
	}
}

// listChanged is what a legacy server says when its tools are not those it
// listed.
const listChanged = "notifications/tools/list_changed"

// withNotifications returns options whose notifications go to notify as well,
// before the caller gets them.
func withNotifications(opts *mcpclient.Options, notify func(*mcp.Notification)) *mcpclient.Options {
	next := opts.OnNotification
	opts.OnNotification = func(n *mcp.Notification) {
		notify(n)
		if next != nil {
			next(n)
		}
	}
	return opts
}

// notify hears legacy servers that tell of changes without having declared it.
// It does not wait for anything.
func (t *Toolset) notify(s *server) func(*mcp.Notification) {
	return func(n *mcp.Notification) {
		if n.Method != listChanged {
			return
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		if !s.refresh.told {
			s.refresh.wanted = true
			t.wakeLocked(s)
		}
	}
}

// ready says that a server is in the catalog. What it announced before is looked
// at now.
func (t *Toolset) ready(s *server) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(s.offered)
	t.wakeLocked(s)
}

// wakeLocked has announcements looked at, unless that is being done.
func (t *Toolset) wakeLocked(s *server) {
	if !s.refresh.wanted || s.refresh.running || t.closed {
		return
	}
	select {
	case <-s.offered:
		s.refresh.running = true
		t.behind.Go(func() { t.follow(s) })
	default:
	}
}

// has reports whether a server is in the toolset, and that is open.
func (t *Toolset) has(s *server) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.closed && slices.Contains(t.servers, s)
}

// follow refreshes a server for as long as it announces changes, and not more
// often than the host wants.
func (t *Toolset) follow(s *server) {
	for {
		t.mu.Lock()
		if !s.refresh.wanted || t.closed || !slices.Contains(t.servers, s) {
			s.refresh.running = false
			t.mu.Unlock()
			return
		}
		s.refresh.wanted = false
		t.mu.Unlock()
		if err := t.refresh(t.life, s); err != nil && t.has(s) {
			t.opts.Logger.Warn("tools not listed again", "server", s.label, "error", err)
			t.tell(Event{Server: s.label, Kind: ToolsChanged, Err: err})
		}
		_ = backoff.Sleep(t.life, t.opts.RefreshInterval)
	}
}
