package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// floor is a minimal client that can call a tool over HTTP with net/http and encoding/json,
// without any checks.
type floor struct {
	url    string
	client *http.Client
	id     int
}

func (f *floor) call(ctx context.Context, tool string, args any) (text string, err error) {
	f.id++
	message, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": f.id, "method": "tools/call",
		"params": map[string]any{"name": tool, "arguments": args},
	})
	if err != nil {
		return "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url, bytes.NewReader(message))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", asJSON)
	req.Header.Set("Accept", bothMedia)
	req.Header.Set("Mcp-Protocol-Version", mcp.Revision20251125)
	resp, err := f.client.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	if resp.Header.Get("Content-Type") == asStream {
		answer = bytes.TrimPrefix(answer, []byte("data: "))
	}
	var m struct {
		Result struct {
			Content []struct{ Type, Text string }
			IsError bool
		}
	}
	if err := json.Unmarshal(answer, &m); err != nil {
		return "", err
	}
	return m.Result.Content[0].Text, nil
}

// BenchmarkHTTPFloor is the baseline of [BenchmarkCallTool] over HTTP.
func BenchmarkHTTPFloor(b *testing.B) {
	for _, streams := range []bool{false, true} {
		b.Run(fmt.Sprintf("stream=%t", streams), func(b *testing.B) {
			h := benchHTTP(b, streams).(*mcpclient.HTTP)
			f := &floor{url: h.URL, client: h.Client}
			args := map[string]any{"city": "Bern", "days": 3}
			b.ReportAllocs()
			for b.Loop() {
				if text, err := f.call(b.Context(), "forecast", args); err != nil || text == "" {
					b.Fatal(text, err)
				}
			}
		})
	}
}
