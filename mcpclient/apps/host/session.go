package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// protocol is the revision of the extension that sessions speak.
const protocol = "2026-01-26"

// Session is the session with one view. Its methods may be called concurrently.
type Session struct {
	opts *Options

	life  context.Context // ends with the session
	end   context.CancelCauseFunc
	ready chan struct{}  // closed when the view is ready
	ours  sync.WaitGroup // the writer, and the goroutine that closes the connection
	all   sync.WaitGroup // the goroutines that run code of the host
	done  chan struct{}  // closed when all have returned

	view  *view
	out   *outbox
	asked jsonrpc.Calls // the only request of the session: that the view end
}

var errClosed = errors.New("host: the session with the view is closed")

// Open begins a session over a connection to a view. Implement [transport.Conn] over what connects the program with the
// page that shows the view, such as a web socket (docs/apps.md of the repository). conn belongs to the session; Open
// closes it if it fails. Open returns immediately; [Session.Ready] reports when the view is ready.
//
// Functions of the host and calls of the view get the values of ctx, for example the user,
// their approvals and the trace. The session outlives ctx.
func Open(ctx context.Context, conn transport.Conn, server Server, opts *Options) (*Session, error) {
	if conn == nil {
		return nil, errors.New("host: Open needs a connection")
	}
	s, err := open(ctx, conn, server, opts)
	if err != nil {
		_ = conn.Close()
	}
	return s, err
}

// open is [Open], and leaves the connection open if it fails.
func open(ctx context.Context, conn transport.Conn, server Server, opts *Options) (*Session, error) {
	if server == nil {
		return nil, errors.New("host: Open needs a server")
	}
	o := opts.withDefaults()
	if err := o.Limits.check(); err != nil {
		return nil, err
	}
	out := newOutbox(o.Limits.Outgoing)
	v, err := newView(o.Context, out)
	if err != nil {
		return nil, err
	}
	o.Logger.Info("session with a view", "csp", o.CSP, "permissions", o.Permissions)
	s := &Session{opts: o, ready: make(chan struct{}), done: make(chan struct{}), view: v, out: out}
	s.life, s.end = context.WithCancelCause(context.WithoutCancel(ctx))
	calls := &callbacks{logger: o.Logger, called: make(chan struct{}, 1)}
	log := &eventLog{logger: o.Logger}
	requests := &requests{
		life: s.life, server: server, opts: o, log: log, view: v, out: out, calls: calls,
		serving: map[string]context.CancelFunc{}, busy: map[string]bool{},
	}
	in := &inbox{
		conn: conn, opts: o, log: log, view: v, calls: calls,
		requests: requests, asked: &s.asked, ready: s.ready,
	}
	s.run(conn, in, calls)
	return s, nil
}

// run begins to send, to receive, and to call the functions of the host.
func (s *Session) run(conn transport.Conn, in *inbox, calls *callbacks) {
	s.ours.Go(func() {
		<-s.life.Done()
		s.asked.Close(s.Err())
		_ = conn.Close()
	})
	late := time.AfterFunc(initializeTime, s.checkReady)
	s.ours.Go(func() {
		if err := s.out.write(s.life, conn); err != nil {
			s.end(fmt.Errorf("send to the view: %w", err))
		}
	})
	s.all.Go(func() {
		for s.out.awaitRoom(s.life) {
			if err := in.receive(); err != nil {
				s.end(err)
				break
			}
		}
		in.requests.running.Wait()
	})
	s.all.Go(func() { calls.run(s.life) })
	go func() {
		s.all.Wait()
		s.ours.Wait()
		late.Stop()
		close(s.done)
	}()
}

// checkReady ends a session whose view is not ready in time.
func (s *Session) checkReady() {
	if _, ready := s.view.phase(); !ready {
		s.end(fmt.Errorf("view was not ready within %v", initializeTime))
	}
}

// Ready returns a channel that is closed when the view is ready: it has sent ui/notifications/initialized.
func (s *Session) Ready() <-chan struct{} { return s.ready }

// Ended returns a channel that is closed when the session has ended: see [Session.Err].
func (s *Session) Ended() <-chan struct{} { return s.life.Done() }

// Done returns a channel that is closed when the session has ended and every function of the
// host that it called has returned.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err returns why the session ended, nil while it lasts: [io.EOF] if the connection has ended.
func (s *Session) Err() error { return context.Cause(s.life) }

// SetContext updates the context of the host. A view gets the members that have changed, as soon as
// it is ready. Members that are not set keep their values, and so cannot be removed. It is an error
// if the view does not support the display mode.
func (s *Session) SetContext(c HostContext) error { return s.view.setContext(c) }

// Close ends the session. A view that is ready is asked to end (ui/resource-teardown), for at most 2 s or until ctx
// ends, and not if ctx has ended; then its requests and the connection are ended. Close does not wait for functions of
// the host; [Session.Done] does. It may be called more than once: each call waits for the answer, or for its own ctx.
// The error means that the view did not answer or was not asked; the session has ended in any case.
//
// Earlier messages to the view precede the request to end; later ones are dropped.
func (s *Session) Close(ctx context.Context, reason string) error {
	ctx, cancel := context.WithTimeout(ctx, teardownTime)
	defer cancel()
	var err error
	_, ready := s.view.phase()
	switch first := ready && s.out.finish(); {
	case s.Err() != nil:
	case first:
		if err = s.teardown(ctx, reason); errors.Is(err, errClosed) || errors.Is(err, io.EOF) {
			err = nil
		}
	case ready: // another call of Close has asked
		select {
		case <-s.life.Done():
		case <-ctx.Done():
		}
	}
	s.end(errClosed)
	s.ours.Wait()
	if err != nil {
		return fmt.Errorf("tear down the view: %w", err)
	}
	return nil
}

// teardown asks the view to end, and waits for its answer, which may be an error, until ctx or the
// session ends. It is called once.
func (s *Session) teardown(ctx context.Context, reason string) error {
	if ctx.Err() != nil {
		return fmt.Errorf("view is not asked: %w", ctx.Err())
	}
	params, err := jsonrpc.Marshal(map[string]string{"reason": reason})
	if err != nil {
		return err
	}
	call := new(jsonrpc.Call)
	if err := s.asked.Start(call, 0); err != nil {
		return err
	}
	defer s.asked.Forget(call)
	message := append(jsonrpc.AppendRequest(nil, call.ID, "ui/resource-teardown"), `,"params":`...)
	s.out.send(append(append(message, params...), '}'))
	if _, err = call.Wait(ctx, nil); err != nil && ctx.Err() != nil {
		return fmt.Errorf("view does not answer: %w", err)
	}
	return err
}
