package adapter

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// answeredBy returns a transport to a server that answers with [testenv.Answer], and the server's end.
func answeredBy(t testing.TB, answer func(m *testenv.Message) string) (mcpclient.Transport, transport.Conn) {
	transport, conn := mcpclient.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		testenv.Answer(conn, answer)
	}()
	t.Cleanup(func() { _ = conn.Close(); <-ended })
	return transport, conn
}

const handshake = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}`

// scriptedBy returns a transport to a server that answers with result(method), and the server's
// end. Without a result it initializes a session with 2025-11-25, and knows no other method.
func scriptedBy(t testing.TB, result func(method string) string) (mcpclient.Transport, transport.Conn) {
	return answeredBy(t, func(m *testenv.Message) string {
		switch r := result(m.Method); {
		case r != "":
			return `"result":` + r
		case m.Method == "initialize":
			return `"result":` + handshake
		}
		return `"error":{"code":-32601,"message":"no such method"}`
	})
}

// scripted returns a transport to a server that answers each method with a fixed result.
func scripted(t testing.TB, results map[string]string) mcpclient.Transport {
	transport, _ := scriptedBy(t, func(method string) string { return results[method] })
	return transport
}

func TestToolsThatBreakTheRules(t *testing.T) {
	ts := open(t, nil, Server{Name: "s", Transport: scripted(t, map[string]string{"tools/list": `{"tools":[
		{"name":"twice","inputSchema":{"type":"object"}},
		{"name":"twice","inputSchema":{"type":"object","required":["x"]}},
		{"name":"string","inputSchema":{"type":"string"}},
		{"name":"false","inputSchema":false},
		{"name":"broken","inputSchema":{"type":"object","properties":[]}},
		{"name":"dialect","inputSchema":{"$schema":"https://example.com/own"}},
		{"name":"foreign","inputSchema":{"properties":{"a":{"$ref":"https://example.com/s"}}}},
		{"name":"none"},
		{"name":"","inputSchema":{"type":"object"}}
	]}`})})
	wantTools(t, ts, "twice", "none", "_")
	skipped := ts.Servers()[0].Skipped
	check.Same(t, "skipped", slices.Sorted(maps.Keys(skipped)), []string{"broken", "dialect", "false", "foreign", "string", "twice"})
	check.Text(t, skipped["foreign"], "never fetched", "foreign")
}

func TestResultsThatBreakTheRules(t *testing.T) {
	const list = `{"tools":[{"name":"x","inputSchema":{"type":"object"}}]}`
	for result, want := range map[string]string{
		`{}`:                            "(the tool returned no content)",
		`{"content":null}`:              "(the tool returned no content)",
		`{"content":[{}]}`:              `[content of type "": {}]`,
		`{"content":[{"type":"text"}]}`: `[content of type "text": {"type":"text"}]`,
		`{"content":[{"type":"image","data":"?"}]}`: `[content of type "image": {"type":"image","data":"?"}]`,
		`{"content":[null]}`:                        "Error: the tool ran, but its result cannot be read",
		`{"content":"x"}`:                           "Error: the tool ran, but its result cannot be read",
		`[]`:                                        "Error: the tool ran, but its result cannot be read",
	} {
		ts := open(t, nil, Server{Name: "s", Transport: scripted(t, map[string]string{"tools/list": list, "tools/call": result})})
		r := callTool(t, ts, "x", "")
		check.That(t, r.Text == want && r.Fatal() == nil && r.IsError == strings.HasPrefix(want, "Error"),
			"%s: got %q, %v, want %q", result, r.Text, r.Err, want)
	}
}
