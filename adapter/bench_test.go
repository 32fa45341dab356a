package adapter

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/mcpclient"
)

const benchSchema = `{"type":"object","properties":{"path":{"type":"string"},"edits":{"type":"array","items":{"type":"object",` +
	`"properties":{"oldText":{"type":"string"},"newText":{"type":"string"}},"required":["oldText","newText"],"additionalProperties":false}},` +
	`"dryRun":{"type":"boolean"}},"required":["path","edits"],"additionalProperties":false}`

const benchArguments = `{"path":"/a","edits":[{"oldText":"a","newText":"b"},{"oldText":"c","newText":"d"}],"dryRun":true}`

// answering is a server whose answers cost next to nothing, so that what is
// measured is the client's side. It lists its tools in pages of 25 and counts the
// requests of each method.
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
	transport, conn := mcpclient.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		serve(t, conn, func(method string) string {
			if n := counts[method]; n != nil {
				n.Add(1)
			}
			switch method {
			case "initialize":
				return `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`
			case "tools/list":
				list := `{"tools":[` + pages[page] + `]`
				if page = (page + 1) % len(pages); page > 0 {
					list += fmt.Sprintf(`,"nextCursor":"%d"`, page)
				}
				return list + "}"
			}
			return `{"content":[{"type":"text","text":"ok"}]}`
		})
	}()
	t.Cleanup(func() { _ = conn.Close(); <-ended })
	return transport
}

// BenchmarkCall compares a call through the adapter with the bare call of the
// client and the validation that it needs.
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

// BenchmarkOverhead makes both kinds of calls in turn, and reports how many times
// as much the one through the adapter takes.
func BenchmarkOverhead(b *testing.B) {
	bare, through := bothWays(b)
	var without, with time.Duration
	for b.Loop() {
		start := time.Now()
		bare()
		middle := time.Now()
		through()
		without, with = without+middle.Sub(start), with+time.Since(middle)
	}
	b.ReportMetric(with.Seconds()/without.Seconds(), "times-bare")
}

// bothWays is a bare call with the validation that it needs, and one through the
// adapter.
func bothWays(t testing.TB) (bare, through func()) {
	ts := open(t, &Options{Client: &legacy}, Server{Name: "s", Transport: answering(t, 1, nil)})
	tool, _ := ts.Lookup("t0")
	bare = func() {
		if err := tool.schema.Validate([]byte(benchArguments)); err != nil {
			t.Fatal(err)
		}
		if _, err := tool.Client().CallTool(t.Context(), "t0", json.RawMessage(benchArguments)); err != nil {
			t.Fatal(err)
		}
	}
	c := call("1", "t0", benchArguments)
	through = func() {
		if r := ts.Call(t.Context(), c); r.Err != nil {
			t.Fatal(r.Err)
		}
	}
	return bare, through
}

// A call through the adapter allocates little more than a bare one does.
func TestOverhead(t *testing.T) {
	bare, through := bothWays(t)
	without, with := testing.AllocsPerRun(200, bare), testing.AllocsPerRun(200, through)
	t.Logf("%.0f allocations of a bare call, %.0f through the adapter: %.2f times", without, with, with/without)
	if with > 1.5*without {
		t.Errorf("got %.0f allocations, want at most 1.5 times the %.0f of a bare call", with, without)
	}
}

// BenchmarkOpen opens 1,000 tools of 20 servers.
func BenchmarkOpen(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var servers []Server
		for i := range 20 {
			servers = append(servers, Server{Name: fmt.Sprint(i), Transport: answering(b, 50, nil)})
		}
		if ts := open(b, &Options{Client: &legacy}, servers...); len(ts.Tools()) != 1000 {
			b.Fatalf("got %d tools", len(ts.Tools()))
		}
	}
}

// A large toolset opens in one round trip for each page and server, and writes
// its definitions once.
func TestLargeToolset(t *testing.T) {
	counts := map[string]*atomic.Int64{"tools/list": {}, "initialize": {}, "tools/call": {}}
	var servers []Server
	for i := range 20 {
		servers = append(servers, Server{Name: fmt.Sprint(i), Transport: answering(t, 50, counts)})
	}
	ts := open(t, &Options{Client: &legacy}, servers...)
	if n := len(ts.Definitions()); n != 1000 {
		t.Errorf("got %d definitions, want 1000", n)
	}
	for method, want := range map[string]int64{"initialize": 20, "tools/list": 40, "tools/call": 0} {
		if got := counts[method].Load(); got != want {
			t.Errorf("%s: got %d requests, want %d", method, got, want)
		}
	}
	for _, p := range Profiles() {
		first := ts.catalog.Load().profiles[p]()
		if second := ts.catalog.Load().profiles[p](); first != second {
			t.Errorf("%s: got definitions that were written twice", p)
		}
	}
}
