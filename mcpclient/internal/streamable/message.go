package streamable

import (
	"io"
	"net/http"
	"strings"

	"github.com/mcpchain/mcpchain/mcpclient/internal/redact"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// message is a message that is being sent, possibly by several HTTP requests.
type message struct {
	sent   *wire.Message
	header http.Header // of this message; shared, not to be modified
	asks   bool        // it expects an answer
	bound  bool        // it belongs to its session; otherwise it joins the current one

	session *session        // in which it is sent, or nil
	token   transport.Token // with which it is sent
}

func newMessage(sent *wire.Message) *message {
	m := &message{sent: sent, header: sent.Header}
	if s, ok := sent.In.(*session); ok {
		m.bound = true
		m.in(s)
	}
	return m
}

// in sets the session of the message, or nil.
func (m *message) in(s *session) {
	m.session = s
	if s == nil {
		m.sent.SetSession(nil)
	} else {
		m.sent.SetSession(s)
	}
}

// follows reports whether a message is a consequence of an earlier one of its session, as the
// answer to a server's request is. A request for the next page is not.
func (m *message) follows() bool { return m.bound && m.session != nil && !m.asks }

// listened returns the body of a response that reports reads to the sender of the message.
func (m *message) listened(body io.ReadCloser) io.ReadCloser {
	if m.sent.Heard == nil {
		return body
	}
	return &heardBody{body, m.sent.Heard}
}

// heardBody reports every read, including comments that keep a stream alive.
type heardBody struct {
	io.ReadCloser
	heard func()
}

func (b *heardBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.heard()
	}
	return n, err
}

// Redact implements [wire.Redactor].
func (c *conn) Redact(text string) string {
	if s := c.session.Load(); s != nil && len(s.id) >= redact.Min {
		text = strings.ReplaceAll(text, s.id, "[session]")
	}
	return c.secrets.Redact(text)
}
