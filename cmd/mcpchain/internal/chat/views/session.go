package views

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/viewframe"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/apps/sandbox"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

var hostInfo = mcp.Implementation{Name: "mcpchain chatbot", Version: "1"}

// session is an open page that shows a view. It ends with the request that opened it.
type session struct {
	service *Service
	view    *view
	id      string
	conn    mcpclient.Conn // to the view, by way of its page
	host    *host.Session
	wants   wants
	refused int // questions in succession; guarded by Service.mu

	receiving sync.WaitGroup // goroutines that receive from the view
}

// wants is what the view asks of the page. Only the last request of a kind counts, so the channels are buffered.
type wants struct {
	height chan float64
	close  chan struct{}
}

// request is the body of the request that opens a session.
type request struct {
	Theme  string  `json:"theme"`
	Width  float64 `json:"width"`  // the frame's width in pixels
	Height float64 `json:"height"` // the most that the frame may have
}

// line is a line of the response to the page. It has one member.
type line struct {
	Opened  *opened         `json:"opened,omitempty"` // the first line
	Message json.RawMessage `json:"message,omitempty"`
	Height  float64         `json:"height,omitempty"`
	Close   bool            `json:"close,omitempty"`
}

// opened describes how the page shows the view.
type opened struct {
	viewframe.Shown

	Session string `json:"session"`
	Tool    string `json:"tool"`
}

// open begins a session, and sends the page what is for the view until one of them ends the session. A service that is
// closed sends an empty response.
func (t *site) open(w http.ResponseWriter, r *http.Request, v *view) {
	if !t.service.beginPage() {
		return
	}
	defer t.service.pages.Done()
	var body request
	if !readJSON(w, r, &body) {
		return
	}
	n, shown, err := t.begin(r.Context(), v, &body)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(sendTime)) // loading a view may take as long
	if err != nil {
		status := http.StatusBadGateway
		if errors.Is(err, errMany) {
			status = http.StatusTooManyRequests
		}
		http.Error(w, "The view cannot be shown: "+reason(err), status)
		return
	}
	defer n.end()
	w.Header().Set("Content-Type", "application/x-ndjson")
	if writeLine(w, line{Opened: shown}) == nil {
		n.tell(r.Context(), w)
	}
}

// begin loads the view within loadTime, and opens the session, which the caller has to end. The
// error matches errMany if maxOpen pages are open.
func (t *site) begin(ctx context.Context, v *view, page *request) (*session, *opened, error) {
	load, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	tool := t.service.current(v.tool)
	document, err := apps.Load(load, tool.Client(), tool.ViewURI())
	if err != nil {
		return nil, nil, err
	}
	frame, err := t.box.Frame(document.Meta, sandbox.Place{Server: v.server})
	if err != nil {
		return nil, nil, err
	}
	n := &session{service: t.service, view: v, id: rand.Text(), wants: wants{make(chan float64, 1), make(chan struct{}, 1)}}
	transport, conn := mcpclient.Pipe()
	if n.conn, err = transport.Dial(context.WithoutCancel(ctx)); err != nil {
		return nil, nil, err
	}
	server := &access{session: n, direct: t.service.opts.Tools.ViewAccess(v.server, document.URI)}
	if n.host, err = host.Open(ctx, conn, server, n.options(page, tool, &frame)); err != nil {
		_ = n.conn.Close()
		return nil, nil, err
	}
	if err := t.service.enter(n); err != nil {
		n.end()
		return nil, nil, err
	}
	viewframe.Give(n.host, v.arguments, v.result)
	return n, &opened{viewframe.Of(hosttext.Line(v.server, 100), document, &frame), n.id, hosttext.Line(v.tool.Definition().Name, 100)}, nil
}

// options returns the options of the host side of the session.
func (n *session) options(page *request, tool *adapter.Tool, frame *sandbox.Frame) *host.Options {
	return &host.Options{
		Host: hostInfo,
		Context: host.Context{
			ToolInfo: &host.ToolInfo{Tool: tool.Definition()}, Theme: page.Theme, Platform: "desktop",
			AvailableDisplayModes: []host.DisplayMode{host.DisplayInline},
			ContainerDimensions:   &host.Dimensions{MaxWidth: &page.Width, MaxHeight: &page.Height},
		},
		Sandbox:  host.Grants{CSP: frame.CSP, Permissions: frame.Permissions},
		OpenLink: n.openLink, Message: n.message, OnModelContext: n.view.told.Set,
		OnSize: n.resized, OnCloseRequest: n.closes,
		Limits: host.Limits{
			Incoming: maxIncoming,
			Outgoing: maxOutgoing,
			Request:  callTime,
			Send:     sendTime,
			Teardown: closeTime,
		},
	}
}

// resized handles the size that the view wants. Only its height can be chosen.
func (n *session) resized(_, height *float64) {
	if height == nil {
		return
	}
	select {
	case <-n.wants.height: // drop an earlier one
	default:
	}
	n.wants.height <- *height // does not block: there is one sender
}

// closes handles the view's wish to be closed.
func (n *session) closes() {
	select {
	case n.wants.close <- struct{}{}:
	default:
	}
}

// tell sends the page what is for the view, until the session or the request ends.
func (n *session) tell(ctx context.Context, w http.ResponseWriter) {
	messages := make(chan json.RawMessage)
	gone, cancel := context.WithCancel(ctx)
	defer cancel()
	n.receiving.Go(func() {
		defer close(messages)
		for {
			raw, err := n.conn.Recv()
			if err != nil {
				return
			}
			select {
			case messages <- raw:
			case <-gone.Done():
				return
			}
		}
	})
	for err := error(nil); err == nil; {
		select {
		case raw, open := <-messages:
			if !open {
				return
			}
			err = writeLine(w, line{Message: raw})
		case height := <-n.wants.height:
			err = writeLine(w, line{Height: height})
		case <-n.wants.close:
			err = writeLine(w, line{Close: true})
		case <-ctx.Done():
			return
		}
	}
}

// end ends the session without asking the view: there is no page that shows it.
func (n *session) end() {
	n.service.leave(n)
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_ = n.host.Close(ended, "the page is gone")
	_ = n.conn.Close()
	n.receiving.Wait()
	<-n.host.Done()
}

// access gives a view access to its server. The person is asked about the view's calls as about the
// model's, and answers what the server asks during them.
type access struct {
	session *session
	direct  host.Server
}

// Tools implements [host.Server].
func (a *access) Tools() []*mcp.Tool { return a.direct.Tools() }

// CallTool implements [host.Server].
func (a *access) CallTool(ctx context.Context, name string, arguments json.RawMessage, opts ...mcpclient.CallOption) (*mcp.CallToolResult, error) {
	o := &a.session.service.opts
	ctx, done := o.Aside(ctx)
	defer done()
	c := &Call{Server: a.session.view.server, Tool: name, Arguments: arguments}
	began := time.Now()
	caller := &adapter.Caller{
		Approve: func(approval.Func) approval.Func {
			return func(ctx context.Context, r *approval.Request) (approval.Decision, error) {
				d, err := o.Person.Approve(ctx, r)
				began = time.Now() // the time of the question does not count
				return d, err
			}
		},
		Elicit: func(ctx context.Context, params *mcp.ElicitParams, _ mcp.ElicitationHandler) (*mcp.ElicitResult, error) {
			return o.Person.Elicit(ctx, params)
		},
	}
	o.Began(c)
	c.Result, c.Err = a.direct.CallTool(adapter.WithCaller(ctx, caller), name, arguments, opts...)
	c.Took = time.Since(began)
	o.Ended(c)
	return c.Result, c.Err
}

// ReadResource implements [host.Server].
func (a *access) ReadResource(ctx context.Context, uri string, opts ...mcpclient.CallOption) (*mcp.ReadResourceResult, error) {
	return a.direct.ReadResource(ctx, uri, opts...)
}

// ask asks the person a question of the view, unless the person has refused the last maxRefused
// ones. A question that is invalid counts neither as refused nor as allowed.
func (n *session) ask(ctx context.Context, question func(context.Context) error) error {
	s := n.service
	s.mu.Lock()
	blocked := n.refused >= maxRefused
	s.mu.Unlock()
	if blocked {
		return fmt.Errorf("%w: the user has refused %d times, and is not asked again before the page is loaded again", apps.ErrInvalid, maxRefused)
	}
	ctx, done := s.opts.Aside(ctx)
	defer done()
	err := question(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		n.refused = 0
	case !errors.Is(err, apps.ErrInvalid):
		n.refused++
	}
	return err
}

// openLink handles a view's request to open a page.
func (n *session) openLink(ctx context.Context, url string) error {
	return n.ask(ctx, func(ctx context.Context) error { return n.service.opts.Person.OpenLink(ctx, n.view.server, url) })
}

// message handles a view's message to the model.
func (n *session) message(ctx context.Context, content []mcp.Content) error {
	text, err := viewframe.Message(content)
	if err != nil {
		return err
	}
	return n.ask(ctx, func(ctx context.Context) error { return n.service.opts.Person.TakeMessage(ctx, n.view.server, text) })
}
