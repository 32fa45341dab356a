package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
)

const benchSchema = `{"type":"object","properties":{"path":{"type":"string"},"edits":{"type":"array","items":{"type":"object",` +
	`"properties":{"oldText":{"type":"string"},"newText":{"type":"string"}},"required":["oldText","newText"],"additionalProperties":false}},` +
	`"dryRun":{"type":"boolean"}},"required":["path","edits"],"additionalProperties":false}`

const benchArguments = `{"path":"/a","edits":[{"oldText":"a","newText":"b"},{"oldText":"c","newText":"d"}],"dryRun":true}`

// answering is a server whose answers cost next to nothing, so that benchmarks measure the client.
// It lists its tools in pages of 25 and counts the requests of each method.
func answering(t testing.TB, tools int, counts map[string]*atomic.Int64) mcpclient.Transport {
	var pages []string
	for from := 0; from < tools; from += 25 {
		list := ""
		for i := from; i < min(from+25, tools); i++ {
			list += fmt.Sprintf(`,{"name":"t%d","description":"Does it.","inputSchema":%s}`, i, benchSchema)
		}
		pages = append(pages, list[1:])
	}
	page := 0
	transport, _ := scriptedBy(t, func(method string) string {
		if n := counts[method]; n != nil {
			n.Add(1)
		}
		switch method {
		case "tools/list":
			list := `{"tools":[` + pages[page] + `]`
			if page = (page + 1) % len(pages); page > 0 {
				list += fmt.Sprintf(`,"nextCursor":"%d"`, page)
			}
			return list + "}"
		case "tools/call":
			return `{"content":[{"type":"text","text":"ok"}]}`
		}
		return ""
	})
	return transport
}

// BenchmarkOpen opens 1,000 tools of 20 servers.
func BenchmarkOpen(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var servers []Server
		for i := range 20 {
			servers = append(servers, Server{Name: fmt.Sprint(i), Transport: answering(b, 50, nil)})
		}
		if ts := open(b, &Options{ClientOptions: &legacy}, servers...); len(ts.Catalog(profile.Plain).Tools()) != 1000 {
			b.Fatalf("got %d tools", len(ts.Catalog(profile.Plain).Tools()))
		}
	}
}

// A large toolset opens with one round trip for each page and server, and writes its definitions
// once. Calls use the same connections, and list nothing again.
func TestLargeToolset(t *testing.T) {
	counts := map[string]*atomic.Int64{"tools/list": {}, "initialize": {}, "tools/call": {}}
	var servers []Server
	for i := range 20 {
		servers = append(servers, Server{Name: fmt.Sprint(i), Transport: answering(t, 50, counts)})
	}
	ts := open(t, &Options{ClientOptions: &legacy}, servers...)
	check.Equal(t, "definitions", len(ts.Catalog(profile.Plain).Definitions()), 1000)
	for _, p := range profile.All() {
		first := ts.Catalog(p).Definitions()
		second := ts.Catalog(p).Definitions()
		for i := range first {
			check.Require(t, parameters(first[i]) == parameters(second[i]), "%s: got the parameters of %s written twice", p, first[i].Function.Name)
		}
		check.Equal(t, p, ts.Catalog(p).Call(t.Context(), call("1", "_3__t7", benchArguments)).Text, "ok")
	}
	for method, want := range map[string]int64{"initialize": 20, "tools/list": 40, "tools/call": int64(len(profile.All()))} {
		got := counts[method].Load()
		check.That(t, got == want, "%s: got %d requests, want %d", method, got, want)
	}
}

// parameters returns the address of a definition's parameters.
func parameters(tool llms.Tool) uintptr { return reflect.ValueOf(tool.Function.Parameters).Pointer() }

// BenchmarkFunc measures one call of a function, from the model's text to the text for the model.
func BenchmarkFunc(b *testing.B) {
	b.ReportAllocs()
	f := Func("echo", "Says ok.", func(_ context.Context, in struct {
		X int `json:"x"`
	}) (string, error) {
		return "ok", nil
	}, nil)
	other := Func("other", "Says ok.", func(context.Context, struct{}) (string, error) { return "ok", nil }, nil)
	source := Merge(f, other)
	for b.Loop() {
		p, err := source.Catalog(profile.Plain).Prepare(call("1", "echo", `{"x":1}`))
		if err != nil {
			b.Fatal(err)
		}
		if r := p.WithIdempotencyKey("K").Run(b.Context()); r.Text != "ok" {
			b.Fatal(r.Text)
		}
	}
}

// quick is a server with one tool, t0, that costs nothing but its answer, so that the client is measured.
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
		if _, err := tool.Client().CallTool(t.Context(), "t0", json.RawMessage(benchArguments)); err != nil {
			t.Fatal(err)
		}
	}
	c := call("1", "t0", benchArguments)
	return bare, func() {
		if r := ts.Catalog(profile.Plain).Call(t.Context(), c); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
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
