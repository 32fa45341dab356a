package adapter

import (
	"context"
	"fmt"
	"reflect"
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
	source := Merge(f, Func("other", "Says ok.", func(context.Context, struct{}) (string, error) { return "ok", nil }, nil))
	for b.Loop() {
		p, err := source.Catalog(profile.Plain).Prepare(call("1", "echo", `{"x":1}`))
		check.Must(b, err)
		if r := p.WithIdempotencyKey("K").Run(b.Context()); r.Text != "ok" {
			b.Fatal(r.Text)
		}
	}
}
