package mcpclient_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// A server may compress JSON responses and event streams, also after a redirect, and error
// responses.
func TestCompressedAnswers(t *testing.T) {
	for name, c := range map[string]struct {
		media  string
		answer func(m message) string
	}{
		"json":   {"application/json", answerTo},
		"stream": {"text/event-stream", func(m message) string { return "data: " + answerTo(m) + "\n\n" }},
	} {
		bubble(t, name, func(t *testing.T) {
			var asked []string
			s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
				if m.Params.Name == "moved" && r.URL.Path == "/" {
					http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
					return
				}
				asked = append(asked, strings.Join(r.Header.Values("Accept-Encoding"), "|"))
				w.Header().Set("Content-Type", c.media)
				w.Header().Set("Content-Encoding", "gzip")
				zipped(w, c.answer(m))
			})
			conn := connectedBy(t, s.URL(), s.Client(), modern())
			callText(t, t.Context(), conn, "a", "a")
			callText(t, t.Context(), conn, "moved", "moved")
			if want := "gzip gzip"; strings.Join(asked, " ") != want {
				t.Errorf("got requests that accept %q, want %q", asked, want)
			}
		})
	}
}

// The limit of a message applies to the uncompressed size.
func TestCompressedBomb(t *testing.T) {
	var spaces bytes.Buffer
	zipped(&spaces, strings.Repeat(" ", 1<<20))
	bomb := bytes.Repeat(spaces.Bytes(), 64)
	synctest.Test(t, func(t *testing.T) {
		s := httpServer(t, func(w http.ResponseWriter, _ *http.Request, _ message) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = jsonWriter(w).Write(bomb)
		})
		c := connected(t, &mcpclient.HTTP{URL: s.URL(), Client: s.Client(), MaxMessage: 1 << 20}, mcpclient.Options{Protocol: mcpclient.Protocol{Revision: mcp.Revision20260728}})
		var used error
		n := allocated(func() { _, used = c.CallTool(t.Context(), "a", nil) })
		if !errors.Is(used, transport.ErrMessageTooLarge) || n > 8<<20 {
			t.Errorf("got %v and %d bytes allocated, want %v and a few MiB", used, n, transport.ErrMessageTooLarge)
		}
	})
}

// The host's own choice of compression is respected.
func TestCompressionAsWanted(t *testing.T) {
	for name, c := range map[string]struct {
		transport func(*mcpclient.HTTP)
		want      string
	}{
		"disabled": {func(h *mcpclient.HTTP) { h.Client.Transport.(*http.Transport).DisableCompression = true }, ""},
		"another":  {func(h *mcpclient.HTTP) { h.Header = http.Header{"accept-encoding": {"br"}} }, "br"},
		"wrapped": {func(h *mcpclient.HTTP) {
			h.RoundTripper = func(next http.RoundTripper) http.RoundTripper { return roundTripper(next.RoundTrip) }
		}, "gzip"}, // by net/http
	} {
		bubble(t, name, func(t *testing.T) {
			var asked string
			s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
				asked = r.Header.Get("Accept-Encoding")
				_, _ = io.WriteString(jsonWriter(w), answerTo(m))
			})
			h := &mcpclient.HTTP{URL: s.URL(), Client: s.Client()}
			c.transport(h)
			conn := connected(t, h, mcpclient.Options{Protocol: mcpclient.Protocol{Revision: mcp.Revision20260728}})
			defer func() { _ = conn.Close() }()
			callText(t, t.Context(), conn, "a", "a")
			equal(t, "a request that accepts", asked, c.want)
		})
	}
}

// zipped writes compressed text.
func zipped(w io.Writer, text string) {
	z := gzip.NewWriter(w)
	_, _ = io.WriteString(z, text)
	_ = z.Close()
}
