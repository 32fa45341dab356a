// Package viewing keeps the sessions with the views that windows show: views of tools' results, in a
// sandbox of another origin (MCP Apps).
//
// A window opens a view for a call of a conversation, passes on the messages of the frame, and gets messages for it. A
// view's calls go to its own server only, as calls of the user: a call that needs an approval is a run of package talk.
// A session survives a lost stream for 30 s, because streams end now and then. A page that is loaded again opens the
// view again, with the same input and result.
package viewing

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/hosting"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/viewframe"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/web/talk"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/apps/host"
	"github.com/mcpchain/mcpchain/mcpclient/apps/sandbox"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// Bounds of sessions.
const (
	maxOfWindow = 8                // views
	maxOfUser   = 96               // views; a user has 12 windows
	maxOfAll    = 500              // views
	maxIncoming = 1 << 20          // bytes of a view's message, as of a request of the page
	maxOutgoing = 4 << 20          // bytes of a message for a view
	maxWaiting  = 64               // messages that a window has not acknowledged; 2*maxOutgoing bounds their bytes
	awayFor     = 30 * time.Second // how long a window may be without a stream
	requestTime = 24 * time.Hour   // for a call that waits for a person
	loadTime    = 30 * time.Second // to load a view from its server
)

// Options configure a Service. All except Logger are required.
type Options struct {
	Talk    *talk.Service
	Tools   *adapter.Toolset
	Sandbox *sandbox.Sandbox
	Logger  *slog.Logger // default: [slog.Default]
}

// Service has the sessions of all users.
type Service struct {
	opts Options
	work sync.WaitGroup

	mu       sync.Mutex // guards the following fields
	closed   bool
	windows  map[windowKey]*window
	views    map[string]*view           // by id
	contexts map[string][]*modelContext // by user, the latest last
}

// hostInfo names this program to views.
var hostInfo = mcp.Implementation{Name: "mcpchain web", Version: "1"}

// inlineHeight is the maximum height of a view within the page, in pixels.
var inlineHeight = 600.0

// windowKey names a window. Its id is chosen by the page.
type windowKey struct{ user, id string }

// New returns a service. The caller closes it.
func New(o Options) *Service {
	o.Logger = cmp.Or(o.Logger, slog.Default())
	return &Service{opts: o, windows: map[windowKey]*window{}, views: map[string]*view{}, contexts: map[string][]*modelContext{}}
}

// Close ends all sessions, and waits for them.
func (s *Service) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.closeAll("the program ends", func(*view) bool { return true })
	s.work.Wait()
}

// Request asks for a view to be shown.
type Request struct {
	Window       string `json:"window"`
	Host         string `json:"host"` // origin of the page
	Conversation string `json:"conversation"`
	Turn         int    `json:"turn"`
	Call         string `json:"call"`
	Theme        string `json:"theme"`
	Width        int    `json:"width"` // the width of the place for the frame, in pixels
}

// Opened is what the page needs to show a view.
type Opened struct {
	viewframe.Shown

	Session string `json:"session"`
	Life    string `json:"life"` // identifies the queue for the window
}

// view is a session with a view.
type view struct {
	id     string
	window *window
	call   talk.ViewCall  // without a tool
	conn   transport.Conn // to the host's side of the session
	sender *viewframe.Sender
	host   *host.Session // guarded by Service.mu until the view has begun
	ended  bool          // ended before it has begun; guarded by Service.mu

	mu        sync.Mutex           // guards the following field
	questions map[string]chan bool // open questions to the user, by id; each has room for the answer
}

func (v *view) user() string { return v.window.key.user }

// The errors of requests.
var (
	ErrNoView  = errors.New("the tool has no view")
	ErrTooMany = errors.New("too many views are open")
)

// Open begins a session with the view of a call. The view begins when the page shows the frame. The
// error matches ErrNoView, ErrTooMany or talk.ErrGone, or says why the view cannot be loaded.
func (s *Service) Open(ctx context.Context, user string, r Request) (*Opened, error) {
	shown, err := s.opts.Talk.ShownCall(ctx, user, r.Conversation, r.Turn, r.Call)
	if err != nil {
		return nil, err
	}
	tool, err := s.opts.Tools.Catalog(profile.Plain).LookupStored(shown.Server, shown.Tool, "")
	if err != nil || tool.ViewURI() == "" {
		return nil, ErrNoView
	}
	ctx, cancel := context.WithTimeout(ctx, loadTime)
	defer cancel()
	document, err := apps.Load(hosting.WithUser(ctx, user), tool.Client(), tool.ViewURI())
	if err != nil {
		return nil, err
	}
	frame, err := s.opts.Sandbox.Frame(document.Meta, sandbox.FrameOptions{Host: r.Host, User: user, Server: shown.Server})
	if err != nil {
		return nil, err
	}
	v := &view{
		id: rand.Text(), questions: map[string]chan bool{},
		call: talk.ViewCall{
			Conversation: r.Conversation,
			Turn:         r.Turn,
			Call:         r.Call,
			URI:          document.URI,
			Server:       shown.Server,
		},
	}
	if err := s.begin(ctx, v, &opening{r, user, shown, tool, &frame}); err != nil {
		return nil, err
	}
	return &Opened{Shown: viewframe.Of(shown.Server, document, &frame), Session: v.id, Life: v.window.queue.life}, nil
}

// opening is what a session begins with.
type opening struct {
	Request
	user  string
	shown *talk.ShownCall
	tool  *adapter.Tool
	frame *sandbox.Frame
}

// begin opens the session, and gives the view its input and its result. The error is ErrTooMany at a bound, or
// talk.ErrGone if the view was ended meanwhile.
func (s *Service) begin(ctx context.Context, v *view, o *opening) (err error) {
	transport, conn := mcpclient.Pipe()
	if v.conn, err = transport.Dial(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	v.sender = viewframe.NewSender(v.conn)
	defer func() {
		if err != nil {
			_ = v.conn.Close()
		}
	}()
	if err := s.addView(windowKey{o.user, o.Window}, v); err != nil {
		return err
	}
	server := &access{s.opts.Tools.ViewAccess(o.shown.Server, v.call.URI), s, v}
	session, err := host.Open(hosting.WithUser(ctx, o.user), conn, server, server.hostOptions(o))
	if err != nil {
		s.removeView(v)
		return err
	}
	s.mu.Lock()
	v.host = session
	ended := v.ended
	if !ended {
		s.work.Go(func() { s.forward(v) })
	}
	s.mu.Unlock()
	if ended {
		_ = session.Close(unasked, "the page is gone")
		s.removeView(v)
		return talk.ErrGone
	}
	viewframe.Give(session, o.shown.Arguments, o.shown.Result)
	return nil
}

// hostOptions returns the options of a session: what the view may do, and what it gets to know about the page.
func (a *access) hostOptions(o *opening) *host.Options {
	width, v := float64(o.Width), a.view
	return &host.Options{
		Host: hostInfo,
		Context: host.HostContext{
			ToolInfo:              &host.ToolInfo{Tool: o.tool.Definition()},
			Theme:                 o.Theme,
			Platform:              "web",
			AvailableDisplayModes: []string{"inline", "fullscreen"},
			ContainerDimensions:   &host.Dimensions{MaxWidth: &width, MaxHeight: &inlineHeight},
		},
		CSP:            o.frame.CSP,
		Permissions:    o.frame.Permissions,
		OpenLink:       v.onOpenLink,
		Message:        a.onMessage,
		OnModelContext: a.setContext,
		DisplayMode:    v.onDisplayMode,
		OnSize:         v.onSize,
		OnCloseRequest: v.onCloseRequest,
		Limits: host.Limits{
			Incoming:       maxIncoming,
			Outgoing:       maxOutgoing,
			RequestTimeout: requestTime,
		},
		Logger: a.service.opts.Logger.With("server", v.call.Server, "view", v.call.URI),
	}
}

// forward passes messages for a view to its window until the session ends. Then it tells the window.
func (s *Service) forward(v *view) {
	for {
		raw, err := v.conn.Recv()
		if err != nil {
			break
		}
		if !v.put("view", struct {
			Session string          `json:"session"`
			Message json.RawMessage `json:"message"`
		}{v.id, raw}) {
			break
		}
	}
	_ = v.conn.Close()
	<-v.host.Done()
	s.removeView(v)
	v.put("view-closed", map[string]string{"session": v.id})
}

// Say passes messages of a frame to the session, as [viewframe.Sender.Send] does. The error is talk.ErrGone if the
// session has ended.
func (s *Service) Say(ctx context.Context, user, id string, first int, messages []json.RawMessage) error {
	v, err := s.viewOf(user, id)
	if err != nil {
		return err
	}
	err = v.sender.Send(ctx, first, messages)
	if err != nil && ctx.Err() == nil {
		return talk.ErrGone
	}
	return err
}

// End ends a view: the page then removes its frame. The view is asked first, and has 2 s to answer, unless its page is
// gone: then its calls must not outlast it, as a page that is loaded again shows the view again, which repeats them. The
// error is talk.ErrGone if there is no such view.
func (s *Service) End(ctx context.Context, user, id string, pageIsGone bool) error {
	v, err := s.viewOf(user, id)
	if err != nil {
		return err
	}
	if pageIsGone {
		ctx = unasked
	}
	_ = v.host.Close(ctx, "the page does not show it any more") // the session has ended even after an error
	return nil
}

// unasked is a context that has ended: a session that is closed with it does not ask its view.
var unasked = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// EndConversation ends the views of a deleted conversation, and forgets what they want models to know.
func (s *Service) EndConversation(user, conversation string) {
	s.closeAll("the conversation is deleted", func(v *view) bool {
		return v.user() == user && v.call.Conversation == conversation
	})
	s.forgetContexts(user, func(t *modelContext) bool { return t.call.conversation == conversation })
}

// EndSession ends the views of a user in the windows of one session of the user, which has ended. The windows of other
// sessions keep theirs.
func (s *Service) EndSession(user, session string) {
	var ended []shownCall
	s.closeAll("the user has signed out", func(v *view) bool {
		ends := v.user() == user && v.window.session == session
		if ends {
			ended = append(ended, v.shownCall())
		}
		return ends
	})
	s.forgetContexts(user, func(t *modelContext) bool { return slices.Contains(ended, t.call) })
}

// closeAll ends views. A view whose window has a stream is asked to end first. which is called with the mutex held.
func (s *Service) closeAll(reason string, which func(*view) bool) {
	s.mu.Lock()
	all := map[*view]bool{} // whether its window has a stream
	for _, v := range s.views {
		switch {
		case !which(v):
		case v.host == nil:
			v.ended = true
		default:
			all[v] = v.window.streams > 0
		}
	}
	s.mu.Unlock()
	var wg sync.WaitGroup
	for v, read := range all {
		ctx := unasked
		if read {
			ctx = context.Background() // the session bounds it
		}
		wg.Go(func() { _ = v.host.Close(ctx, reason) })
	}
	wg.Wait()
}

// viewOf returns a view of a user by id. The error is talk.ErrGone if there is none, or it has not begun.
func (s *Service) viewOf(user, id string) (*view, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.views[id]
	if v == nil || v.user() != user || v.host == nil {
		return nil, talk.ErrGone
	}
	return v, nil
}
