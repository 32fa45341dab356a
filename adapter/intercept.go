package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// Request is a call on its way to a server.
type Request struct {
	// Tool and Call identify the call, as the model made it. An interceptor must not replace
	// them: such a request is not sent.
	Tool *Tool
	Call llms.ToolCall

	// Arguments are what is sent: repaired and checked, with members in the order of the model's text, so compare them as
	// values. An interceptor may replace them, and they are checked again; it must not modify them in place.
	Arguments json.RawMessage

	// Options of the call. An interceptor may append some, for example [mcpclient.WithMeta].
	Options []mcpclient.CallOption
}

// Handler runs a call. It returns a result or an error; to return neither is an error, too.
type Handler func(context.Context, *Request) (*mcp.CallToolResult, error)

// Interceptor wraps calls. It may change the request and the context, call next zero or more times, though not
// concurrently, and change the result. An error of its own fails the call, and the model reads its text.
//
// Pass next a context derived from the interceptor's: the toolset finds the caller ([OriginFrom]) in it.
type Interceptor func(next Handler) Handler

// intercept sends a request through the interceptors. An error is an interceptedError, unless it
// comes from send or ctx has ended.
func (s *pendingCall) intercept(ctx context.Context, r *Request) (res *mcp.CallToolResult, err error) {
	all := s.tool.calls.intercept
	if len(all) == 0 {
		return s.send(ctx, r)
	}
	r.Arguments = slices.Clone(r.Arguments) // an interceptor may modify them
	h := Handler(s.send)
	for i := len(all) - 1; i >= 0; i-- {
		next := h
		h = func(ctx context.Context, r *Request) (res *mcp.CallToolResult, err error) {
			err = runGuarded(s.tool.server.opts.Logger, "interceptor", func() (err error) {
				res, err = all[i](next)(ctx, r)
				return err
			})
			return res, err
		}
	}
	res, err = h(ctx, r)
	switch {
	case err == nil && res != nil:
		return res, nil
	case err == nil:
		err = errors.New("interceptor returned neither a result nor an error")
	}
	fromSend := s.err != nil && errors.Is(err, s.err)
	if fromSend || ctx.Err() != nil {
		return nil, err
	}
	return nil, &interceptedError{err}
}

// interceptedError is an error of an interceptor.
type interceptedError struct{ err error }

func (e *interceptedError) Error() string { return "intercepted: " + e.err.Error() }
func (e *interceptedError) Unwrap() error { return e.err }

func (e *interceptedError) forModel(effect string) (text string, fatal bool) {
	text = "the call was stopped: " + excerpt.Limit(e.err.Error(), 1<<10)
	if effect != nothingDone {
		text += ". " + effect
	}
	return text, false
}
