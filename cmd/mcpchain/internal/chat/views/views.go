// Package views shows the views of tool results in a browser, on pages that this machine serves.
//
// The address of a view has a token that cannot be guessed. Its page frames the view in a sandbox of another origin.
// Each open page is a session of its own with the view. Nothing listens before the first view is offered.
package views

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/viewframe"
	"github.com/mcpchain/mcpchain/mcpclient/apps/sandbox"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

const (
	maxViews    = 50       // offered views; older ones are dropped
	maxBytes    = 32 << 20 // bytes of their arguments and results; the newest view is kept in any case
	maxOpen     = 4        // open pages; each occupies one of the six connections that a browser makes to the page
	maxContexts = 4        // views whose texts are added to a question; each has at most viewframe.MaxText bytes
	maxIncoming = 1 << 20  // bytes of a message of a view, and of a request of a page
	maxOutgoing = 16 << 20 // bytes of a message to a view
	maxConns    = 64       // concurrent connections to the page, and to the sandbox
	maxRefused  = 3        // consecutive questions of a page that fail; further ones are not asked
	maxFailure  = 300      // characters of an error on a page
	maxName     = 100      // characters of the name of a server or tool on a page

	loadTime = 30 * time.Second // to load a view
	callTime = time.Hour        // for a request of a view, which may wait for the person
	sendTime = 30 * time.Second // to read a request, and to write a part of a response
)

// Person answers the questions of views. Its errors match those of package apps, such as [apps.ErrDenied].
type Person interface {
	// Approve decides on a call of a tool, and Elicit answers what its server asks.
	Approve(context.Context, *approval.Request) (approval.Decision, error)
	Elicit(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error)

	// OpenLink opens a page for the view of a server, and TakeMessage offers the person a text of
	// the view as a question to the model.
	OpenLink(ctx context.Context, server, url string) error
	TakeMessage(ctx context.Context, server, text string) error
}

// Options configure a [Service]. All are required.
type Options struct {
	Tools  *adapter.Toolset
	Person Person

	// OnCallStart and OnCallEnd are called before and after each tool call of a view, also concurrently.
	OnCallStart, OnCallEnd func(*Call)

	// Interruptible returns the context of a request of a view, which the person can end, and a
	// function that releases it.
	Interruptible func(context.Context) (ctx context.Context, done func())
}

// Service offers views. It may be used concurrently.
type Service struct {
	opts   Options
	pages  sync.WaitGroup // requests of open pages
	served sync.WaitGroup // goroutines of servers

	// Set before the servers start.
	origin string // of the page
	frames string // the origin of the sandbox
	box    *sandbox.Sandbox

	mu      sync.Mutex // guards the fields below
	closed  bool
	servers []*http.Server      // nil before the first view
	views   map[string]*view    // by token
	order   []*view             // the oldest first
	open    map[string]*session // by id; nil while the view is loaded
}

// view is a view of the result of a tool call.
type view struct {
	token, server string
	tool          *adapter.Tool
	arguments     json.RawMessage
	result        *mcp.CallToolResult
	size          int               // of arguments and result in bytes
	modelContext  viewframe.Context // what the view wants to tell the model
}

var (
	errClosed       = errors.New("the program ends")
	errTooManyPages = errors.New("too many views are open: close one")

	statusOf = map[error]int{errClosed: http.StatusServiceUnavailable, errTooManyPages: http.StatusTooManyRequests}
)

// New returns a service. The caller has to close it.
func New(o Options) *Service {
	return &Service{opts: o, views: map[string]*view{}, open: map[string]*session{}}
}

// Offer offers the view of a call's result, and returns the address of its page. The tool must have
// a view, see [adapter.Tool.ViewURI].
func (s *Service) Offer(
	tool *adapter.Tool, arguments json.RawMessage, result *mcp.CallToolResult,
) (address string, err error) {
	raw, err := json.Marshal(result)
	if err != nil {
		return "", fmt.Errorf("offer a view: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", errClosed
	}
	if s.servers == nil {
		if err := s.listenLocked(); err != nil {
			return "", fmt.Errorf("offer a view: %w", err)
		}
	}
	v := &view{
		token:     rand.Text(),
		server:    tool.Server(),
		tool:      tool,
		arguments: arguments,
		result:    result,
		size:      len(raw) + len(arguments),
	}
	s.views[v.token] = v
	s.order = append(s.order, v)
	s.dropOldLocked()
	return s.origin + "/" + v.token + "/", nil
}

// dropOldLocked drops the oldest views beyond the bounds.
func (s *Service) dropOldLocked() {
	kept := 0
	for i := len(s.order) - 1; i >= 0; i-- {
		kept += s.order[i].size
		if i < len(s.order)-1 && (kept > maxBytes || len(s.order)-i > maxViews) {
			for _, old := range s.order[:i+1] {
				delete(s.views, old.token)
			}
			s.order = slices.Clone(s.order[i+1:])
			return
		}
	}
}

// ModelContext is what the view of a server wants to tell the model.
type ModelContext struct{ Server, Text string }

// TakeModelContexts returns what the newest views want to tell the model, each text once. It drops
// the texts of older views.
func (s *Service) TakeModelContexts() (contexts []ModelContext) {
	s.mu.Lock()
	views := slices.Clone(s.order)
	s.mu.Unlock()
	for _, v := range slices.Backward(views) {
		if text := v.modelContext.Take(); text != "" && len(contexts) < maxContexts {
			contexts = append(contexts, ModelContext{v.server, text})
		}
	}
	return contexts
}

// Close ends all sessions and stops listening.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	servers := s.servers
	s.mu.Unlock()
	for _, server := range servers {
		_ = server.Close()
	}
	s.served.Wait()
	s.pages.Wait()
}

// find returns the view with a token, nil if there is none.
func (s *Service) find(token string) *view {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.views[token]
}

// currentTool returns a tool as its server has it now: the server may have been connected again.
func (s *Service) currentTool(tool *adapter.Tool) *adapter.Tool {
	for _, server := range s.opts.Tools.Servers() {
		for _, current := range server.Tools {
			if server.Name == tool.Server() && current.Definition().Name == tool.Definition().Name && current.ViewURI() != "" {
				return current
			}
		}
	}
	return tool
}

// beginPage reserves a place for a session, and returns the session's id. The error is errClosed or errTooManyPages.
// At the end of the request, the caller calls unregister and pages.Done.
func (s *Service) beginPage() (id string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return "", errClosed
	case len(s.open) >= maxOpen:
		return "", errTooManyPages
	}
	id = rand.Text()
	s.open[id] = nil
	s.pages.Add(1)
	return id, nil
}

// register adds a session in its place.
func (s *Service) register(n *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[n.id] = n
}

// unregister removes a session, or its place.
func (s *Service) unregister(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, id)
}

// session returns an open session of a view, nil if there is none.
func (s *Service) session(v *view, id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.open[id]; n != nil && n.view == v {
		return n
	}
	return nil
}
