package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Protocol is the revision of the extension that sessions speak.
const Protocol = "2026-01-26"

// Session is the session with one view. Its methods may be called concurrently.
type Session struct {
	conn   mcpclient.Conn
	server Server
	opts   Options

	life   context.Context // ends with the session
	end    context.CancelCauseFunc
	ready  chan struct{}  // closed when the view is ready
	ours   sync.WaitGroup // the writer, and what closes the connection
	all    sync.WaitGroup // what runs code of the host, too
	done   chan struct{}  // closed when all have returned
	wake   chan struct{}  // there may be something to send
	called chan struct{}  // there may be something to call
	room   chan struct{}  // something was sent

	mu sync.Mutex
	outbox
	greeted                        bool // ui/initialize was answered
	begun                          bool // ui/notifications/initialized has come
	closing                        bool // the view is asked to end: it is told nothing more
	app                            App
	context                        Context
	told                           map[string]json.RawMessage // the members of context that the view knows
	model                          *ModelContext
	serving                        map[string]context.CancelFunc // requests of the view under way, by id
	busy                           map[string]bool               // methods of single under way
	callbacks                      []callback
	requests, notifications, lines rate
	asked                          map[int64]chan jsonrpc.Response // requests to the view under way
	lastID                         int64
}

// App is what a view says of itself.
type App struct {
	Name, Version    string        // cut to 1 KiB
	DisplayModes     []DisplayMode // that it can be shown in; none: it does not say
	HasTools         bool          // see [Session.Tools]
	ToolsListChanged bool
}

// ErrClosed is how a session ends by Close.
var ErrClosed = errors.New("host: the session with the view is closed")

// Open begins a session over a connection to a view, which the session closes, also if there
// is an error. It returns at once; [Session.Ready] tells when the view has begun.
//
// The values of ctx reach each function of the host and each call of the view: who the user is, what
// approves the user's calls, and the trace. The session outlives ctx.
func Open(ctx context.Context, conn mcpclient.Conn, server Server, opts *Options) (_ *Session, err error) {
	if conn == nil || server == nil {
		return nil, errors.New("host: Open needs a connection and a server")
	}
	defer func() {
		if err != nil {
			_ = conn.Close()
		}
	}()
	s := &Session{
		conn: conn, server: server, opts: opts.withDefaults(),
		ready: make(chan struct{}), done: make(chan struct{}), wake: make(chan struct{}, 1), room: make(chan struct{}, 1), called: make(chan struct{}, 1),
		outbox:  outbox{changed: map[string]json.RawMessage{}},
		serving: map[string]context.CancelFunc{}, busy: map[string]bool{}, asked: map[int64]chan jsonrpc.Response{},
	}
	s.context = s.opts.Context
	if s.told, err = s.context.encode(); err != nil {
		return nil, err
	}
	s.opts.Logger.Info("session with a view", "csp", s.opts.Sandbox.CSP, "permissions", s.opts.Sandbox.Permissions)
	s.life, s.end = context.WithCancelCause(context.WithoutCancel(ctx))
	s.ours.Go(func() { <-s.life.Done(); _ = conn.Close() })
	late := time.AfterFunc(s.opts.Limits.Initialize, s.checkBegun)
	s.ours.Go(s.write)
	s.all.Go(s.read)
	s.all.Go(s.call)
	go func() {
		s.all.Wait()
		s.ours.Wait()
		late.Stop()
		close(s.done)
	}()
	return s, nil
}

// checkBegun ends a session whose view has not begun in time.
func (s *Session) checkBegun() {
	s.mu.Lock()
	begun := s.begun
	s.mu.Unlock()
	if !begun {
		s.end(fmt.Errorf("the view has not begun within %v (Limits.Initialize)", s.opts.Limits.Initialize))
	}
}

// Ready is closed when the view has begun: it has sent ui/notifications/initialized.
func (s *Session) Ready() <-chan struct{} { return s.ready }

// Ended is closed when the session has ended: see [Session.Err].
func (s *Session) Ended() <-chan struct{} { return s.life.Done() }

// Done is closed when the session has ended, and each function of the host that it called has
// returned.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err says how the session ended, nil while it lasts. It is [ErrClosed] after Close, and
// [io.EOF] if the connection has ended.
func (s *Session) Err() error { return context.Cause(s.life) }

// App is what the view says of itself, empty before it has begun.
func (s *Session) App() App {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.app
}

// Close tears the view down: a view that has begun is asked to end
// (ui/resource-teardown), for at most Limits.Teardown, or until ctx ends. Then requests of
// the view end, and so does the connection. It does not wait for functions of the host,
// see [Session.Done]. It may be called more than once: each call waits for the answer, or for its own ctx.
// The error says that the view did not answer; the session has ended all the same.
//
// What the host told the view before comes before the request to end. What it tells the view later is dropped.
func (s *Session) Close(ctx context.Context, reason string) error {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Limits.Teardown)
	defer cancel()
	s.mu.Lock()
	ask, wait := s.begun && !s.closing, s.closing
	if ask {
		for told := s.takeLocked(); told != nil; told = s.takeLocked() {
			s.sendLocked(told)
		}
		s.closing = true
	}
	s.mu.Unlock()
	var err error
	switch {
	case s.Err() != nil:
	case ask:
		_, err = s.ask(ctx, "ui/resource-teardown", map[string]string{"reason": reason})
		if _, refused := errors.AsType[*mcp.RPCError](err); refused || errors.Is(err, ErrClosed) || errors.Is(err, io.EOF) {
			err = nil
		}
	case wait:
		select {
		case <-s.life.Done():
		case <-ctx.Done():
		}
	}
	s.end(ErrClosed)
	s.ours.Wait()
	if err != nil {
		return fmt.Errorf("tear down the view: %w", err)
	}
	return nil
}

// ask sends a request to the view and waits for its answer.
func (s *Session) ask(ctx context.Context, method string, params any) (json.RawMessage, error) {
	encoded, err := jsonrpc.EncodeParams(params)
	if err != nil {
		return nil, err
	}
	answer := make(chan jsonrpc.Response, 1)
	s.mu.Lock()
	if !s.begun {
		s.mu.Unlock()
		return nil, errors.New("the view has not begun")
	}
	s.lastID++
	id := s.lastID
	s.asked[id] = answer
	message := jsonrpc.AppendRequest(nil, id, method)
	if len(encoded) > 0 {
		message = append(append(message, `,"params":`...), encoded...)
	}
	s.sendLocked(append(message, '}'))
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.asked, id)
		s.mu.Unlock()
	}()
	select {
	case r := <-answer:
		return resultOf(r)
	case <-s.life.Done():
		return nil, s.Err()
	case <-ctx.Done():
		return nil, fmt.Errorf("%s: the view does not answer: %w", method, ctx.Err())
	}
}

// resultOf is the result in a response, or its error.
func resultOf(r jsonrpc.Response) (json.RawMessage, error) {
	if r.Error == nil {
		return r.Result, nil
	}
	failed := &mcp.RPCError{}
	if err := json.Unmarshal(r.Error, failed); err != nil {
		return nil, fmt.Errorf("%w: an error that is none", mcp.ErrInvalidResult)
	}
	return nil, failed
}
