package tape

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// Each reply is given once, in its order; then the tape lacks it.
func TestReplay(t *testing.T) {
	file := filepath.Join(t.TempDir(), "t.jsonl")
	r := Recorder("t", file, NewFilter("hush-hush"))
	asked := json.RawMessage(`{"say":"hush-hush <1>"}`)
	for _, reply := range []string{`"one"`, `"two"`, `"hush-hush"`} {
		check.Must(t, r.Keep(Line{Reply: &Reply{Turn: 1, Request: asked, Reply: json.RawMessage(reply)}}))
	}
	p := check.Value(Player("t", file, NewFilter("hush-hush")))(t)
	for i, want := range []string{`"one"`, `"two"`, `"[secret]"`, ""} {
		check.Is(t, check.Err(p.Replay(2, asked)), ErrMiss, "another turn")
		got, err := p.Replay(1, asked)
		check.That(t, string(got) == want && errors.Is(err, ErrMiss) == (want == "") && p.Err() != nil, "reply %d: got %s, %v, want %s", i, got, err, want)
	}
}

func TestDifference(t *testing.T) {
	for want, c := range map[string][2]string{
		`line 2 of the request: recorded "a": 1, asked "a": 2`: {`{"a":1}`, `{"a":2}`},
		`line 3 of the request: recorded "b": 3, asked "c": 3`: {`{"a":1,"b":3}`, `{"a":1,"c":3}`},
		"the request differs in white space":                   {`{"a":1}`, `{ "a": 1 }`},
	} {
		check.Equal(t, "", difference(json.RawMessage(c[0]), json.RawMessage(c[1])), want)
	}
}

// Nothing that looks like a secret, and no secret that is known, stays in a text or in JSON, wherever it stands.
func TestFilter(t *testing.T) {
	f := NewFilter(`pass<word>"1"`, "test", "")
	for _, key := range []string{
		"sk-proj-0123456789abcdef", "ghp_0123456789abcdef0123", "github_pat_0123456789abcdef", "gsk_0123456789abcdef", "hf_0123456789abcdef",
		"ghu_0123456789abcdef", "ghr_0123456789abcdef", "xai-0123456789abcdef",
		"xoxb-0123456789-abcdef", "AKIA0123456789ABCDEF", "eyJhbGciOiJI.eyJzdWIiOiIx.c2lnbmF0dXJl", `pass<word>"1"`,
	} {
		for _, text := range []string{key, "key\n" + key, "key\t" + key, "<" + key + ">", "&" + key, "is " + key + " ok", `"` + key + `"`, "KEY=" + key} {
			filtered(t, f, text, strings.ReplaceAll(text, key, Mark))
		}
	}
	for text, want := range map[string]string{
		"Authorization: Bearer abcdef0123456789": "Authorization: Bearer [secret]",
		"Authorization: Basic QWRhOmVuZ2luZQ==":  "Authorization: Basic [secret]",
		"postgres://ada:engine@db.example/x":     "postgres://ada:[secret]@db.example/x",
		`{"env":"A=1\nsk-0123456789abcdef"}`:     `{"env":"A=1\n[secret]"}`, // a text that is JSON itself
	} {
		filtered(t, f, text, want)
	}
	for _, text := range []string{
		"the task-list of a risk-assessment", "a test of text", "bearer certificates", "basic understanding", "see https://example.com:8080/a@b", "at 10:30, mail ada@example.com",
	} {
		filtered(t, f, text, text)
	}
}

func filtered(t *testing.T, f *Filter, text, want string) {
	t.Helper()
	check.Equal(t, text, f.Text(text), want)
	data := check.Value(json.Marshal(map[string]string{"text": text}))(t)
	var back map[string]string
	err := json.Unmarshal(f.JSON(data), &back)
	check.That(t, err == nil && back["text"] == want, "%s became %s, %v", data, f.JSON(data), err)
}

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
