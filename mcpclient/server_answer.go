package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/mcpclient/internal/metakey"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// answer has a handler answer a request, and sends the answer.
func (d *dispatcher) answer(ctx context.Context, m jsonrpc.Message, r *serverRequest) {
	defer d.slots.Release()
	result, err := json.RawMessage(nil), errExited
	defer func() { d.respond(ctx, m, r, result, err) }()
	result, err = d.handle(ctx, m.Method, m.Params, mcp.Origin{ID: m.ID, Call: r.info()})
}

// respond sends the result or the error of a handler, unless the server wants no answer or the
// client is closed.
func (d *dispatcher) respond(ctx context.Context, m jsonrpc.Message, r *serverRequest, result json.RawMessage, err error) {
	if err == nil {
		result = withRelatedTask(result, m.Params)
	}
	unwanted := d.unregister(r)
	cancelled := ctx.Err() != nil // the handler could not succeed
	r.cancel()
	if unwanted || d.life.IsClosed() {
		return
	}
	refused, _ := errors.AsType[*refusal](err)
	switch {
	case err == nil:
	case refused != nil && refused.answer.Code == mcp.CodeInvalidParams:
		d.warnings.logViolation("refused a malformed request of the server",
			"method", d.texts.cut(m.Method), "reason", d.texts.scrub(refused.answer.Message))
	case wireError(err).Code == mcp.CodeInternalError && !cancelled: // the server learns only the code
		d.warnings.logFailure(ctx, "server request failed", "method", d.texts.cut(m.Method), "error", d.client.scrubError(err))
	default:
		d.log.DebugContext(ctx, "server request failed", "method", d.texts.cut(m.Method), "error", d.client.scrubError(err))
	}
	d.sendAnswer(m.Method, r, responseTo(m.ID, result, err))
}

// answerTimeout bounds the sending of an answer.
const answerTimeout = 30 * time.Second

// sendAnswer sends the answer to a request, and logs a failure. If the server has forgotten the
// session, the call in whose response it asked fails.
func (d *dispatcher) sendAnswer(method string, r *serverRequest, body []byte) {
	values := d.life.Context()
	if r.certain {
		values = source{call: r.call}.values()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(values), answerTimeout)
	defer cancel()
	defer context.AfterFunc(d.life.Context(), cancel)()
	switch err := d.postAnswer(ctx, body, r.id.session); {
	case err == nil || d.life.IsClosed() || errors.Is(err, ErrClosed):
	case d.client.onMessageError(err):
		d.log.DebugContext(ctx, "answer to the server dropped: it has forgotten the session", "method", d.texts.cut(method))
		if r.call != nil {
			d.link.fail(r.call, err)
		}
	case errors.Is(err, wire.ErrSessionEnded):
		d.log.DebugContext(ctx, "answer to the server dropped", "method", d.texts.cut(method), "error", err)
	default:
		d.warnings.logFailure(ctx, "answer to the server lost", "method", d.texts.cut(method), "error", err)
	}
}

// postAnswer sends the answer to a server's request, in the session of the request. After a temporary
// failure it sends it again, up to Limits.Retries times, as the server waits for it.
func (d *dispatcher) postAnswer(ctx context.Context, body []byte, s wire.Session) error {
	err := backoff.Loop(ctx, backoff.Policy{}, func() error {
		return d.link.post(ctx, body, d.client.current().header(nil), s)
	}, func(f *backoff.Failure) error {
		wait, ok := retryWait(ctx, f.Err, f.Count)
		if f.Count >= d.retries || !ok {
			return f.Err
		}
		f.Wait = wait
		return nil
	})
	if interrupted, ok := err.(*backoff.Interrupted); ok {
		return interrupted.Last
	}
	return err
}

const relatedTask = metakey.Prefix + "related-task"

// withRelatedTask adds the task of a server's request to the answer, as "all requests, responses
// and notifications related to a task MUST" do (2025-11-25 tasks).
func withRelatedTask(answer, question json.RawMessage) json.RawMessage {
	task := jsonrpc.Lookup(question, "_meta", relatedTask)
	if task == nil || !jsonrpc.IsObject(answer) {
		return answer
	}
	return mergeMissing(fmt.Appendf(nil, `{"_meta":{%q:%s}}`, relatedTask, task), answer)
}
