package chat

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/excerpt"
)

const (
	maxErrorBody  = 64 << 10    // bytes of an error's body
	errorBodyTime = time.Second // how long it may take: not every such body ends
	maxDrain      = 4 << 10     // bytes behind the end of a stream, so that its connection is used again
	drainTime     = 100 * time.Millisecond
	maxRedirects  = 5
	maxResent     = 5 // requests that met a connection that had ended
)

// exchange is the HTTPDoer of one request. It amends the request's JSON and
// keeps the reply. go-openai gets an empty object instead of the reply, since
// it would lose fields that we need, and fail on fields of some hosts.
type exchange struct {
	next     openai.HTTPDoer
	query    string // added to the URL
	amend    *amendment
	maxReply int64

	// Of the reply:
	request *http.Request // as it was sent
	header  http.Header
	body    []byte        // the whole body if stream is nil
	stream  io.ReadCloser // its events
	ended   bool          // the stream was read to its end
}

// Do implements [openai.HTTPDoer]. Its errors are *Error.
func (x *exchange) Do(req *http.Request) (*http.Response, error) {
	x.request = req
	out, err := x.amended(req)
	if err != nil {
		return nil, x.broken(CodeRequest, err)
	}
	x.request = out
	res, err := x.send(out)
	if err != nil {
		return nil, x.broken(CodeUnreachable, err)
	}
	x.header = res.Header
	if res.StatusCode < 200 || res.StatusCode > 299 {
		return nil, x.reported(res.StatusCode, readInTime(res.Body, maxErrorBody, errorBodyTime))
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

// send sends a request. If a connection that was used before ends without a byte of an answer, the host had
// closed it in the meantime: the request is sent again at once.
func (x *exchange) send(req *http.Request) (*http.Response, error) {
	reused := false
	traced := req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
		GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused },
	}))
	for n := 0; ; n++ {
		reused = false
		res, err := x.next.Do(traced)
		if err == nil || !reused || n == maxResent || req.Context().Err() != nil || !lostConnection(err) {
			return res, err
		}
		if traced.Body, err = req.GetBody(); err != nil {
			return nil, err
		}
	}
}

// lostConnection reports whether a connection ended, in the words of net/http and of the system.
func lostConnection(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) || strings.Contains(err.Error(), "server closed idle connection")
}

// readInTime reads what comes of a body in time, and closes it.
func readInTime(body io.ReadCloser, max int64, limit time.Duration) []byte {
	defer body.Close()
	late := time.AfterFunc(limit, func() { _ = body.Close() })
	defer late.Stop()
	data, _ := io.ReadAll(io.LimitReader(body, max)) // a part is enough
	return data
}

// sameOrigin refuses redirects that would take the key or the conversation to another host, and those that
// would turn the request into a GET.
func sameOrigin(req *http.Request, via []*http.Request) error {
	from := via[0].URL
	switch {
	case req.URL.Scheme != from.Scheme || req.URL.Host != from.Host:
		return fmt.Errorf("redirect to another origin refused: set the base URL to %s if you trust it", originOf(req.URL))
	case req.Method != via[0].Method:
		return fmt.Errorf("redirect that would turn %s into %s refused: set the base URL to that of the API", via[0].Method, req.Method)
	case len(via) > maxRedirects:
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	return nil
}

func originOf(u *url.URL) string { return u.Scheme + "://" + u.Host }

// amended is the request with its JSON amended, and the query of the base URL.
func (x *exchange) amended(req *http.Request) (*http.Request, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	if body, err = x.amend.apply(body); err != nil {
		return nil, err
	}
	out := req.Clone(req.Context())
	if x.query != "" {
		out.URL.RawQuery = strings.TrimSuffix(x.query+"&"+out.URL.RawQuery, "&")
	}
	out.Body = io.NopCloser(bytes.NewReader(body))
	out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	out.ContentLength = int64(len(body))
	return out, nil
}

// context ends the decoding of the reply.
func (x *exchange) context() context.Context {
	if x.request == nil {
		return context.Background()
	}
	return x.request.Context()
}

func (x *exchange) readAll(r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(&boundedReader{r: r, left: x.maxReply})
	switch {
	case errors.Is(err, errTooLarge):
		return nil, x.tooLarge()
	case err != nil:
		return nil, x.broken(CodeTruncated, err)
	}
	return body, nil
}

// broken makes the error of an interrupted exchange.
func (x *exchange) broken(code string, cause error) *Error {
	cause = withoutURL(cause)
	e := x.wrong(code, cause.Error())
	e.cause = cause
	return e
}

// wrong makes the error of an unusable answer.
func (x *exchange) wrong(code, message string) *Error {
	if x.request == nil { // go-openai failed before
		return &Error{Code: code, Message: excerpt.Cut(message)}
	}
	return &Error{Host: x.request.URL.Host, Code: code, Message: newRedactor(x.request).clean(message)}
}

func (x *exchange) tooLarge() *Error {
	return x.wrong(CodeTooLarge, fmt.Sprintf("the answer is over %d bytes", x.maxReply))
}

// reported makes the error of a failure in the host's answer.
func (x *exchange) reported(status int, body []byte) *Error {
	b := parseErrorBody(x.header.Get("Content-Type"), body)
	if b.status != 0 && status < 400 {
		status = b.status
	}
	if b.message == "" {
		b.message = strings.ToLower(http.StatusText(status))
	}
	redact := newRedactor(x.request)
	e := &Error{Host: x.request.URL.Host, Status: status, Code: redact.clean(b.code), Message: redact.clean(b.message)}
	if u := x.request.URL; u.Path == "/chat/completions" {
		e.try = u.Scheme + "://" + u.Host + "/v1"
	}
	e.responses = strings.HasSuffix(x.request.URL.Path, "/responses")
	e.RetryAfter, _ = backoff.RetryAfter(x.header, time.Now())
	e.overflow()
	return e
}

// isEventStream looks at the content type, then at the first bytes: some hosts
// stream as text/plain, or without a content type.
func isEventStream(h http.Header, body *bufio.Reader) bool {
	switch typ := bareType(h.Get("Content-Type")); typ {
	case "text/event-stream":
		return true
	case "application/json", "text/html":
		return false
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

// close closes a stream. Behind its last event there are some bytes, without which the connection would not be used again.
func (x *exchange) close() {
	if x.ended {
		readInTime(x.stream, maxDrain, drainTime)
	} else {
		_ = x.stream.Close()
	}
}

var errTooLarge = errors.New("answer over its bound")

// boundedReader fails with errTooLarge after more bytes than its bound.
type boundedReader struct {
	r    io.Reader
	left int64
}

func (b *boundedReader) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLarge
	}
	n, err := b.r.Read(p[:min(int64(len(p)), b.left+1)])
	b.left -= int64(n)
	if b.left < 0 {
		return n, errTooLarge
	}
	return n, err
}
