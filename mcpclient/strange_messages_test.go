package mcpclient_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"golang.org/x/tools/txtar"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// lines is the server's end of a connection with one message per line.
type lines struct {
	in  *bufio.Reader
	tap *tap
	out *io.PipeWriter
}

// tap is a reader that returns nothing after it was shut.
type tap struct {
	io.Reader
	shut atomic.Bool
	gone chan struct{} // closing it ends a waiting Read
}

func (t *tap) Read(b []byte) (int, error) {
	if t.shut.Load() {
		<-t.gone
		return 0, io.EOF
	}
	return t.Reader.Read(b)
}

func (l lines) Recv() ([]byte, error) { return l.in.ReadBytes('\n') }
func (l lines) Close() error          { return l.out.Close() }

func (l lines) Send(_ context.Context, message []byte) error {
	_, err := l.out.Write(append(message, '\n'))
	return err
}

// program returns a transport to a server with one message per line, and the writer of its output.
// answer returns what the server writes on a message, "" for nothing. The output ends with the input.
func program(answer func(m message) string) (*mcpclient.IO, *io.PipeWriter) {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	go func() {
		for in := bufio.NewScanner(fromClient); in.Scan(); {
			var m message
			_ = json.Unmarshal(in.Bytes(), &m)
			if text := answer(m); text != "" {
				_, _ = fmt.Fprintln(toClient, text)
			}
		}
		_ = toClient.Close()
	}()
	return &mcpclient.IO{Reader: fromServer, Writer: toServer}, toClient
}

// overLines runs f in a bubble with a client that is connected by lines of text.
func overLines(t *testing.T, opts mcpclient.Options, f func(t *testing.T, c *mcpclient.Client, p *peer)) {
	t.Helper()
	overLinesUpTo(t, 0, opts, f)
}

// overLinesUpTo is overLines with a bound of messages in bytes, 0 for the default.
func overLinesUpTo(t *testing.T, maxMessage int, opts mcpclient.Options, f func(t *testing.T, c *mcpclient.Client, p *peer)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		fromClient, toServer := io.Pipe()
		fromServer, toClient := io.Pipe()
		in := &tap{Reader: fromClient, gone: make(chan struct{})}
		defer close(in.gone)
		p := &peer{t: t, conn: lines{bufio.NewReader(in), in, toClient}, inbox: make(chan message, 1<<15)}
		go p.read()
		go p.handshake()
		c := connected(t, &mcpclient.IO{Reader: fromServer, Writer: toServer, MaxMessage: maxMessage}, opts)
		synctest.Wait() // for the end of the handshake
		f(t, c, p)
	})
}

type outcome struct {
	text string
	err  error
}

func goCall(ctx context.Context, c *mcpclient.Client, tool string) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		res, err := c.CallTool(ctx, tool, nil)
		if err != nil {
			done <- outcome{err: err}
			return
		}
		done <- outcome{text: res.Text()}
	}()
	return done
}

func deep(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// answered is the answer to the call $ID.
const answered = `{"jsonrpc":"2.0","id":$ID,"result":{"content":[{"type":"text","text":"first"}]}}`

// verdict says how a call ends after a strange message.
type verdict int

const (
	waits    verdict = iota // continues to wait for its answer
	ends                    // succeeds: the message is its answer
	invalid                 // fails at once
	tooLarge                // fails at once
)

// strange are messages of a server while two calls wait, and what each means for the first call, whose id is $ID.
var strange = []struct {
	name, says string
	want       verdict
}{
	{"broken, of two calls", `{"jsonrpc":"2.0","id":$ID,"id":$OTHER,"result":{"a":}}`, waits},
	{"text line", "Listening on stdio", waits},
	{"blank lines", "\n \t\n\r\n", waits},
	{"control characters", "\x1b[31mwarning\x1b[0m\x00", waits},
	{"log line in brackets", "[INFO] running", waits},
	{"log line in JSON", `{"level":"info","msg":"running"}`, waits},
	{"{}", "{}", waits}, {"[]", "[]", waits}, {"null", "null", waits}, {"42", "42", waits}, {"string", `"text"`, waits},
	{"broken JSON", `{"broken`, waits},
	{"broken JSON with another id", `{"jsonrpc":"2.0","id":99,"result":{`, waits},
	{"broken answer", `{"jsonrpc":"2.0","id":$ID,"result":{"content":[}}`, invalid},
	{"broken answer with its id last", `{"jsonrpc":"2.0","result":{"content":[}},"id":$ID}`, invalid},
	{"half an answer", `{"jsonrpc":"2.0","id":$ID,"result":{"cont`, invalid},
	{"error with id null", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`, waits},
	{"error without id", `{"jsonrpc":"2.0","error":{"code":-32700,"message":"what?"}}`, waits},
	{"result without id", `{"jsonrpc":"2.0","result":{}}`, waits},
	{"byte order mark", "\uFEFF" + answered, ends},
	{"CRLF", answered + "\r", ends},
	{"unknown id", `{"jsonrpc":"2.0","id":9999,"result":{}}`, waits},
	{"id of another kind", `{"jsonrpc":"2.0","id":{"a":$ID},"result":{}}`, waits},
	{"negative id", `{"jsonrpc":"2.0","id":-$ID,"result":{}}`, waits},
	{"huge id", `{"jsonrpc":"2.0","id":1844674407370955161$ID,"result":{}}`, waits},
	{"duplicate response", answered + "\n" + answered, ends},
	{"contradicting duplicate", answered + "\n" + `{"jsonrpc":"2.0","id":$ID,"error":{"code":1,"message":"no"}}`, ends},
	{"unknown notification", `{"jsonrpc":"2.0","method":"notifications/acme","params":{}}`, waits},
	{"broken notification", `{"jsonrpc":"2.0","method":"notifications/progress","params":[}`, waits},
	{"misfit notification", `{"jsonrpc":"2.0","method":"notifications/progress","params":7}`, waits},
	{"unknown request", `{"jsonrpc":"2.0","id":$ID,"method":"acme/do"}`, waits},
	{"broken request", `{"jsonrpc":"2.0","id":$ID,"method":"ping","params":[}`, waits},
	{"id echoed as string", strings.Replace(answered, "$ID", `"$ID"`, 1), ends},
	{"id echoed as decimal", strings.Replace(answered, "$ID", `$ID.0`, 1), ends},
	{"batch", `[{"jsonrpc":"2.0","method":"notifications/acme"},` + answered + `]`, ends},
	{"id echoed with an exponent", strings.Replace(answered, "$ID", `$ID0e-1`, 1), ends},
	{"answer behind text", "Loading… " + answered, ends},
	{"answer behind a log line in brackets", "[INFO] sent " + answered, ends},
	{"answer between escape sequences", "\x1b[0m" + answered + "\x1b[0m", ends},
	{"answer behind another", `{"jsonrpc":"2.0","id":9999,"result":{}}` + answered, ends},
	{"answer behind a notification", `{"jsonrpc":"2.0","method":"notifications/acme"} ` + answered, ends},
	{"half an answer behind a message", `{"jsonrpc":"2.0","id":9999,"result":{}}{"jsonrpc":"2.0","id":$ID,"re`, invalid},
	{"answer as part of a value", `"text": ` + answered, waits},
	{"text about half an answer", `sent {"jsonrpc":"2.0","id":$ID,"result":{"cont…`, waits},
	{"answer between NULs", "\x00" + answered + "\x00", ends},
	{"answer behind RS", "\x1e" + answered, ends},
	{"answer before text", answered + "Done.", ends},
	{"answer that continues", answered + `},"isError":true}`, invalid},
	{"log line about half an answer", `[INFO] sent {"jsonrpc":"2.0","id":$ID,"result":{"cont…`, waits},
	{"log line about a broken answer", `[INFO] sent {"jsonrpc":"2.0","id":$ID}`, waits},
	{"log line in JSON with the id", `{"level":"info","id":$ID}`, waits},
	{"method beside the result", strings.Replace(answered, `"result"`, `"method":"tools/call","result"`, 1), invalid},
	{"another id behind the id", strings.Replace(answered, `"result"`, `"id":9999,"result"`, 1), invalid},
	{"another id before the id", strings.Replace(answered, `"id"`, `"id":9999,"id"`, 1), invalid},
	{"batch in a batch", `[[` + answered + `],[]]`, waits},
	{"batch with noise", `[null,7,{},` + answered + `]`, ends},
	{"on several lines", strings.ReplaceAll(answered, ",", ",\n"), waits},
	{"without jsonrpc", `{"id":$ID,"result":{"content":[{"type":"text","text":"first"}]}}`, ends},
	{"another jsonrpc", strings.Replace(answered, "2.0", "1.0", 1), ends},
	{"error null beside the result", strings.Replace(answered, `"id"`, `"error":null,"x":[],"id"`, 1), ends},
	{"invalid UTF-8", strings.Replace(answered, `"id"`, "\"\xff\":\"\xff\",\"id\"", 1), ends},
	{"result null", `{"jsonrpc":"2.0","id":$ID,"result":null}`, invalid},
	{"result of a wrong kind", `{"jsonrpc":"2.0","id":$ID,"result":42}`, invalid},
	{"content of a wrong kind", `{"jsonrpc":"2.0","id":$ID,"result":{"content":42}}`, invalid},
	{"error of a wrong kind", `{"jsonrpc":"2.0","id":$ID,"error":"no"}`, invalid},
	{"result and error", `{"jsonrpc":"2.0","id":$ID,"result":{},"error":{"code":1,"message":"no"}}`, invalid},
	{"neither result nor error", `{"jsonrpc":"2.0","id":$ID}`, invalid},
	{"member twice", `{"jsonrpc":"2.0","id":$ID,"result":{},"result":{}}`, invalid},
	{"nested 2,000", `{"jsonrpc":"2.0","id":$ID,"result":{"content":` + deep(2_000) + `}}`, invalid},
	{"nested 20,000", `{"jsonrpc":"2.0","id":$ID,"result":{"content":` + deep(20_000) + `}}`, invalid},
	{"nested 20,000, id last", `{"jsonrpc":"2.0","result":{"content":` + deep(20_000) + `},"id":$ID}`, invalid},
	{"nested 20,000 in a notification", `{"jsonrpc":"2.0","method":"n","params":{"a":` + deep(20_000) + `}}`, waits},
	{"64 MiB line", `{"jsonrpc":"2.0","id":$ID,"result":{"content":"` + strings.Repeat("x", 64<<20) + `"}}`, tooLarge},
	{"64 MiB of noise", strings.Repeat("x", 64<<20), waits},
}

// A bad message fails at most the call to which it belongs, at once.
func TestStrangeMessages(t *testing.T) {
	for era, opts := range eras() {
		for _, probe := range strange {
			t.Run(era+"/"+probe.name, func(t *testing.T) {
				overLines(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
					first := goCall(t.Context(), c, "first")
					asked := p.next()
					second := goCall(t.Context(), c, "second")
					other := p.next()
					p.send("%s", strings.NewReplacer("$ID", string(asked.ID), "$OTHER", string(other.ID)).Replace(probe.says))
					synctest.Wait()
					if probe.want == waits {
						if len(first) > 0 {
							t.Errorf("got %+v for a call that the message does not concern", <-first)
							return
						}
						p.answer(asked)
						synctest.Wait()
					}
					check.Require(t, len(first) != 0, "the call continues")
					probe.want.check(t, <-first)
					p.answer(other)
					go p.echo()
					got := <-second
					check.That(t, got.err == nil && got.text == "second", "another call: got %q, %v", got.text, got.err)
					callText(t, t.Context(), c, "third", "third")
					check.NoError(t, c.Err(), "the connection ended")
				})
			})
		}
	}
}

func (v verdict) check(t *testing.T, got outcome) {
	t.Helper()
	want := map[verdict]error{invalid: mcp.ErrInvalidResult, tooLarge: transport.ErrMessageTooLarge}[v]
	check.That(t, errors.Is(got.err, want), "got %.300v, want %v", got.err, want)
	check.That(t, want != nil || got.text == "first", "got the answer %q, want the first", got.text)
	if got.err != nil && len(got.err.Error()) > 4<<10 {
		t.Errorf("got an error of %d bytes", len(got.err.Error()))
	}
}

// The client continues to read after any message of the server.
func FuzzReceive(f *testing.F) {
	files, err := filepath.Glob("testdata/*.txtar")
	check.Require(f, err == nil && len(files) != 0, "no transcripts to begin with:  %v", err)
	for _, file := range files {
		data := check.Value(os.ReadFile(file))(f)
		for _, section := range txtar.Parse(data).Files {
			f.Add(bytes.TrimSpace(section.Data), len(data)%2 == 0)
		}
	}
	f.Add([]byte(`[{"id":2,"result":null},{"id":2,"error":{}},{"method":"notifications/cancelled","params":{"requestId":null}}]`), false)
	f.Add([]byte(`{"id":1e2,"method":"sampling/createMessage","params":{"messages":[{"role":"user","content":[[]]}],"maxTokens":1}}`), false)
	f.Fuzz(func(t *testing.T, data []byte, isModern bool) {
		opts := asks(legacy())
		if isModern {
			opts.Protocol.Revision = mcp.Revision20260728
		}
		marked := make(chan bool)
		opts.OnNotification = func(n *mcp.Notification) {
			if n.Method == "the mark of the test" {
				close(marked)
			}
		}
		c, p := connectedPeer(t, opts)
		ctx, cancel := context.WithCancel(t.Context())
		returned := make(chan bool)
		go func() {
			defer close(returned)
			_, _ = c.CallTool(ctx, "a", nil)
		}()
		p.next()
		_ = p.conn.Send(t.Context(), data)
		p.send(`{"method":"the mark of the test"}`)
		<-marked
		cancel()
		<-returned
		check.NoError(t, c.Err(), "the connection ended")
	})
}
