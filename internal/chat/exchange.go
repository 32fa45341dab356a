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
	maxDrain      = 4 << 10     // bytes after the end of a stream, which are read so that the connection can be reused
	drainTime     = 100 * time.Millisecond
	maxRedirects  = 5
	maxResent     = 5 // times that a request is sent again because its connection had ended
)

// exchange is the HTTPDoer of one request. It amends the request's JSON and
// keeps the reply. go-openai gets an empty object instead of the reply, since
// it would lose fields that we need, and fail on fields of some hosts.
type exchange struct {
	next     openai.HTTPDoer
	query    string // added to the URL
	amend    *amendment
	maxReply int64

	request *http.Request // as it was sent

	// The reply. Either body or stream is set.
	header http.Header
	body   []byte
	stream io.ReadCloser
	ended  bool // the stream was read to its end
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

// send sends a request. If a reused connection ends without a byte of an answer, the host had closed it before: the
// request is sent again at once.
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

// lostConnection reports whether an error of net/http or of the system says that the connection ended.
func lostConnection(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE) || strings.Contains(err.Error(), "server closed idle connection")
}

// readInTime reads as much of a body as arrives in time, and closes it.
func readInTime(body io.ReadCloser, max int64, limit time.Duration) []byte {
	defer body.Close()
	late := time.AfterFunc(limit, func() { _ = body.Close() })
	defer late.Stop()
	data, _ := io.ReadAll(io.LimitReader(body, max)) // a part is enough
	return data
}

// sameOrigin refuses redirects that would send the key or the conversation to another host, and those that would turn
// the request into a GET.
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

// amended returns the request with its JSON amended and the query of the base URL.
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

// context returns the context of the request, which also ends the decoding of the reply.
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

// broken returns the error of an interrupted exchange.
func (x *exchange) broken(code string, cause error) *Error {
	cause = withoutURL(cause)
	e := x.wrong(code, cause.Error())
	e.cause = cause
	return e
}

// wrong returns the error of an unusable answer.
func (x *exchange) wrong(code, message string) *Error {
	if x.request == nil { // go-openai failed before it sent the request
		return &Error{Code: code, Message: excerpt.Cut(message)}
	}
	return &Error{Host: x.request.URL.Host, Code: code, Message: newRedactor(x.request).clean(message)}
}

func (x *exchange) tooLarge() *Error {
	return x.wrong(CodeTooLarge, fmt.Sprintf("the answer is over %d bytes", x.maxReply))
}

// reported returns the error of a failure that the host reports.
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

// isEventStream reports whether a body is an event stream, by the content type, then by its first bytes: some hosts
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

// close closes a stream. The bytes after its last event are read, as the connection could not be reused otherwise.
func (x *exchange) close() {
	if x.ended {
		readInTime(x.stream, maxDrain, drainTime)
	} else {
		_ = x.stream.Close()
	}
}

var errTooLarge = errors.New("answer over its bound")

// boundedReader fails with errTooLarge when r has more bytes than are left.
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
