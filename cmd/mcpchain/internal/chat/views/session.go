package views

import (
	"context"
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
	"github.com/mcpchain/mcpchain/internal/caller"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/apps/sandbox"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// hostInfo names this program to views.
var hostInfo = mcp.Implementation{Name: "mcpchain chatbot", Version: "1"}

// session is an open page that shows a view. It ends with the request that opened it.
type session struct {
	service  *Service
	view     *view
	id       string
	conn     transport.Conn // to the view, by way of its page
	sender   *viewframe.Sender
	host     *host.Session
	failures int // consecutive questions to the person that failed; guarded by Service.mu

	// What the view asks of its page. Only the last request of a kind counts, so each channel has room for one.
	heights chan float64
	closes  chan struct{}

	receiving sync.WaitGroup // goroutines that receive from the view
}

// openRequest is the body of the request that opens a session.
type openRequest struct {
	Theme  string  `json:"theme"`
	Width  float64 `json:"width"`  // the frame's width in pixels
	Height float64 `json:"height"` // the frame's maximum height in pixels
}

// responseLine is a line of the response that opened a session. It has one member.
type responseLine struct {
	Opened  *openedSession  `json:"opened,omitempty"` // in the first line
	Message json.RawMessage `json:"message,omitempty"`
	Height  float64         `json:"height,omitempty"`
	Close   bool            `json:"close,omitempty"`
}

// openedSession describes a session and the view in it to the page.
type openedSession struct {
	viewframe.Shown

	Session string `json:"session"`
	Tool    string `json:"tool"`
}

// handleOpen opens a session, and streams the messages for the view to the page until the session ends.
func (s *Service) handleOpen(w http.ResponseWriter, r *http.Request, v *view) {
	id, err := s.beginPage()
	if err != nil {
		http.Error(w, "The view cannot be shown: "+errorText(err), statusOf[err])
		return
	}
	defer s.pages.Done()
	defer s.unregister(id)
	var body openRequest
	if !readJSON(w, r, &body) {
		return
	}
	n, shown, err := s.openSession(r.Context(), v, id, &body)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(sendTime)) // loading the view may have used up the deadline
	if err != nil {
		http.Error(w, "The view cannot be shown: "+errorText(err), http.StatusBadGateway)
		return
	}
	defer n.close()
	w.Header().Set("Content-Type", "application/x-ndjson")
	if writeLine(w, responseLine{Opened: shown}) == nil {
		n.stream(r.Context(), w)
	}
}

// openSession loads the view within loadTime, and opens a session, which the caller has to close.
func (s *Service) openSession(ctx context.Context, v *view, id string, page *openRequest) (*session, *openedSession, error) {
	load, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	tool := s.currentTool(v.tool)
	document, err := apps.Load(load, tool.Client(), tool.ViewURI())
	if err != nil {
		return nil, nil, err
	}
	frame, err := s.box.Frame(document.Meta, sandbox.FrameOptions{Server: v.server})
	if err != nil {
		return nil, nil, err
	}
	n := &session{
		service: s,
		view:    v,
		id:      id,
		heights: make(chan float64, 1),
		closes:  make(chan struct{}, 1),
	}
	pipe, conn := mcpclient.Pipe()
	if n.conn, err = pipe.Dial(context.WithoutCancel(ctx)); err != nil {
		return nil, nil, err
	}
	n.sender = viewframe.NewSender(n.conn)
	server := &viewServer{s.opts.Tools.ViewAccess(v.server, document.URI), n}
	if n.host, err = host.Open(ctx, conn, server, n.hostOptions(page, tool, &frame)); err != nil {
		_ = n.conn.Close()
		return nil, nil, err
	}
	s.register(n)
	viewframe.Give(n.host, v.arguments, v.result)
	return n, &openedSession{
		Shown:   viewframe.Of(hosttext.Line(v.server, maxName), document, &frame),
		Session: n.id,
		Tool:    hosttext.Line(v.tool.Definition().Name, maxName),
	}, nil
}

// hostOptions returns the options of the host side of the session.
func (n *session) hostOptions(page *openRequest, tool *adapter.Tool, frame *sandbox.Frame) *host.Options {
	return &host.Options{
		Host: hostInfo,
		Context: host.HostContext{
			ToolInfo:              &host.ToolInfo{Tool: tool.Definition()},
			Theme:                 page.Theme,
			Platform:              "desktop",
			AvailableDisplayModes: []string{"inline"},
			ContainerDimensions:   &host.Dimensions{MaxWidth: &page.Width, MaxHeight: &page.Height},
		},
		CSP:            frame.CSP,
		Permissions:    frame.Permissions,
		OpenLink:       n.onOpenLink,
		Message:        n.onMessage,
		OnModelContext: n.view.modelContext.Set,
		OnSize:         n.onSize,
		OnCloseRequest: n.onCloseRequest,
		Limits: host.Limits{
			Incoming:       maxIncoming,
			Outgoing:       maxOutgoing,
			RequestTimeout: callTime,
		},
	}
}

// onSize handles the size that the view wants. Only its height can be chosen.
func (n *session) onSize(_, height *float64) {
	if height == nil {
		return
	}
	select {
	case <-n.heights: // drop an earlier one
	default:
	}
	n.heights <- *height // does not block: there is one sender
}

// onCloseRequest handles the view's request to be closed.
func (n *session) onCloseRequest() {
	select {
	case n.closes <- struct{}{}:
	default:
	}
}

// stream sends the page the messages for the view, and what the view asks of the page, until the session or the request
// ends.
func (n *session) stream(ctx context.Context, w http.ResponseWriter) {
	messages := make(chan json.RawMessage)
	streaming, cancel := context.WithCancel(ctx)
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
			case <-streaming.Done():
				return
			}
		}
	})
	for {
		var err error
		select {
		case raw, open := <-messages:
			if !open {
				return
			}
			err = writeLine(w, responseLine{Message: raw})
		case height := <-n.heights:
			err = writeLine(w, responseLine{Height: height})
		case <-n.closes:
			err = writeLine(w, responseLine{Close: true})
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// close ends the session without asking the view: there is no page that shows it.
func (n *session) close() {
	n.service.unregister(n.id)
	unasked, cancel := context.WithCancel(context.Background())
	cancel()
	_ = n.host.Close(unasked, "the page is gone")
	_ = n.conn.Close()
	n.receiving.Wait()
	<-n.host.Done()
}

// ask asks the person a question of the view, unless the last maxRefused questions have failed: the person has refused
// them, or they ended before an answer. An invalid question does not count.
func (n *session) ask(ctx context.Context, question func(context.Context) error) error {
	s := n.service
	s.mu.Lock()
	blocked := n.failures >= maxRefused
	s.mu.Unlock()
	if blocked {
		return fmt.Errorf("%w: %d questions were refused or not answered: the person is not asked again until the page is reloaded",
			apps.ErrInvalid, maxRefused)
	}
	ctx, done := s.opts.Interruptible(ctx)
	defer done()
	err := question(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		n.failures = 0
	case !errors.Is(err, apps.ErrInvalid):
		n.failures++
	}
	return err
}

// onOpenLink handles a view's request to open a page.
func (n *session) onOpenLink(ctx context.Context, url string) error {
	return n.ask(ctx, func(ctx context.Context) error {
		return n.service.opts.Person.OpenLink(ctx, n.view.server, url)
	})
}

// onMessage handles a view's message to the model.
func (n *session) onMessage(ctx context.Context, content []mcp.Content) error {
	text, err := viewframe.Message(content)
	if err != nil {
		return err
	}
	return n.ask(ctx, func(ctx context.Context) error {
		return n.service.opts.Person.TakeMessage(ctx, n.view.server, text)
	})
}

// Call is a tool call of a view. Result or Err is set when it has ended.
type Call struct {
	Server, Tool string
	Arguments    json.RawMessage
	Result       *mcp.CallToolResult
	Err          error
}

// viewServer is a view's access to its server. The person approves the view's calls like those of the model, and answers
// what the server asks during them.
type viewServer struct {
	host.Server
	session *session
}

// CallTool implements [host.Server].
func (a *viewServer) CallTool(
	ctx context.Context, name string, arguments json.RawMessage, opts ...mcpclient.CallOption,
) (*mcp.CallToolResult, error) {
	o := &a.session.service.opts
	ctx, done := o.Interruptible(ctx)
	defer done()
	c := &Call{Server: a.session.view.server, Tool: name, Arguments: arguments}
	asker := &caller.Caller{
		Approve: func(approval.Func) approval.Func { return o.Person.Approve },
		Elicit: func(ctx context.Context, p *mcp.ElicitParams, _ mcp.ElicitationHandler) (*mcp.ElicitResult, error) {
			return o.Person.Elicit(ctx, p)
		},
	}
	o.OnCallStart(c)
	c.Result, c.Err = a.Server.CallTool(caller.With(ctx, asker), name, arguments, opts...)
	o.OnCallEnd(c)
	return c.Result, c.Err
}
