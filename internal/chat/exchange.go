package chat

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/sse"
)

const (
	maxErrorBody  = 64 << 10    // bytes of an error's body
	errorBodyTime = time.Second // how long it may take: not every such body ends
)

// Bounds of what follows the reply in the body of a stream. It is read so that the connection can be reused.
const (
	maxRest  = 4 << 10 // bytes
	restTime = time.Second
	restWait = 20 * time.Millisecond // the reply waits so long for the rest, which is then read in the background
)

// exchange is one attempt of a request. As go-openai's HTTPDoer, it replaces the request's JSON and
// keeps the reply. go-openai gets an empty object instead of the reply, since
// it would lose fields that we need, and fail on fields of some hosts.
type exchange struct {
	*sender
	api         string // the API's name, for errors
	query       string // query to add to the URL
	requestJSON []byte // the body of the request

	callerCtx context.Context
	ctx       context.Context // context of this attempt
	cancel    context.CancelCauseFunc
	release   context.CancelFunc

	request *http.Request // the request that was sent

	// The reply. Either body or stream is set.
	header        http.Header
	body          []byte
	stream        io.ReadCloser
	replyComplete bool // the reply in the stream is complete
}

// begin returns an exchange for one attempt. The caller closes it.
func (s *sender) begin(ctx context.Context, api string) *exchange {
	x := &exchange{sender: s, api: api, callerCtx: ctx}
	bounded, stop := context.WithTimeoutCause(ctx, s.timeout, errTimeout)
	x.ctx, x.cancel = context.WithCancelCause(bounded)
	x.release = func() { x.cancel(nil); stop() }
	return x
}

// close ends the exchange, and the request if it is still under way. After a complete reply in a
// stream it reads the rest, for restWait here and then in the background, and releases the exchange
// afterwards.
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
		readInTime(x.stream, maxRest, restTime)
	}()
	select {
	case <-read:
	case <-time.After(restWait):
	}
}

// Do implements [openai.HTTPDoer]. Its errors are *Error.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	x.request = x.withOwnBody(req)
	res, err := x.http.Do(x.request)
	if err != nil {
		return nil, x.wrapError(CodeUnreachable, err)
	}
	x.header = res.Header
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, x.hostError(res.StatusCode, readInTime(res.Body, maxErrorBody, errorBodyTime))
	}
	body := bufio.NewReader(res.Body)
	if isEventStream(res.Header, body) {
		x.stream = &streamBody{body, res.Body}
	} else {
		defer res.Body.Close()
		if x.body, err = x.readAll(body); err != nil {
			return nil, err
		}
	}
	return &http.Response{
		Status: res.Status, StatusCode: res.StatusCode, Header: res.Header, Request: req,
		Body: io.NopCloser(strings.NewReader("{}")),
	}, nil
}

// readInTime reads as much of a body as arrives in time, at most max bytes, and closes it. It
// reports no error: its callers can use a part.
func readInTime(body io.ReadCloser, max int64, limit time.Duration) []byte {
	defer body.Close()
	late := time.AfterFunc(limit, func() { _ = body.Close() })
	defer late.Stop()
	data, _ := io.ReadAll(io.LimitReader(body, max))
	return data
}

// withOwnBody returns the request with requestJSON as its body and the query of the base URL. net/http sends it again at
// once if the host had closed a reused connection: an empty Idempotency-Key allows that, and is not sent.
func (x *exchange) withOwnBody(req *http.Request) *http.Request {
	out := req.Clone(req.Context())
	if x.query != "" {
		out.URL.RawQuery = strings.TrimSuffix(x.query+"&"+out.URL.RawQuery, "&")
	}
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(x.requestJSON)), nil }
	out.Body, _ = out.GetBody()
	out.ContentLength = int64(len(x.requestJSON))
	if out.Header.Values("Idempotency-Key") == nil { // anthropicmodel.Options.Header may have one
		out.Header["Idempotency-Key"] = nil
	}
	return out
}

func (x *exchange) readAll(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(x.limitReader(r))
	switch {
	case isTooLarge(err):
		return nil, x.tooLarge()
	case err != nil:
		return nil, x.wrapError(CodeTruncated, err)
	}
	return body, nil
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

// streamBody reads from a buffer over the body and closes the body.
type streamBody struct {
	io.Reader
	io.Closer
}

// limitReader returns a reader that fails after maxReply bytes, with an error for isTooLarge.
func (x *exchange) limitReader(r io.Reader) io.Reader {
	return http.MaxBytesReader(nil, io.NopCloser(r), x.maxReply)
}

func isTooLarge(err error) bool {
	_, ok := errors.AsType[*http.MaxBytesError](err)
	return ok
}

// watchedReader ends its exchange if a read takes longer than the idle timeout.
type watchedReader struct {
	io.Reader
	silence *time.Timer // runs during a read
	limit   time.Duration
}

// newWatchedReader returns a reader of the stream that ends the exchange after silence.
func (x *exchange) newWatchedReader() *watchedReader {
	silence := time.AfterFunc(x.idleTimeout, func() { x.cancel(errIdle) })
	silence.Stop()
	return &watchedReader{x.stream, silence, x.idleTimeout}
}

func (w *watchedReader) Read(p []byte) (int, error) {
	w.silence.Reset(w.limit)
	defer w.silence.Stop()
	return w.Reader.Read(p)
}

// events returns a reader of events that fails after maxReply bytes.
func (x *exchange) events(src io.Reader) *sse.Reader {
	return sse.NewReader(x.limitReader(src), int(x.maxReply))
}

// next returns the next event of a stream that has not ended.
func (x *exchange) next(events *sse.Reader) (sse.Event, error) {
	event, err := events.Next()
	switch {
	case err == nil:
		return event, x.ctx.Err()
	case isTooLarge(err):
		return event, x.tooLarge()
	case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
		return event, x.newError(CodeTruncated, "the stream ended before the model did")
	}
	return event, x.wrapError(CodeTruncated, err)
}

// mayEnd reports whether a stream that ends now with an error is good if its reply is complete: the host has broken it
// off, or fallen silent.
func (x *exchange) mayEnd() bool {
	cause := context.Cause(x.ctx)
	return cause == nil || errors.Is(cause, errIdle)
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

// isField reports whether a line with this first byte may be blank, a field or
// a comment of an event stream.
func isField(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == ':' || c == '\r' || c == '\n'
}

// hasError reports whether the lines are an object with an error.
func (s *sideLines) hasError(ctx context.Context) bool {
	w, err := decode(ctx, s.lines).reply()
	return err == nil && hasError(w.error)
}
