package hosting

import (
	"bytes"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// A server over HTTP that goes away and comes back is known to be down in between, and the log says both once.
func TestWatch(t *testing.T) {
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server {
		return sdk.NewServer(&sdk.Implementation{Name: "far", Version: "1"}, nil)
	}, &sdk.StreamableHTTPOptions{Stateless: true})
	server := httptest.NewServer(handler)
	address := server.Listener.Addr().String()
	tools := check.Value(adapter.Open(t.Context(), []adapter.Server{{Name: "far", Transport: &mcpclient.HTTP{URL: server.URL}}},
		&adapter.Options{ClientOptions: &mcpclient.Options{Limits: mcpclient.Limits{Retries: -1}}}))(t)
	defer tools.Close()
	var log bytes.Buffer
	w, stop := NewWatch(tools.Servers, slog.New(slog.NewTextHandler(&log, nil)))
	stop()
	look := func(down bool) {
		t.Helper()
		for range 2 {
			w.pingAll(t.Context())
			check.Require(t, w.IsDown("far") == down, "got down %v, want %v; the log has %s", !down, down, &log)
		}
	}
	look(false)
	server.CloseClientConnections()
	server.Close()
	look(true)
	again := &httptest.Server{Listener: check.Value(net.Listen("tcp", address))(t), Config: &http.Server{Handler: handler}}
	again.Start()
	defer again.Close()
	look(false)
	for _, want := range []string{"a server does not answer", "a server answers again"} {
		check.That(t, strings.Count(log.String(), want) == 1, "the log has %s, want %q once", &log, want)
	}
}
