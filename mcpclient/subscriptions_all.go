package mcpclient

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	"github.com/mcpchain/mcpchain/mcpclient/internal/lifecycle"
	"github.com/mcpchain/mcpchain/mcpclient/internal/metakey"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// subscriptions are the subscriptions of a client, and what its legacy server watches for them.
type subscriptions struct {
	life           *lifecycle.Lifecycle
	log            *slog.Logger
	sessions       resender    // requests wait for it
	send           sender      // sends resources/subscribe and resources/unsubscribe
	listen         sender      // sends subscriptions/listen
	isOverHTTP     func() bool // then the silence of a stream is bounded
	onAcknowledged func()      // called when a server has agreed to report changes

	mu  sync.Mutex
	all []*Subscription

	// requested has the resources that a legacy server was asked to watch (true: it has agreed), except while one goroutine
	// asks it. It is nil before the first.
	requested chan map[string]bool
	endLater  func() // ends watchLater; nil before the first restored session; belongs to who has taken requested
}

func (l *subscriptions) add(ctx context.Context, asked mcp.SubscriptionFilter, stream bool) *Subscription {
	s := &Subscription{
		all:    l,
		asked:  asked,
		stream: stream,
		wake:   make(chan struct{}, 1),
		ready:  make(chan struct{}),
		ended:  make(chan struct{}),
	}
	s.ctx, s.cancel = context.WithCancel(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, s)
	return s
}

func (l *subscriptions) remove(s *Subscription) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = slices.DeleteFunc(l.all, func(o *Subscription) bool { return o == s })
}

func (l *subscriptions) list() []*Subscription {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

// endOtherEra ends the subscriptions of another era with errOtherEra. streams says whether the
// subscriptions of the current era have streams of their own.
func (l *subscriptions) endOtherEra(streams bool) {
	for _, s := range l.list() {
		if s.stream != streams {
			s.end(errOtherEra)
			s.cancel()
		}
	}
}

// publish passes a change to its subscriptions. A resource without a subscription of its own may
// be part of a subscribed one: "the URI ... might be a sub-resource of the one that the client
// subscribed to".
func (l *subscriptions) publish(change mcp.Change) {
	all := l.list()
	subscribed := func(s *Subscription) bool { return includesSubject(&s.asked, change) }
	exact := change.Kind == mcp.TaskUpdated || slices.ContainsFunc(all, subscribed)
	for _, s := range all {
		wanted := subscribed(s)
		if !exact {
			wanted = includesKind(&s.asked, change.Kind)
		}
		if wanted || change.Kind == mcp.Stale {
			s.push(change)
		}
	}
}

func isEmptyFilter(f *mcp.SubscriptionFilter) bool {
	return !f.ToolsListChanged && !f.PromptsListChanged && !f.ResourcesListChanged && len(f.Resources) == 0 && len(f.Tasks) == 0
}

func includesKind(f *mcp.SubscriptionFilter, kind mcp.ChangeKind) bool {
	switch kind {
	case mcp.ToolsChanged:
		return f.ToolsListChanged
	case mcp.PromptsChanged:
		return f.PromptsListChanged
	case mcp.ResourcesChanged:
		return f.ResourcesListChanged
	case mcp.TaskUpdated:
		return len(f.Tasks) > 0
	}
	return len(f.Resources) > 0
}

func includesSubject(f *mcp.SubscriptionFilter, change mcp.Change) bool {
	if change.Kind == mcp.TaskUpdated {
		return slices.Contains(f.Tasks, change.Task)
	}
	return slices.Contains(f.Resources, change.URI)
}

func distinct(f mcp.SubscriptionFilter) mcp.SubscriptionFilter {
	f.Resources = slices.Compact(slices.Sorted(slices.Values(f.Resources)))
	f.Tasks = slices.Compact(slices.Sorted(slices.Values(f.Tasks)))
	return f
}

// announcedPart returns the part of a filter that a server declares to announce, with distinct
// resources and tasks.
func announcedPart(s *mcp.ServerCapabilities, f mcp.SubscriptionFilter) mcp.SubscriptionFilter {
	f = distinct(f)
	out := mcp.SubscriptionFilter{
		ToolsListChanged:   f.ToolsListChanged && s.Tools != nil && s.Tools.ListChanged,
		PromptsListChanged: f.PromptsListChanged && s.Prompts != nil && s.Prompts.ListChanged,
	}
	if s.Resources != nil {
		out.ResourcesListChanged = f.ResourcesListChanged && s.Resources.ListChanged
		if s.Resources.Subscribe {
			out.Resources = f.Resources
		}
	}
	if _, ok := s.Extensions[metakey.Tasks]; ok || s.Tasks != nil {
		out.Tasks = f.Tasks
	}
	return out
}
