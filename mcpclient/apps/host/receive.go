package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/guard"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// codeRefused is the code of what the host does not do for a view.
const codeRefused = -32000

// Bounds of what a view sends, in bytes.
const (
	maxID           = 1 << 10 // of a request, and of its progress token
	maxNotification = 64 << 10
	maxError        = 64 << 10 // that a view is told
)

func refuse(code int, format string, args ...any) *mcp.RPCError {
	return &mcp.RPCError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// read takes the view's messages one after the other.
func (s *Session) read() {
	for s.awaitRoom() {
		raw, err := s.conn.Recv()
		if err != nil {
			s.end(err)
			return
		}
		s.receive(raw)
	}
}

func (s *Session) receive(raw []byte) {
	m, err := jsonrpc.Parse(raw)
	if err != nil {
		s.warn("a message that cannot be read", "error", err)
		return
	}
	large := len(raw) > s.opts.Limits.Incoming
	switch {
	case m.IsRequest() && len(m.ID) > maxID:
		s.warn("a request with an id that is too long", "method", excerpt.Cut(m.Method), "bytes", len(m.ID))
	case m.IsRequest() && large:
		s.refused(m, refuse(codeRefused, "a message over %d bytes", s.opts.Limits.Incoming))
	case m.IsRequest():
		s.request(m)
	case m.IsResponse():
		s.response(m, large)
	case len(raw) > maxNotification:
		s.warn("a notification that is too large", "method", excerpt.Cut(m.Method), "bytes", len(raw))
	default:
		s.notification(m)
	}
}

// response brings the view's answer to the request that it is for.
func (s *Session) response(m jsonrpc.Message, large bool) {
	id, _, ok := m.IntID()
	s.mu.Lock()
	answer := s.asked[id]
	delete(s.asked, id)
	s.mu.Unlock()
	r := m.Response()
	if large {
		r = jsonrpc.Response{Error: json.RawMessage(`{"code":-32000,"message":"the answer is too large"}`)}
	}
	if !ok || answer == nil {
		s.warn("an answer to no request")
		return
	}
	answer <- r
}

// request admits a request of the view, and serves it.
func (s *Session) request(m jsonrpc.Message) {
	params := m.Params
	if params == nil {
		params = json.RawMessage("{}")
	}
	method := methods[m.Method]
	ctx, finish, err := s.admit(m, method)
	if err != nil {
		s.refused(m, err)
		return
	}
	run := func() {
		result, err := s.serve(ctx, m.Method, method.serve, params)
		givenUp := context.Cause(ctx) == context.Canceled // the end of the session has another cause
		finish()                                          // before the view can know that it may ask again
		if givenUp {                                      // "Receivers of a cancellation notification SHOULD … not send a response for the cancelled request."
			s.opts.Logger.Info("request of a view", "method", excerpt.Cut(m.Method), "error", context.Canceled)
			return
		}
		s.answer(m.ID, m.Method, result, err)
	}
	switch method.when {
	case atOnce:
		run()
	case inTurn:
		s.mu.Lock()
		s.callLocked(m.Method, run)
		s.mu.Unlock()
	default:
		s.all.Go(run)
	}
}

// serve runs what serves a request.
func (s *Session) serve(ctx context.Context, method string, serve serveFunc, params json.RawMessage) (result any, err error) {
	if !jsonrpc.IsObject(params) {
		return nil, refuse(mcp.CodeInvalidParams, "the params are no object")
	}
	if err := jsonrpc.LimitArrays(params, jsonrpc.MaxElements); err != nil {
		return nil, refuse(mcp.CodeInvalidParams, "%v", err)
	}
	err = s.guarded(method, func() (err error) {
		result, err = serve(s, ctx, params)
		return err
	})
	return result, err
}

type callIDKey struct{} // string, in a request

// CallID is the id of the view's request that is served with this context, as the view
// wrote it, "" for none. No other request under way in the session has the same.
func CallID(ctx context.Context) string {
	id, _ := ctx.Value(callIDKey{}).(string)
	return id
}

// admit gives a request its context. finish must be called before it is answered.
func (s *Session) admit(m jsonrpc.Message, method method) (_ context.Context, finish func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := string(m.ID)
	within, _ := s.requests.take(s.opts.Limits.Rate)
	switch {
	case !within:
		return nil, nil, refuse(codeRefused, "more than %d requests in a minute", s.opts.Limits.Rate)
	case m.Method == "ping":
	case m.Method == "ui/initialize" && s.greeted:
		return nil, nil, refuse(mcp.CodeInvalidRequest, "the view is initialized already")
	case m.Method != "ui/initialize" && !s.begun:
		return nil, nil, refuse(mcp.CodeInvalidRequest, "the view is not initialized")
	}
	switch {
	case method.serve == nil:
		return nil, nil, refuse(mcp.CodeMethodNotFound, "no such method: %s", excerpt.CutAt(m.Method, 100))
	case s.serving[id] != nil:
		return nil, nil, refuse(mcp.CodeInvalidRequest, "another request has this id")
	case s.busy[m.Method]:
		return nil, nil, refuse(codeRefused, "one request of this kind at a time")
	case len(s.serving) >= s.opts.Limits.Requests:
		return nil, nil, refuse(codeRefused, "more than %d requests at once", s.opts.Limits.Requests)
	case s.life.Err() != nil:
		return nil, nil, refuse(codeRefused, "the session has ended")
	}
	ctx, cancel := context.WithTimeout(context.WithValue(s.life, callIDKey{}, id), s.opts.Limits.Request)
	s.serving[id] = cancel
	s.busy[m.Method] = method.single
	return ctx, func() {
		cancel()
		s.mu.Lock()
		delete(s.serving, id)
		delete(s.busy, m.Method)
		s.mu.Unlock()
	}, nil
}

// refused answers a request that is not served.
func (s *Session) refused(m jsonrpc.Message, err error) {
	s.log(slog.LevelInfo, "a request of a view is refused", "method", excerpt.Cut(m.Method), "error", err)
	s.send(jsonrpc.AppendError(nil, m.ID, s.encodeError(err)))
}

// answer answers a request that was served, and notes it.
func (s *Session) answer(id json.RawMessage, method string, result any, err error) {
	var encoded []byte
	if err == nil {
		if encoded, err = jsonrpc.Marshal(result); err == nil && len(encoded) > s.opts.Limits.Outgoing {
			err = refuse(codeRefused, "the result is over %d bytes", s.opts.Limits.Outgoing)
		}
	}
	s.opts.Logger.Info("request of a view", "method", excerpt.Cut(method), "error", err)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil && s.waiting+len(encoded) > 2*s.opts.Limits.Outgoing {
		err = refuse(codeRefused, "too much waits for the view to read it")
	}
	if err == nil {
		s.sendLocked(jsonrpc.AppendResult(nil, id, encoded))
		return
	}
	s.sendLocked(jsonrpc.AppendError(nil, id, s.encodeError(err)))
}

// encodeError is what the view is told of an error, within a bound.
func (s *Session) encodeError(err error) json.RawMessage {
	failed, err := jsonrpc.Marshal(failure(err))
	if err != nil || len(failed) > min(maxError, s.opts.Limits.Outgoing) {
		return json.RawMessage(`{"code":-32000,"message":"failed"}`)
	}
	return failed
}

// failure is what the view is told of an error.
func failure(err error) *mcp.RPCError {
	answered, isAnswer := errors.AsType[*mcp.RPCError](err)
	_, panicked := errors.AsType[*guard.PanicError](err)
	switch {
	case panicked:
		return refuse(mcp.CodeInternalError, "the host could not do this")
	case isAnswer:
		return answered
	case errors.Is(err, apps.ErrDenied), errors.Is(err, mcp.ErrRejected):
		return refuse(codeRefused, "denied by the user")
	case errors.Is(err, apps.ErrInvalid):
		return refuse(mcp.CodeInvalidParams, "%s", excerpt.Cut(err.Error()))
	case errors.Is(err, context.DeadlineExceeded):
		return refuse(codeRefused, "it took too long")
	}
	return refuse(codeRefused, "the host could not do this")
}
