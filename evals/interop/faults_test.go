//lint:file-ignore SA1019 deprecated features are tested as long as servers use them

package interop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

const roleVariable = "MCPCHAIN_INTEROP_ROLE"

// TestMain makes this program a server process for its own tests.
func TestMain(m *testing.M) {
	switch os.Getenv(roleVariable) {
	case "faulty":
		os.Exit(serveFaulty())
	case "go-sdk":
		os.Exit(serveGo())
	case "mcp-go":
		os.Exit(serveMark())
	}
	os.Exit(m.Run())
}

// roleCommand runs this program as a child process in a role of TestMain.
func roleCommand(t *testing.T, role string) *mcpclient.Command {
	program, err := os.Executable()
	check.Must(t, err)
	return &mcpclient.Command{Path: program, Env: []string{roleVariable + "=" + role}}
}

// serveFaulty is goServer over stdio with a tool that ends it.
func serveFaulty() int {
	s := goServer(context.Background())
	sdk.AddTool(s, &sdk.Tool{Name: "die"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		fmt.Fprintln(os.Stderr, "fatal: out of cheese")
		os.Exit(3)
		return nil, nil, nil
	})
	if err := s.Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// TestServerDies: if the server's process ends, all calls fail at once, and their errors describe the end.
func TestServerDies(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), testenv.Patience)
	defer cancel()
	c, err := mcpclient.Connect(ctx, roleCommand(t, "faulty"), &mcpclient.Options{Protocol: mcpclient.Protocol{Revision: mcp.Revision20251125}})
	check.Must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	waiting := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, "wait", nil)
		waiting <- err
	}()
	if res, err := c.CallTool(ctx, "heard", nil); err != nil || res.Text() != "waiting" {
		t.Fatalf("got %+v, %v, want a call that waits", res, err)
	}
	_, err = c.CallTool(ctx, "die", nil)
	_, later := c.CallTool(ctx, "add", nil)
	for what, err := range map[string]error{"die": err, "wait": <-waiting, "add, later": later} {
		process, ok := errors.AsType[*transport.ProcessError](err)
		if !errors.Is(err, mcpclient.ErrClosed) || !ok || process.Status != "exit status 3" || !strings.Contains(process.Stderr, "out of cheese") {
			t.Errorf("%s: got %v, want the exit status and the last line", what, err)
		}
	}
	<-c.Done()
}
