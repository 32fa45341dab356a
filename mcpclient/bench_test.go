package mcpclient_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// benchAnswer answers any request as cheaply as possible. It returns nil for other messages.
func benchAnswer(b, request []byte) []byte {
	_, rest, ok := bytes.Cut(request, []byte(`"id":`))
	if !ok {
		return nil
	}
	id := rest[:bytes.IndexByte(rest, ',')]
	b = append(append(b, `{"jsonrpc":"2.0","id":`...), id...)
	switch {
	case bytes.Contains(request, []byte("server/discover")):
		return append(b, `,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`...)
	case bytes.Contains(request, []byte(`"initialize"`)):
		return append(b, `,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"b","version":"1"}}}`...)
	}
	return append(b, `,"result":{"content":[{"type":"text","text":"Sunny, 21 degrees"}]}}`...)
}

func benchPipe(answer func(b, request []byte) []byte) mcpclient.Transport {
	transport, conn := mcpclient.Pipe()
	go func() {
		var out []byte
		for {
			m, err := conn.Recv()
			if err != nil {
				return
			}
			if out = answer(out[:0], m); out != nil {
				_ = conn.Send(context.Background(), out)
			}
		}
	}()
	return transport
}

func benchIO() mcpclient.Transport {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	go func() {
		var out []byte
		for r := bufio.NewScanner(fromClient); r.Scan(); {
			if out = benchAnswer(out[:0], r.Bytes()); out != nil {
				_, _ = toClient.Write(append(out, '\n'))
			}
		}
	}()
	return &mcpclient.IO{Reader: fromServer, Writer: toServer}
}

func benchHTTP(b *testing.B, streams bool) mcpclient.Transport {
	s := served(b, func(w http.ResponseWriter, r *http.Request, _ message) {
		body, _ := io.ReadAll(r.Body)
		out := benchAnswer(nil, body)
		switch {
		case r.Method == http.MethodGet:
			w.WriteHeader(http.StatusMethodNotAllowed)
		case out == nil:
			w.WriteHeader(http.StatusAccepted)
		case streams:
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "data: %s\n\n", out)
		default:
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(out)
		}
	})
	return &mcpclient.HTTP{URL: s.URL(), Client: s.Client()}
}

// BenchmarkCallTool measures a tool call whose result is one text block.
func BenchmarkCallTool(b *testing.B) {
	transports := []struct {
		name string
		make func(*testing.B) mcpclient.Transport
	}{
		{"pipe", func(*testing.B) mcpclient.Transport { return benchPipe(benchAnswer) }},
		{"io", func(*testing.B) mcpclient.Transport { return benchIO() }},
		{"http-json", func(b *testing.B) mcpclient.Transport { return benchHTTP(b, false) }},
		{"http-stream", func(b *testing.B) mcpclient.Transport { return benchHTTP(b, true) }},
	}
	args := map[string]any{"city": "Bern", "days": 3}
	for _, transport := range transports {
		for _, revision := range []string{mcp.Revision20251125, mcp.Revision20260728} {
			b.Run(transport.name+"/"+revision, func(b *testing.B) {
				c := connected(b, transport.make(b), speaking(revision))
				b.ReportAllocs()
				for b.Loop() {
					if res, err := c.CallTool(b.Context(), "forecast", args); err != nil || res.IsError {
						b.Fatal(res, err)
					}
				}
			})
		}
	}
}

// BenchmarkConnect measures connecting, including the handshake, and closing.
func BenchmarkConnect(b *testing.B) {
	for _, revision := range []string{mcp.Revision20251125, mcp.Revision20260728} {
		b.Run("pipe/"+revision, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				check.Must(b, connectError(b, benchPipe(benchAnswer), speaking(revision)))
			}
		})
		b.Run("http/"+revision, func(b *testing.B) {
			t := benchHTTP(b, false)
			b.ReportAllocs()
			for b.Loop() {
				check.Must(b, connectError(b, t, speaking(revision)))
			}
		})
	}
}

// BenchmarkTools measures listing a thousand tools on one page.
func BenchmarkTools(b *testing.B) {
	tool := `{"name":"tool","description":"does what tools do","inputSchema":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"]}}`
	tools := bytes.TrimSuffix(bytes.Repeat([]byte(tool+","), 1000), []byte(","))
	c := connected(b, benchPipe(func(out, m []byte) []byte {
		out = benchAnswer(out, m)
		if bytes.Contains(m, []byte("tools/list")) {
			out = append(bytes.ReplaceAll(out, []byte(`"content":[{"type":"text","text":"Sunny, 21 degrees"}]}}`), []byte(`"tools":[`)), tools...)
			out = append(out, "]}}"...)
		}
		return out
	}), modern())
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range c.Tools(b.Context()) {
			check.Must(b, err)
			n++
		}
		if n != 1000 {
			b.Fatalf("got %d tools", n)
		}
	}
}
