// Package views shows views of tools' results on a page of this machine.
//
// A view that is offered has an address with a token that cannot be guessed. The page there frames the view in
// a sandbox of another origin; one page is one session with the view, and ends it. Nothing listens before the
// first view is offered.
package views

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/viewframe"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// The bounds of views.
const (
	maxViews    = 50       // offered; the oldest is forgotten
	maxKept     = 32 << 20 // bytes of their arguments and results; the newest is there in any case
	maxOpen     = 8        // pages
	maxTold     = 4        // views whose words go with a question, each viewframe.MaxText
	maxIncoming = 1 << 20  // bytes of a message of a view, and of a request of the page
	maxOutgoing = 16 << 20
	maxRequests = 64  // of pages at once, and as many of the sandbox
	maxRefused  = 3   // questions of a page that the person refuses before it is not heard any more
	maxFailure  = 300 // characters of a reason on the page

	loadTime  = 30 * time.Second
	callTime  = time.Hour // of a call that waits for the person
	sendTime  = 30 * time.Second
	closeTime = 2 * time.Second
)

// Person is asked what views want. Errors are as [host.Server] has them.
type Person interface {
	// Approve decides on a call of a tool, and Elicit answers what its server asks.
	Approve(context.Context, *approval.Request) (approval.Decision, error)
	Elicit(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error)

	// OpenLink opens a page that the view of a server names, and TakeMessage puts a text of the view
	// before the person, as a question to ask.
	OpenLink(ctx context.Context, server, url string) error
	TakeMessage(ctx context.Context, server, text string) error
}

// Call is a call that a view makes.
type Call struct {
	Server, Tool string
	Arguments    json.RawMessage

	// Result or Err is what came of it, after so long.
	Result *mcp.CallToolResult
	Err    error
	Took   time.Duration
}

// Options configure a [Service]. Tools and Person are needed.
type Options struct {
	Tools  *adapter.Toolset
	Person Person

	// Began and Ended are called around each tool call of a view, also concurrently. Either may be nil.
	Began, Ended func(*Call)

	// Aside returns the context of what a view asks for, and a function to call at its end. Default: the
	// context of the page.
	Aside func(context.Context) (context.Context, func())

	Logger *slog.Logger // default: discarded
}

// Service offers views. It may be used concurrently.
type Service struct {
	opts  Options
	pages sync.WaitGroup // requests that show a view

	mu     sync.Mutex // guards the fields below
	closed bool
	site   *site            // nil before the first view
	views  map[string]*view // by token
	order  []*view          // the oldest first
	open   map[string]*session
}

// view is a call for whose result a view is shown.
type view struct {
	token, server string
	tool          *adapter.Tool
	arguments     json.RawMessage
	result        *mcp.CallToolResult
	size          int
	told          viewframe.Context // for the model
}

var (
	errClosed = errors.New("the program ends")
	errMany   = errors.New("too many views are open: close one")
)

// New returns a service. The caller closes it.
func New(o Options) *Service {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Aside == nil {
		o.Aside = func(ctx context.Context) (context.Context, func()) { return ctx, func() {} }
	}
	return &Service{opts: o, views: map[string]*view{}, open: map[string]*session{}}
}

// Offer makes the view of a call's result ready to be opened, and returns the address of its page. The tool
// has a view, see [adapter.Tool.ViewURI].
func (s *Service) Offer(tool *adapter.Tool, arguments json.RawMessage, result *mcp.CallToolResult) (address string, err error) {
	raw, err := json.Marshal(result)
	if err != nil {
		return "", fmt.Errorf("offer a view: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", errClosed
	}
	if s.site == nil {
		if s.site, err = s.listen(); err != nil {
			return "", fmt.Errorf("offer a view: %w", err)
		}
	}
	v := &view{token: rand.Text(), server: tool.Server(), tool: tool, arguments: arguments, result: result, size: len(raw) + len(arguments)}
	s.views[v.token], s.order = v, append(s.order, v)
	s.forgetLocked()
	return s.site.origin + "/" + v.token + "/", nil
}

// forgetLocked forgets the oldest views beyond the bounds.
func (s *Service) forgetLocked() {
	kept := 0
	for i := len(s.order) - 1; i >= 0; i-- {
		kept += s.order[i].size
		if i < len(s.order)-1 && (kept > maxKept || len(s.order)-i > maxViews) {
			for _, old := range s.order[:i+1] {
				delete(s.views, old.token)
			}
			s.order = append([]*view(nil), s.order[i+1:]...)
			return
		}
	}
}

// Told returns what views want models to know, once: the texts by their servers, of the views that were
// offered last.
func (s *Service) Told() (texts []Words) {
	s.mu.Lock()
	all := append([]*view(nil), s.order...)
	s.mu.Unlock()
	for i := len(all) - 1; i >= 0; i-- {
		if text := all[i].told.Take(); text != "" && len(texts) < maxTold {
			texts = append(texts, Words{all[i].server, text})
		}
	}
	return texts
}

// Words are what the view of a server wants models to know.
type Words struct{ Server, Text string }

// Close ends all sessions and listens no more.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	site := s.site
	s.mu.Unlock()
	if site != nil {
		site.close()
	}
}

// find is the view with a token, nil if there is none.
func (s *Service) find(token string) *view {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.views[token]
}

// current is a tool as its server has it at present: it may have been connected again.
func (s *Service) current(tool *adapter.Tool) *adapter.Tool {
	for _, server := range s.opts.Tools.Servers() {
		for _, now := range server.Tools {
			if server.Name == tool.Server() && now.Definition().Name == tool.Definition().Name && now.ViewURI() != "" {
				return now
			}
		}
	}
	return tool
}

// beginPage counts a request that shows a view, unless the service is closed.
func (s *Service) beginPage() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.pages.Add(1)
	}
	return !s.closed
}

// enter counts a session.
func (s *Service) enter(n *session) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return errClosed
	case len(s.open) >= maxOpen:
		return errMany
	}
	s.open[n.id] = n
	return nil
}

func (s *Service) leave(n *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, n.id)
}

// session is an open page of a view, nil if there is none.
func (s *Service) session(v *view, id string) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := s.open[id]; n != nil && n.view == v {
		return n
	}
	return nil
}
