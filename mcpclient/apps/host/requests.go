package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"sync"

	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// codeRefused is the code for requests that the host refuses.
const codeRefused = -32000

func errorf(code int, format string, args ...any) *mcp.RPCError {
	return &mcp.RPCError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// requests admits requests of the view, serves them, and answers them.
type requests struct {
	life    context.Context // ends with the session
	server  Server
	opts    *Options
	log     *eventLog
	view    *view
	out     *outbox
	calls   *callbacks
	running sync.WaitGroup // concurrent requests

	rate rate // only the inbox uses it

	mu      sync.Mutex
	serving map[string]context.CancelFunc // current requests by id
	busy    map[string]bool               // methods of current requests that allow only one at a time
}

// receive serves or rejects a request of the view. Before ui/initialize only ping is served. After
// it all are: a view may call tools before ui/notifications/initialized.
func (r *requests) receive(m jsonrpc.Message) {
	greeted, _ := r.view.phase()
	within, _ := r.rate.allow(r.opts.Limits.Rate)
	switch {
	case !within:
		r.reject(m, errorf(codeRefused, "more than %d requests in a minute", r.opts.Limits.Rate))
	case m.Method == "ui/initialize" && greeted:
		r.reject(m, errorf(mcp.CodeInvalidRequest, "the view is initialized already"))
	case !greeted && m.Method != "ui/initialize" && m.Method != "ping":
		r.reject(m, errorf(mcp.CodeInvalidRequest, "the view has not sent ui/initialize"))
	default:
		r.start(m)
	}
}

// start serves a request on the goroutine that its schedule names. A request that is not admitted
// is answered with an error.
func (r *requests) start(m jsonrpc.Message) {
	params := m.Params
	if params == nil {
		params = json.RawMessage("{}")
	}
	method := methods[m.Method]
	ctx, finish, err := r.admit(m, method)
	if err != nil {
		r.reject(m, err)
		return
	}
	run := func() {
		result, err := r.serve(ctx, m.Method, method.serve, params)
		cancelled := context.Cause(ctx) == context.Canceled // the end of the session has another cause
		finish()                                            // before the view can know that it may ask again
		if cancelled {
			// "Receivers of a cancellation notification SHOULD … not send a response for the cancelled request."
			r.opts.Logger.Info("request of a view", "method", excerpt.Cut(m.Method), "error", context.Canceled)
			return
		}
		r.answer(m.ID, m.Method, result, err)
	}
	switch method.when {
	case immediate:
		run()
	case inOrder:
		r.calls.queue(m.Method, run)
	default:
		r.running.Go(run)
	}
}

// serve calls the handler of a request with valid params. A panic of the host's code is an error.
func (r *requests) serve(ctx context.Context, method string, serve serveFunc, params json.RawMessage) (result any, err error) {
	if !jsonrpc.IsObject(params) {
		return nil, errorf(mcp.CodeInvalidParams, "the params are not an object")
	}
	if err := jsonrpc.LimitArrays(params, jsonrpc.MaxElements); err != nil {
		return nil, errorf(mcp.CodeInvalidParams, "%v", err)
	}
	err = callHost(r.opts.Logger, method, func() (err error) {
		result, err = serve(r, ctx, params)
		return err
	})
	return result, err
}

type callIDKey struct{} // string, in a request

// CallID returns the id of the view's request that is served with this context, as the view
// wrote it, or "". No other current request of the session has the same id.
func CallID(ctx context.Context) string {
	id, _ := ctx.Value(callIDKey{}).(string)
	return id
}

// admit returns the context for a request. finish must be called before the answer is sent.
func (r *requests) admit(m jsonrpc.Message, method method) (_ context.Context, finish func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	id := string(m.ID)
	switch {
	case method.serve == nil:
		return nil, nil, errorf(mcp.CodeMethodNotFound, "no such method: %s", excerpt.CutAt(m.Method, 100))
	case r.serving[id] != nil:
		return nil, nil, errorf(mcp.CodeInvalidRequest, "another request has this id")
	case r.busy[m.Method]:
		return nil, nil, errorf(codeRefused, "one request of this kind at a time")
	case len(r.serving) >= r.opts.Limits.Requests:
		return nil, nil, errorf(codeRefused, "more than %d requests at once", r.opts.Limits.Requests)
	case r.life.Err() != nil:
		return nil, nil, errorf(codeRefused, "the session has ended")
	}
	ctx, cancel := context.WithTimeout(context.WithValue(r.life, callIDKey{}, id), r.opts.Limits.RequestTimeout)
	r.serving[id] = cancel
	r.busy[m.Method] = method.single
	return ctx, func() {
		cancel()
		r.mu.Lock()
		delete(r.serving, id)
		delete(r.busy, m.Method)
		r.mu.Unlock()
	}, nil
}

func (r *requests) reject(m jsonrpc.Message, err error) {
	r.log.log(slog.LevelInfo, "a request of a view is refused", "method", excerpt.Cut(m.Method), "error", err)
	r.out.send(jsonrpc.AppendError(nil, m.ID, r.encodeError(err)))
}

// answer sends the result of a request. An error takes its place if there is one, if the result is
// over Limits.Outgoing, or if more than twice that would then wait for the view.
func (r *requests) answer(id json.RawMessage, method string, result any, err error) {
	var encoded []byte
	if err == nil {
		if encoded, err = jsonrpc.Marshal(result); err == nil && len(encoded) > r.opts.Limits.Outgoing {
			err = errorf(codeRefused, "the result is over %d bytes", r.opts.Limits.Outgoing)
		}
	}
	r.opts.Logger.Info("request of a view", "method", excerpt.Cut(method), "error", err)
	if err == nil {
		if r.out.sendWithin(jsonrpc.AppendResult(nil, id, encoded), 2*r.opts.Limits.Outgoing, math.MaxInt) {
			return
		}
		err = errorf(codeRefused, "too much waits for the view to read it")
	}
	r.out.send(jsonrpc.AppendError(nil, id, r.encodeError(err)))
}

func (r *requests) cancel(id json.RawMessage) {
	r.mu.Lock()
	cancel := r.serving[string(id)]
	r.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// encodeError returns the error object for the view, without details if it would be too large.
func (r *requests) encodeError(err error) json.RawMessage {
	failed, err := jsonrpc.Marshal(failure(err))
	if err != nil || len(failed) > min(maxError, r.opts.Limits.Outgoing) {
		return json.RawMessage(`{"code":-32000,"message":"failed"}`)
	}
	return failed
}

// failure converts an error for the view, which gets its text only from an RPCError or ErrInvalid.
func failure(err error) *mcp.RPCError {
	answered, isAnswer := errors.AsType[*mcp.RPCError](err)
	_, panicked := errors.AsType[*bound.PanicError](err)
	switch {
	case panicked:
		return errorf(mcp.CodeInternalError, "the host could not do this")
	case isAnswer:
		return answered
	case errors.Is(err, apps.ErrDenied), errors.Is(err, mcp.ErrRejected):
		return errorf(codeRefused, "denied by the user")
	case errors.Is(err, apps.ErrInvalid):
		return errorf(mcp.CodeInvalidParams, "%s", excerpt.Cut(err.Error()))
	case errors.Is(err, context.DeadlineExceeded):
		return errorf(codeRefused, "it took too long")
	}
	return errorf(codeRefused, "the host could not do this")
}
