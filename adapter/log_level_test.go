package adapter

import (
	"context"
	"fmt"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// newLevelPeer returns a server whose tool answers with the log level that the server was asked
// for.
func newLevelPeer() *peer {
	return newPeer().tool("level", object, func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return say(fmt.Sprint(r.Params.Meta["io.modelcontextprotocol/logLevel"])), nil
	})
}

func TestLogLevelWhileRunning(t *testing.T) {
	ts := open(t, &Options{ClientOptions: &mcpclient.Options{LogLevel: mcp.LogError}, AlwaysPrefix: true},
		Server{Name: "a", Transport: newLevelPeer().transport(t)},
		Server{Name: "user", Transport: &dialed{t: t, make: newLevelPeer}, PerUser: 1},
		Server{Name: "mute", Transport: scripted(t, map[string]string{"tools/list": `{"tools":[]}`})})
	asked := func(server, want string) {
		t.Helper()
		check.Equal(t, server, callTool(t, ts, server+"__level", "{}").Text, want)
	}
	asked("a", "error")
	asked("user", "error")
	check.Must(t, ts.SetLogLevel(t.Context(), mcp.LogDebug))
	asked("a", "debug")
	asked("user", "debug")
	check.Must(t, ts.Add(t.Context(), Server{Name: "b", Transport: newLevelPeer().transport(t)}))
	asked("b", "debug")
	own, err := mcpclient.Connect(t.Context(), newLevelPeer().transport(t), nil)
	check.Must(t, err)
	defer func() { _ = own.Close() }()
	check.Must(t, ts.Add(t.Context(), Server{Name: "own", Client: own}))
	asked("own", "debug")
	check.Must(t, ts.SetLogLevel(t.Context(), ""))
	asked("a", "<nil>")
	asked("b", "<nil>")
	check.Text(t, ts.SetLogLevel(t.Context(), "loud"), "", "no error of an unknown level")
	check.NoError(t, ts.Add(t.Context(), Server{Name: "c", Transport: newLevelPeer().transport(t)}), "after an unknown level")
}
