package mcptest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
)

// recorder is a test that records its failures.
type recorder struct {
	testing.TB
	failures []string
	cleanups []func()
}

func (r *recorder) Helper()                        {}
func (r *recorder) Cleanup(f func())               { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Error(args ...any)              { r.failures = append(r.failures, fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, a ...any) { r.Error(fmt.Sprintf(format, a...)) }

func (r *recorder) end() {
	for _, f := range slices.Backward(r.cleanups) {
		f()
	}
}

// channel is a connection of a script.
type channel struct {
	toClient, toServer chan []byte
	closed             chan struct{}
}

func newChannel() *channel {
	return &channel{make(chan []byte, 10), make(chan []byte, 10), make(chan struct{}, 10)}
}

func (c *channel) Send(_ context.Context, m []byte) error { c.toClient <- m; return nil }
func (c *channel) Close() error                           { c.closed <- struct{}{}; return nil }

func (c *channel) Recv() ([]byte, error) {
	if m, ok := <-c.toServer; ok {
		return m, nil
	}
	return nil, io.EOF
}

// play plays text to a client's messages, and returns the messages to the client, the script's failures, and the file afterwards.
func play(t *testing.T, text string, update bool, says ...string) (got []string, failures []string, after string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "script.txtar")
	check.Must(t, os.WriteFile(path, []byte(text), 0o600))
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{TB: t}
		c := newChannel()
		read(r, path, update).serve(c)
		for _, m := range says {
			c.toServer <- []byte(m)
		}
		synctest.Wait()
		close(c.toServer)
		synctest.Wait()
		r.end()
		failures = r.failures
		for len(c.toClient) > 0 {
			got = append(got, string(<-c.toClient))
		}
	})
	return got, failures, string(check.Value(os.ReadFile(path))(t))
}

const talk = `A talk.
-- meta --
{"who": "me"}
-- client, any order --
{"id": 1, "method": "a"}
{"id": 2, "method": "b", "params": {"x": "*", "_meta": {"y": 1}}}
-- server --
{"id": 1, "result": {
  "n": 1}}
-- server, raw --
no JSON
-- client --
{"method": "bye"}
`

func TestPlay(t *testing.T) {
	a, b, bye := `{"id":1,"method":"a","params":{"_meta":{"who":"me"}}}`, `{"id":2,"method":"b","params":{"_meta":{"who":"me","y":1},"x":5}}`, `{"method":"bye"}`
	for name, test := range map[string]struct {
		says []string
		want string // part of the one failure
	}{
		"as written":       {[]string{a, b, bye}, ""},
		"in another order": {[]string{b, a, bye}, ""},
		"other meta":       {[]string{strings.Replace(a, `"me"`, `"you"`, 1), b, bye}, `_meta "who" of the client's a`},
		"other message":    {[]string{a, b, `{"method":"ciao"}`}, `+ 	"method": string("ciao")`},
		"other number":     {[]string{a, strings.Replace(b, `"y":1`, `"y":1.0`, 1), bye}, `"1.0"`},
		"too few":          {[]string{a, b}, "the client closed the connection before this section"},
		"too many":         {[]string{a, b, bye, bye}, "the client sent more than the script has"},
		"no message":       {[]string{a, "{"}, "something that is not a message"},
	} {
		t.Run(name, func(t *testing.T) {
			got, failures, after := play(t, talk, false, test.says...)
			if wantFailure(t, failures, test.want); test.want == "" {
				check.Same(t, "the client got", got, []string{`{"id":1,"result":{"n":1}}`, "no JSON"})
			}
			check.Equal(t, "the file afterwards", after, talk)
		})
	}
}

// The progress token of a tool call is its id; the script may omit it.
func TestProgressTokens(t *testing.T) {
	const script = "-- client --\n" + `{"id": 1, "method": "tools/call", "params": {"name": "a"%s}}` + "\n"
	const says = `{"id":1,"method":"tools/call","params":{"name":"a","_meta":{"progressToken":%d}}}`
	for name, tt := range map[string]struct {
		written string
		token   int
		want    string
	}{
		"not written": {"", 1, ""},
		"not the id":  {"", 2, "has the progress token 2, want its id 1"},
		"written":     {`, "_meta": {"progressToken": 1}`, 1, ""},
		"another":     {`, "_meta": {"progressToken": 1}`, 2, "progressToken"},
	} {
		_, failures, _ := play(t, fmt.Sprintf(script, tt.written), false, fmt.Sprintf(says, tt.token))
		check.That(t, (tt.want == "") == (len(failures) == 0) && strings.Contains(strings.Join(failures, "\n"), tt.want),
			"%s: got failures %q, want %q", name, failures, tt.want)
	}
}

// wantFailure checks that there is one failure with this part, "" for none. It ignores the blanks that go-cmp varies.
func wantFailure(t *testing.T, failures []string, part string) {
	t.Helper()
	flat := func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, "\u00a0", " ")), " ") }
	check.That(t, (part != "" || len(failures) == 0) && (part == "" || len(failures) == 1 && strings.Contains(flat(failures[0]), flat(part))),
		"got the failures %q, want %q", failures, part)
}

func TestUpdate(t *testing.T) {
	a, b := `{"id":1,"method":"a","params":{"_meta":{"who":"me"}}}`, `{"id":2,"method":"b","params":{"_meta":{"who":"me","y":1},"x":5}}`
	_, failures, after := play(t, talk, true, a, b, `{"method":"ciao"}`)
	wantFailure(t, failures, "")
	check.Equal(t, "the file", after, strings.Replace(talk, `{"method": "bye"}`, `{"method":"ciao"}`, 1))
	_, _, after = play(t, talk, true, a)
	check.Equal(t, "the file of a script that was not played to its end", after, talk)
}

func TestSilenceIsReported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "script.txtar")
	check.Must(t, os.WriteFile(path, []byte("-- client --\n{}\n"), 0o600))
	synctest.Test(t, func(t *testing.T) {
		r := &recorder{TB: t}
		c := newChannel()
		Read(r, path).serve(c)
		<-c.closed // the script fails and closes the connection
		close(c.toServer)
		r.end()
		wantFailure(t, r.failures, "section 1 (client): the client sent nothing")
	})
}

const exchanges = `About HTTP.
-- POST a --
Mcp-Method: a

{"id": 1, "method": "a"}
-- stream a --
200 text/event-stream
X-More: yes

data: 1

-- GET --
-- reply --
405
-- more a --
data: 2

-- cut a --
-- POST --

{"id": 2, "method": "b"}
-- stream --
200 text/plain
-- gone --
`

func TestExchanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "script.txtar")
	for change, want := range map[string]string{
		"":                             "",
		"Mcp-Method: a=Mcp-Method: b":  `+ "Mcp-Method: a"`,
		`"id": 2=` + `"id": 3`:         "request of the client",
		"-- GET --=-- DELETE --":       "the client sent nothing",
		"-- cut a --=-- nonsense a --": "no such kind of section",
	} {
		t.Run(change, func(t *testing.T) {
			from, to, _ := strings.Cut(change, "=")
			check.Must(t, os.WriteFile(path, []byte(strings.Replace(exchanges, from, to, 1)), 0o600))
			synctest.Test(t, func(t *testing.T) {
				r := &recorder{TB: t}
				s := memhttp.New(Read(r, path))
				converse(t, s, want == "")
				synctest.Wait()
				r.end()
				s.Close()
				wantFailure(t, r.failures, want)
			})
		})
	}
}

// converse is the client of TestExchanges.
func converse(t *testing.T, s *memhttp.Server, asWritten bool) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	send := func(method, body string, header ...string) *http.Response {
		req := check.Value(http.NewRequestWithContext(ctx, method, s.URL(), strings.NewReader(body)))(t)
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		resp, err := s.Client().Do(req)
		if err != nil {
			return &http.Response{Body: http.NoBody}
		}
		return resp
	}
	post := []string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}
	first := send(http.MethodPost, `{"id":1,"method":"a"}`, append(post, "Mcp-Method", "a")...)
	defer func() { _ = first.Body.Close() }()
	get := send(http.MethodGet, "", "Accept", "text/event-stream")
	_ = get.Body.Close()
	body, err := io.ReadAll(first.Body)
	check.That(t, !asWritten || string(body) == "data: 1\n\ndata: 2\n\n" && errors.Is(err, io.ErrUnexpectedEOF) && first.Header.Get("X-More") == "yes" && get.StatusCode == 405,
		"got %q, %v, %v and %s", body, err, first.Header, get.Status)
	_ = send(http.MethodPost, `{"id":2,"method":"b"}`, post...).Body.Close()
}
