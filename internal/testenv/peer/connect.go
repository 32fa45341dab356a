package peer

import (
	"context"
	"io"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/mcpclient"
)

// Connect runs a server in this process until the test ends, and returns the transport to it.
func Connect(t testing.TB, server *sdk.Server) *mcpclient.IO {
	t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	session, err := server.Connect(context.Background(), &sdk.IOTransport{Reader: fromClient, Writer: toClient}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = session.Close()
		_ = session.Wait()
	})
	return &mcpclient.IO{Reader: fromServer, Writer: toServer}
}
