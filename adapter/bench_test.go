package adapter

import (
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient"
)

const benchSchema = `{"type":"object","properties":{"path":{"type":"string"},"edits":{"type":"array","items":{"type":"object",` +
	`"properties":{"oldText":{"type":"string"},"newText":{"type":"string"}},"required":["oldText","newText"],"additionalProperties":false}},` +
	`"dryRun":{"type":"boolean"}},"required":["path","edits"],"additionalProperties":false}`

const benchArguments = `{"path":"/a","edits":[{"oldText":"a","newText":"b"},{"oldText":"c","newText":"d"}],"dryRun":true}`

// answering is a server whose answers cost next to nothing, so that what is
// measured is the client's side. It counts the requests of each method.
func answering(t testing.TB, tools int, counts map[string]*atomic.Int64) mcpclient.Transport {
	list := ""
	for i := range tools {
		list += fmt.Sprintf(`,{"name":"t%d","description":"Does it.","inputSchema":%s}`, i, benchSchema)
	}
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
				return `{"tools":[` + list[1:] + `]}`
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
	ts := open(b, &Options{Client: &legacy}, Server{Name: "s", Transport: answering(b, 1, nil)})
	tool, _ := ts.Lookup("t0")
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := tool.schema.Validate([]byte(benchArguments)); err != nil {
				b.Fatal(err)
			}
			if _, err := tool.Client().CallTool(b.Context(), "t0", json.RawMessage(benchArguments)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("adapter", func(b *testing.B) {
		b.ReportAllocs()
		c := call("1", "t0", benchArguments)
		for b.Loop() {
			if r := ts.Call(b.Context(), c); r.Err != nil {
				b.Fatal(r.Err)
			}
		}
	})
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
	for method, want := range map[string]int64{"initialize": 20, "tools/list": 20, "tools/call": 0} {
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
