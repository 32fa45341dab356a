package streamable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/mcpchain/mcpchain/internal/redact"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// message is a message that is being sent, perhaps by several HTTP requests.
type message struct {
	sent   *wire.Message
	header http.Header // of this message; shared, not to be changed
	asks   bool        // it awaits an answer
	bound  bool        // to its session; otherwise it joins the current one

	session *session        // that it is sent in; nil for none
	token   transport.Token // that it is sent with
}

func newMessage(sent *wire.Message) *message {
	m := &message{sent: sent, header: sent.Header}
	if s, ok := sent.In.(*session); ok {
		m.bound = true
		m.in(s)
	}
	return m
}

// messageKey is that of a message in the context of its HTTP requests.
type messageKey struct{}

// MessageFrom is what mcpclient.MessageFrom says.
func MessageFrom(ctx context.Context) []byte {
	m, _ := ctx.Value(messageKey{}).(*wire.Message)
	if m == nil {
		return nil
	}
	return m.Body
}

// in makes s the session of the message, nil for none.
func (m *message) in(s *session) {
	m.session = s
	if s == nil {
		m.sent.SetSession(nil)
	} else {
		m.sent.SetSession(s)
	}
}

// follows reports whether a message follows from an earlier one of its session, as the
// answer to a question does. A request for the next page does not: its caller asks now.
func (m *message) follows() bool { return m.bound && m.session != nil && !m.asks }

// listened is the body of a response whose reading is told to the sender of the message.
func (m *message) listened(body io.ReadCloser) io.ReadCloser {
	if m.sent.Heard == nil {
		return body
	}
	return &heardBody{body, m.sent.Heard}
}

// heardBody tells whenever something was read from it: comments too, by which a
// server keeps a stream alive.
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

// ended is the error of a context that has ended: its cause, if there is one.
func ended(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%v: %w", cause, err)
}
