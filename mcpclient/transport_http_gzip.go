package mcpclient

import (
	"compress/gzip"
	"io"
	"net/http"
	"strings"
)

// net/http asks for gzip where nobody says anything else, and undoes it. It makes a
// second header for that with each request, so that the connection does both
// itself, under the same conditions and with the same outcome.

var acceptGzip = []string{"gzip"}

// asksForGzip reports whether to ask in a request with the header h.
func (c *httpConn) asksForGzip(h http.Header) bool {
	if t := c.direct(); t == nil || t.DisableCompression {
		return false
	}
	return h["Accept-Encoding"] == nil && h["Range"] == nil
}

// unzip has the body of a response read as it was before it was compressed.
func unzip(resp *http.Response) {
	if !strings.EqualFold(resp.Header.Get("Content-Encoding"), "gzip") {
		return
	}
	resp.Body = &unzipped{body: resp.Body}
	resp.Header.Del("Content-Encoding")
	resp.Header.Del("Content-Length")
	resp.ContentLength, resp.Uncompressed = -1, true
}

// unzipped is a body that comes compressed. A reader bounds what it becomes.
type unzipped struct {
	body io.ReadCloser
	text *gzip.Reader // nil before the first read
	err  error
}

func (u *unzipped) Read(p []byte) (int, error) {
	if u.text == nil && u.err == nil {
		u.text, u.err = gzip.NewReader(u.body)
	}
	if u.err != nil {
		return 0, u.err
	}
	return u.text.Read(p)
}

func (u *unzipped) Close() error { return u.body.Close() }
