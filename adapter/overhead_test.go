package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// quick is a server with one tool, t0, that costs nothing but its answer, so that the client is
// measured.
type quick struct {
	answers chan []byte
	closed  chan struct{}
	once    sync.Once
}

func (q *quick) Dial(context.Context) (mcpclient.Conn, error) { return q, nil }

func (q *quick) Send(_ context.Context, message []byte) error {
	_, id, ok := bytes.Cut(message, []byte(`"id":`))
	if !ok {
		return nil // a notification
	}
	id = id[:bytes.IndexAny(id, ",}")]
	result := `{"content":[{"type":"text","text":"ok"}]}`
	switch {
	case bytes.Contains(message, []byte(`"initialize"`)):
		result = handshake
	case bytes.Contains(message, []byte(`"tools/list"`)):
		result = `{"tools":[{"name":"t0","description":"Does it.","inputSchema":` + benchSchema + `}]}`
	}
	answer := make([]byte, 0, 64+len(id)+len(result))
	answer = append(append(answer, `{"jsonrpc":"2.0","id":`...), id...)
	answer = append(append(append(answer, `,"result":`...), result...), '}')
	select {
	case q.answers <- answer:
		return nil
	case <-q.closed:
		return errors.New("closed")
	}
}

func (q *quick) Recv() ([]byte, error) {
	select {
	case answer := <-q.answers:
		return answer, nil
	case <-q.closed:
		return nil, io.EOF
	}
}

func (q *quick) Close() error { q.once.Do(func() { close(q.closed) }); return nil }

// bothWays has a bare call with the necessary validation, and a call through the adapter.
func bothWays(t testing.TB) (bare, through func()) {
	server := &quick{answers: make(chan []byte, 1), closed: make(chan struct{})}
	ts := open(t, &Options{ClientOptions: &legacy}, Server{Name: "s", Transport: server})
	tool, _ := ts.Catalog(profile.Plain).Lookup("t0")
	bare = func() {
		check.Must(t, tool.valid([]byte(benchArguments)))
		check.Must(t, check.Err(tool.Client().CallTool(t.Context(), "t0", json.RawMessage(benchArguments))))
	}
	c := call("1", "t0", benchArguments)
	return bare, func() { check.Must(t, ts.Catalog(profile.Plain).Call(t.Context(), c).Err) }
}

// A call through the adapter needs few allocations more than a bare call with validation.
func TestOverhead(t *testing.T) {
	bare, through := bothWays(t)
	without, with := testing.AllocsPerRun(200, bare), testing.AllocsPerRun(200, through)
	t.Logf("%.0f allocations of a bare call, %.0f through the adapter", without, with)
	check.That(t, with <= 1.5*without, "got %.0f allocations, want at most 1.5 times the %.0f of a bare call", with, without)
}

// BenchmarkCall measures each kind of call.
func BenchmarkCall(b *testing.B) {
	bare, through := bothWays(b)
	for name, call := range map[string]func(){"bare": bare, "adapter": through} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				call()
			}
		})
	}
}
