package adapter

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// newLevelPeer returns a server whose tool answers with the log level that the server was asked for.
func newLevelPeer() *peer {
	return newPeer().tool("level", object, saying(func(r *sdk.CallToolRequest) string {
		return fmt.Sprint(r.Params.Meta["io.modelcontextprotocol/logLevel"])
	}))
}

func TestLogLevelWhileRunning(t *testing.T) {
	ts := open(t, &Options{ClientOptions: &mcpclient.Options{LogLevel: "error"}, AlwaysPrefix: true},
		Server{Name: "a", Transport: newLevelPeer().transport(t)},
		Server{Name: "user", Transport: &dialed{t: t, make: newLevelPeer}, PerUser: 1},
		Server{Name: "mute", Transport: scripted(t, map[string]string{"tools/list": `{"tools":[]}`})})
	asked := func(server, want string) {
		t.Helper()
		check.Equal(t, server, callTool(t, ts, server+"__level", "{}").Text, want)
	}
	asked("a", "error")
	asked("user", "error")
	check.Must(t, ts.SetLogLevel(t.Context(), "debug"))
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

// A level that is set while a connection is being opened reaches it, too.
func TestLogLevelWhileOpening(t *testing.T) {
	for late := range 2 { // the connection of the server, and that of a user
		synctest.Test(t, func(t *testing.T) {
			gate, dials := make(chan bool), 0
			d := &dialed{t: t, make: func() *peer {
				p, isLate := newLevelPeer(), dials == late
				dials++
				p.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
					return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
						if method == "tools/list" && isLate {
							<-gate
						}
						return next(ctx, method, r)
					}
				})
				return p
			}}
			ts, done := open(t, nil), make(chan bool)
			go func() {
				defer close(done)
				check.NoError(t, ts.Add(t.Context(), Server{Name: "a", Transport: d, PerUser: late}))
				callTool(t, ts, "level", "{}")
			}()
			synctest.Wait()
			check.Must(t, ts.SetLogLevel(t.Context(), "debug"))
			close(gate)
			<-done
			synctest.Wait()
			check.Equal(t, fmt.Sprint("connection ", late), callTool(t, ts, "level", "{}").Text, "debug")
		})
	}
}
