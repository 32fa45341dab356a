package feed_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/mcpchain/mcpchain/agent"
	"github.com/mcpchain/mcpchain/agent/feed"
	"github.com/mcpchain/mcpchain/agent/run"
	"github.com/mcpchain/mcpchain/internal/check"
)

// TestServe reads an event over HTTP, and refuses a position.
func TestServe(t *testing.T) {
	key, f := run.Key{ID: "r"}, feed.New(nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { f.Serve(w, r, key) }))
	defer server.Close()
	f.Publish(key, &agent.TurnEnd{EventInfo: agent.EventInfo{Run: "r", Seq: 3}})
	stream := check.Value(http.Get(server.URL))(t)
	defer func() { _ = stream.Body.Close() }()
	const want = "retry: 1000\n\nid: 3\n"
	got := make([]byte, len(want))
	check.Must(t, check.Err(io.ReadFull(stream.Body, got)))
	check.Equal(t, "the beginning of the stream", string(got), want)
	resp := check.Value(http.Get(server.URL + "?after=nowhere"))(t)
	check.Must(t, resp.Body.Close())
	check.Equal(t, "status", resp.StatusCode, http.StatusBadRequest)
}
