package tape

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// played returns a connection that plays messages: those that begin with ">" were sent.
func played(t *testing.T, messages ...string) transport.Conn {
	t.Helper()
	file := filepath.Join(t.TempDir(), "t.jsonl")
	r := Recorder("t", file, NewFilter())
	for _, m := range messages {
		check.Must(t, r.Keep(Line{Message: &Message{Server: "s", Connection: 1, Sent: m[0] == '>', Body: json.RawMessage(m[1:])}}))
	}
	p := check.Value(Player("t", file, NewFilter()))(t)
	return check.Value(p.Play("s").Dial(t.Context()))(t)
}

// A server's own request may have the id of a recorded request of the client. The answer to it does not change to whom the
// response to that request goes.
func TestServerHasItsOwnIDs(t *testing.T) {
	c := played(t,
		`>{"id":3,"method":"tools/call"}`,
		`<{"id":3,"method":"elicitation/create"}`,
		`>{"id":3,"result":{}}`,
		`<{"id":3,"result":{"content":[]}}`)
	for _, sent := range []string{`{"id":4,"method":"tools/call"}`, `{"id":3,"result":{}}`} {
		check.Must(t, c.Send(t.Context(), []byte(sent)))
	}
	for _, want := range []string{`{"id":3,"method":"elicitation/create"}`, `{"id":4,"result":{"content":[]}}`} {
		check.Equal(t, "message", string(check.Value(c.Recv())(t)), want)
	}
}

// hangingUp is a server that ends the connection with an error after its messages; nil: it waits for Close.
type hangingUp struct {
	messages [][]byte
	err      error
	closed   chan struct{}
}

func (h *hangingUp) Dial(context.Context) (transport.Conn, error) { return h, nil }
func (h *hangingUp) Send(context.Context, []byte) error           { return nil }

func (h *hangingUp) Recv() ([]byte, error) {
	if len(h.messages) > 0 {
		m := h.messages[0]
		h.messages = h.messages[1:]
		return m, nil
	}
	if h.err == nil {
		<-h.closed
		return nil, io.EOF
	}
	return nil, h.err
}

func (h *hangingUp) Close() error {
	close(h.closed)
	return nil
}

// The end of a connection is played if the server ended it, and waits for the client's messages like any other. If the
// client closed the connection, it ends when the client closes it again.
func TestEndOfConnection(t *testing.T) {
	const call, answer = `{"id":1,"method":"tools/call"}`, `{"method":"notifications/message"}`
	for _, end := range []error{io.EOF, errors.New("process exited with status 2"), nil} {
		synctest.Test(t, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "t.jsonl")
			h := &hangingUp{messages: [][]byte{[]byte(answer)}, err: end, closed: make(chan struct{})}
			recorded := check.Value(Recorder("t", file, NewFilter()).Record("s", h).Dial(t.Context()))(t)
			for i := range 2 {
				c := recorded
				if i == 1 {
					player := check.Value(Player("t", file, NewFilter()))(t)
					c = check.Value(player.Play("s").Dial(t.Context()))(t)
				}
				check.Must(t, c.Send(t.Context(), []byte(call)))
				check.Equal(t, "message", string(check.Value(c.Recv())(t)), answer)
				got := make(chan error, 1)
				go func() { got <- check.Err(c.Recv()) }()
				synctest.Wait()
				check.Equal(t, "ended by the server", len(got) == 1, end != nil)
				check.Must(t, c.Close())
				want := io.EOF
				if end != nil {
					want = end
				}
				check.Equal(t, "error", (<-got).Error(), want.Error())
			}
		})
	}
}
