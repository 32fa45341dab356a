package tape

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// played returns a connection that plays messages: those that begin with ">" were sent.
func played(t *testing.T, messages ...string) mcpclient.Conn {
	t.Helper()
	file := filepath.Join(t.TempDir(), "t.jsonl")
	r := Recorder("t", file, NewFilter())
	for _, m := range messages {
		check.Must(t, r.Keep(Line{Message: &Message{Server: "s", Connection: 1, Sent: m[0] == '>', Body: json.RawMessage(m[1:])}}))
	}
	p, err := Player("t", file, NewFilter())
	check.Must(t, err)
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
