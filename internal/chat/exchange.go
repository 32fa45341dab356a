package chat

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptrace"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/jsonrpc"
	"github.com/mcpchain/mcpchain/internal/sse"
)

const (
	maxErrorBody  = 64 << 10    // bytes of an error's body
	errorBodyTime = time.Second // how long it may take
)

// Bounds of what follows the reply in the body of a stream. It is read so that the connection can be reused.
const (
	maxRest  = 4 << 10 // bytes
	restTime = time.Second
	restWait = 20 * time.Millisecond // the reply waits so long for the rest, which is then read in the background
)

// Why the context of an attempt ended.
var (
	errTimeout = errors.New("no complete answer in time")
	errIdle    = errors.New("stream fell silent")
)

// errEnough is an error of an [Answer] that does not need the rest of its stream.
var errEnough = errors.New("the rest is not needed")

// exchange is one attempt of a request.
type exchange struct {
	*Wire
	request *http.Request

	callerCtx context.Context
	ctx       context.Context // context of this attempt
	cancel    context.CancelCauseFunc
	release   context.CancelFunc

	// The response. Either body or stream is set.
	header        http.Header
	body          []byte
	stream        io.ReadCloser
	eventRead     bool // an event of the stream was read
	replyComplete bool // the reply in the stream is complete
}

// attempt sends a request once, and passes the response to an answer.
func (w *Wire) attempt(ctx context.Context, request *http.Request, answer func(context.Context) Answer) error {
	x := &exchange{Wire: w, callerCtx: ctx}
	bounded, stop := context.WithTimeoutCause(ctx, w.timeout, errTimeout)
	x.ctx, x.cancel = context.WithCancelCause(bounded)
	x.release = func() { x.cancel(nil); stop() }
	defer x.close()
	err := x.send(request)
	switch {
	case err != nil:
	case x.stream == nil:
		err = x.readWhole(answer(x.ctx), x.body)
	default:
		err = x.readStream(answer(x.ctx))
	}
	if err == nil {
		return nil
	}
	err = x.explain(err)
	if failure, ok := errors.AsType[*Error](err); ok {
		failure.api, failure.Begun, failure.Partial = w.api, x.stream != nil, x.eventRead
	}
	return err
}

// close ends the exchange, and the request if it is still under way. After a complete reply in a stream it reads the
// rest, for restWait here and then in the background, and releases the exchange afterwards.
func (x *exchange) close() {
	switch {
	case x.stream == nil:
		x.release()
		return
	case !x.replyComplete:
		x.release()
		_ = x.stream.Close()
		return
	}
	read := make(chan struct{})
	go func() {
		defer x.release()
		defer close(read)
		bound.ReadBody(x.stream, maxRest, restTime)
	}()
	select {
	case <-read:
	case <-time.After(restWait):
	}
}

// send sends the request, and reads a response that is not a stream.
func (x *exchange) send(request *http.Request) error {
	res, err := x.do(request)
	if err != nil {
		return x.wrapError(CodeUnreachable, err)
	}
	x.header = res.Header
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return x.hostError(res.StatusCode, bound.ReadBody(res.Body, maxErrorBody, errorBodyTime))
	}
	body := bufio.NewReader(res.Body)
	if isEventStream(res.Header, body) {
		x.stream = struct {
			io.Reader
			io.Closer
		}{body, res.Body}
		return nil
	}
	defer res.Body.Close()
	x.body, err = io.ReadAll(x.limitReader(body))
	switch {
	case isTooLarge(err):
		return x.tooLarge()
	case err != nil:
		return x.wrapError(CodeTruncated, err)
	}
	return nil
}

// do makes the request, and makes it again at once if the host had closed the reused connection. net/http does so only with
// an Idempotency-Key, even an empty one, which a RoundTripper that signs requests must not see.
func (x *exchange) do(request *http.Request) (*http.Response, error) {
	var reused atomic.Bool // a reused connection was taken, and has brought no answer
	ctx := httptrace.WithClientTrace(x.ctx, &httptrace.ClientTrace{
		GotConn:              func(c httptrace.GotConnInfo) { reused.Store(c.Reused) },
		GotFirstResponseByte: func() { reused.Store(false) },
	})
	for {
		reused.Store(false)
		x.request = request.Clone(ctx)
		x.request.Body, _ = request.GetBody()
		res, err := x.http.Do(x.request)
		if err == nil || !isCut(err) || !reused.Load() || x.ctx.Err() != nil {
			return res, err
		}
	}
}

// isCut reports whether a request failed because its connection was cut.
func isCut(err error) bool {
	_, network := errors.AsType[*os.SyscallError](err)
	return network || errors.Is(err, io.EOF) || strings.HasSuffix(err.Error(), "http: server closed idle connection") // no exported error
}

// isEventStream reports whether a body is an event stream, by the content type, then by its first bytes: some hosts
// stream as text/plain or application/json, or without a content type.
func isEventStream(h http.Header, body *bufio.Reader) bool {
	if BareType(h.Get("Content-Type")) == "text/event-stream" {
		return true
	}
	for _, start := range []string{"data:", "event:", ":"} {
		if got, _ := body.Peek(len(start)); string(got) == start {
			return true
		}
	}
	return false
}

// limitReader returns a reader that fails after maxReply bytes, with an error for isTooLarge.
func (x *exchange) limitReader(r io.Reader) io.Reader {
	return http.MaxBytesReader(nil, io.NopCloser(r), x.maxReply)
}

func isTooLarge(err error) bool {
	_, ok := errors.AsType[*http.MaxBytesError](err)
	return ok
}

// readWhole passes an answer in one piece to answer.
func (x *exchange) readWhole(answer Answer, body []byte) error {
	if err := answer.Whole(body); err != nil {
		return x.answerError(err)
	}
	return x.answerError(answer.End())
}

// readStream passes the events of the stream to an answer.
func (x *exchange) readStream(answer Answer) error {
	silence := time.AfterFunc(x.idleTimeout, func() { x.cancel(errIdle) })
	defer silence.Stop()
	side := &sideLines{r: x.limitReader(&watchedReader{x.stream, silence, x.idleTimeout})}
	events := sse.NewReader(side, int(x.maxReply))
	for !x.replyComplete {
		event, err := events.Next()
		err = cmp.Or(err, x.ctx.Err())
		data := bytes.TrimSpace(event.Data)
		if err != nil || string(data) == "[DONE]" {
			return x.endStream(answer, err, side.lines)
		}
		if len(data) == 0 && event.Type != "error" {
			continue
		}
		if x.replyComplete, err = answer.Event(event.Type, data); err == errEnough {
			break
		}
		if err != nil {
			return x.answerError(err)
		}
		x.eventRead = true
	}
	return x.answerError(answer.End())
}

// endStream ends a stream, or returns an error if it must not end here. err is the reader's error, nil after [DONE]; side is
// what sideLines kept.
func (x *exchange) endStream(answer Answer, err error, side []byte) error {
	x.replyComplete = err == nil
	streamEnded := err == nil || err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF)
	switch {
	case answer.Complete() && (streamEnded || x.callerCtx.Err() == nil):
		// Some hosts omit [DONE], or its blank line, and some break off, fall silent or do not end after the reply.
	case isTooLarge(err):
		return x.tooLarge()
	case streamEnded && !x.eventRead && json.Valid(side):
		return x.readWhole(answer, side)
	case json.Valid(side) && hasError(jsonrpc.Lookup(side, "error")):
		return x.bodyError(side)
	case err == nil && x.eventRead: // some hosts give no reason to stop
	case streamEnded:
		return x.answerError(errBrokenOff)
	default:
		return x.wrapError(CodeTruncated, err)
	}
	return x.answerError(answer.End())
}

var errBrokenOff = &Error{Code: CodeTruncated, Message: "the stream ended before the model did"}

// answerError returns the error of the exchange for the error of an [Answer].
func (x *exchange) answerError(err error) error {
	if reported, ok := errors.AsType[*Reported](err); ok {
		return x.bodyError(reported.Body)
	}
	if own, ok := errors.AsType[*Error](err); ok {
		e := x.newError(own.Code, own.Message)
		e.Usage = own.Usage
		return e
	}
	if _, ok := errors.AsType[*Stopped](err); ok || err == nil {
		return err
	}
	return x.newError(CodeMalformed, err.Error())
}

// watchedReader reads from a stream, with a timer that ends its exchange if a read takes too long.
type watchedReader struct {
	io.Reader
	silence *time.Timer // runs during a read
	limit   time.Duration
}

func (w *watchedReader) Read(p []byte) (int, error) {
	w.silence.Reset(w.limit)
	defer w.silence.Stop()
	return w.Reader.Read(p)
}

// sideLines keeps the lines of an event stream that are not fields of an event: some hosts send an error or the
// complete answer as bare JSON.
type sideLines struct {
	r       io.Reader
	lines   []byte
	inLine  bool // the next byte continues a line
	keeping bool // this line is kept
}

// Read reads from the stream and keeps the side lines among the bytes.
func (s *sideLines) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	for rest := p[:n]; len(rest) > 0; {
		if !s.inLine {
			s.keeping = !isField(rest[0])
		}
		end := bytes.IndexByte(rest, '\n') + 1
		s.inLine = end == 0
		if s.inLine {
			end = len(rest)
		}
		if s.keeping {
			s.lines = append(s.lines, rest[:end]...)
		}
		rest = rest[end:]
	}
	return n, err
}

// isField reports whether a line with this first byte may be blank, a field or a comment of an event stream.
func isField(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == ':' || c == '\r' || c == '\n'
}
