package streamable

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/mcpchain/mcpchain/internal/bound"
	"github.com/mcpchain/mcpchain/internal/excerpt"
	"github.com/mcpchain/mcpchain/mcpclient/internal/redact"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// deliverSingle passes the body of a response, one message, to deliver. The caller closes it.
func (c *conn) deliverSingle(resp *http.Response, m *message, deliver func([]byte) bool) error {
	if resp.StatusCode/100 != 2 {
		return c.deliverFailure(resp, m, deliver)
	}
	if mediaType(resp) != mediaJSON {
		return c.contentTypeError(resp)
	}
	body, err := c.readBody(resp)
	switch {
	case err != nil:
		return err
	case len(bytes.TrimSpace(body)) == 0:
		return c.noBodyError(resp)
	}
	deliver(body)
	return nil
}

// maxQuoted bounds the beginning of a body in an error, in bytes: it may be a page of HTML.
const maxQuoted = 200

// contentTypeError reads the body of a response that is neither a message nor a stream, and returns the error.
func (c *conn) contentTypeError(resp *http.Response) error {
	body := readErrorBody(resp.Body)
	if len(bytes.TrimSpace(body)) == 0 {
		return c.noBodyError(resp)
	}
	text := c.Redact(string(body))
	begins := strings.ToValidUTF8(text[:min(len(text), maxQuoted)], "")
	return fmt.Errorf("%w: POST %s: content type %q, want %s or %s: it begins %s",
		mcp.ErrInvalidResult, c.safeURL(), c.safeContentType(resp), mediaJSON, mediaStream, excerpt.Quote([]byte(begins)))
}

func (c *conn) noBodyError(resp *http.Response) error {
	return fmt.Errorf("%w: POST %s: HTTP status %d without a body in answer to a request", mcp.ErrInvalidResult, c.safeURL(), resp.StatusCode)
}

func mediaType(resp *http.Response) string {
	v := resp.Header.Get("Content-Type")
	if v == mediaJSON || v == mediaStream {
		return v
	}
	media, _, _ := mime.ParseMediaType(v)
	return media
}

// safeContentType returns the content type of a response for errors.
func (c *conn) safeContentType(resp *http.Response) string {
	return excerpt.Cut(c.Redact(strings.Join(resp.Header["Content-Type"], ", ")))
}

// readBody reads the body of a response, up to the bound of a message.
func (c *conn) readBody(resp *http.Response) (body []byte, err error) {
	if resp.ContentLength > int64(c.max) {
		return nil, c.tooLargeError()
	}
	if resp.ContentLength >= 0 {
		body, err = readSized(resp.Body, int(resp.ContentLength))
	} else {
		body, err = io.ReadAll(io.LimitReader(resp.Body, int64(c.max)+1))
	}
	switch {
	case err != nil:
		err = fmt.Errorf("%w: response to POST %s was cut after %d bytes: %w", errLost, c.safeURL(), len(body), err)
		return nil, &transport.BrokenError{Err: err, ResponseBegun: true}
	case len(body) > c.max:
		return nil, c.tooLargeError()
	}
	return body, nil
}

func (c *conn) tooLargeError() error {
	return fmt.Errorf("%w: the body of the response is over %d bytes, which HTTP.MaxMessage can raise", transport.ErrMessageTooLarge, c.max)
}

const (
	trustedSize  = 1 << 20 // bytes allocated because of a Content-Length alone
	trustedRatio = 16      // bytes allocated for each byte that has arrived
)

// readSized reads a body with a Content-Length of size. net/http ends a body there; one that a RoundTripper of the host
// made may be longer, which is an error, or shorter, which is not.
func readSized(r io.Reader, size int) ([]byte, error) {
	b := make([]byte, 0, min(size, trustedSize)+1) // one more, to see the end
	for {
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case err == io.EOF:
			return b, nil
		case err != nil:
			return b, err
		case len(b) > size:
			return b, fmt.Errorf("body is over its Content-Length of %d", size)
		case len(b) == cap(b):
			b = append(make([]byte, 0, min(size+1, trustedRatio*len(b))), b...)
		}
	}
}

const (
	maxErrorBody  = redact.Max  // bytes of a body that are read for an error
	errorBodyTime = time.Second // how long that may take
)

// readErrorBody reads the body of a response for an error.
func readErrorBody(body io.ReadCloser) []byte {
	return bound.ReadBody(body, maxErrorBody, errorBodyTime)
}
