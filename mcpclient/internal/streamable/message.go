package streamable

import (
	"io"
	"net/http"

	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// message is a message on its way to the server, in one or more requests over HTTP.
type message struct {
	sent         *wire.Message
	header       http.Header // shared: do not modify it
	awaitsAnswer bool        // it expects an answer
	bound        bool        // it belongs to its session; otherwise it joins the current one
	sourceKnows  bool        // that its token was refused: telling it again could ask a person again

	session *session        // the session in which it is sent, or nil
	token   transport.Token // the token with which it is sent
}

func newMessage(sent *wire.Message) *message {
	m := &message{sent: sent, header: sent.Header}
	if s, ok := sent.In.(*session); ok {
		m.bound = true
		m.setSession(s)
	}
	return m
}

func (m *message) setSession(s *session) {
	m.session = s
	if s == nil {
		m.sent.SetSession(nil)
	} else {
		m.sent.SetSession(s)
	}
}

// isFollowUp reports whether a message follows from an earlier one of its session, such as the
// answer to a server's request. A request for the next page does not.
func (m *message) isFollowUp() bool { return m.bound && m.session != nil && !m.awaitsAnswer }

// withReadHook returns a body that reports its reads to the sender of the message.
func (m *message) withReadHook(body io.ReadCloser) io.ReadCloser {
	if m.sent.Heard == nil {
		return body
	}
	return &hookedBody{body, m.sent.Heard}
}

// hookedBody reports every read, including comments that keep a stream alive.
type hookedBody struct {
	io.ReadCloser
	onRead func()
}

func (b *hookedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.onRead()
	}
	return n, err
}
