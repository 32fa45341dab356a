package browsertest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// talking is a model whose replies are these texts, in their order, piece by piece.
func talking(t *testing.T, replies ...[]string) (args []string) {
	t.Helper()
	next := make(chan []string, len(replies))
	for _, r := range replies {
		next <- r
	}
	close(next)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil { // what is unread would reset the connection
			return
		}
		if r.Method != http.MethodPost { // the page asks what kind of host this is
			http.NotFound(w, r)
			return
		}
		pieces, ok := <-next
		if !ok {
			http.Error(w, `{"error":{"message":"<b>no more</b>","type":"x"}}`, http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range pieces {
			text, err := json.Marshal(piece)
			if err != nil {
				t.Error(err)
			}
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", text)
		}
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	t.Cleanup(server.Close)
	return []string{"-base-url", server.URL + "/v1", "-model", "<i>tester</i>"}
}

// serving is a configuration with one server.
func serving(t *testing.T, name string, server *sdk.Server) (args []string) {
	t.Helper()
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true})
	listening := httptest.NewServer(handler)
	t.Cleanup(listening.Close)
	data, err := json.Marshal(map[string]any{"mcpServers": map[string]any{name: map[string]any{"type": "http", "url": listening.URL}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "mcp.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"-config", path}
}
