package talk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/person"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/typist"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/config"
)

// A server that is left out is reported with advice, and with its name and line once.
func TestLeftOut(t *testing.T) {
	servers, err := DemoServer()
	check.Must(t, err)
	self, err := os.Executable()
	check.Must(t, err)
	silent := fmt.Errorf(`server "demo": connect: %w`, context.DeadlineExceeded)
	file, err := new(config.Loader).Parse(t.Context(), "mcp.json", []byte("{\n\"mcpServers\": {\n\"remote\": {\"url\": \"http://x\"}}}"), nil)
	check.Must(t, err)
	remote := file.Servers[0]
	servers.file, servers.Good = []config.Server{remote}, append(servers.Good, fromEntry(&remote))
	servers.ConnectTimeout = time.Second
	for _, tt := range []struct {
		server, want string
		err          error
	}{
		{"demo", `server "demo": the program "` + self + `" runs, but gave no answer within 1s (-connect-timeout); is it an MCP server, and one that speaks over standard input and output?`, silent},
		{"demo", `server "demo": odd`, errors.New(`server "demo": odd`)},
		{"remote", `mcp.json:3: server "remote": the server gave no answer within 1s (-connect-timeout); is the server running? check the URL`, silent},
		{"remote", `mcp.json:3: server "remote": odd`, errors.New(`server "remote": odd`)},
	} {
		for range 2 { // the reason of a failed restart is told once more in the list
			if tt.err = servers.explain(&adapter.ServerStatus{Name: tt.server, Err: tt.err}); tt.err.Error() != tt.want {
				t.Errorf("got  %v\nwant %s", tt.err, tt.want)
			}
		}
	}
}

// linked is a screen that has links.
type linked struct{ *typist.Screen }

func (linked) Link(screen.Style, string, string) {}
func (linked) Suggest(string) bool               { return false }

// Views are declared to servers if the screen can show them.
func TestViewsAreDeclared(t *testing.T) {
	for _, s := range []screen.Screen{linked{typist.New(t)}, typist.New(t), typist.Absent(t)} {
		servers := &Servers{Good: []adapter.Server{{Name: "a"}}}
		check.Must(t, servers.Configure(person.New(s, false, nil, &person.Failures{}), nil, s, mcpclient.Timeouts{}))
		_, shows := s.(linked)
		got := strings.Contains(string(servers.Good[0].ClientOptions.Protocol.Capabilities), apps.Extension)
		check.That(t, got == shows, "%T: declared: got %v, want %v", s, got, shows)
	}
}

// mortal is a server that starts at each dial, and ends when the test closes its connection.
type mortal chan mcpclient.Conn

func (m mortal) Dial(ctx context.Context) (mcpclient.Conn, error) {
	transport, conn := mcpclient.Pipe()
	go testenv.Answer(conn, func(r *testenv.Message) string {
		if r.ID == nil {
			m <- conn // the client is ready
		}
		return `"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"m","version":"1"}}`
	})
	return transport.Dial(ctx)
}

// Each end of a server's process is reported once, and so is each return, until the server is given
// up.
func TestDeathsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		screen := typist.New(t)
		servers := &Servers{}
		c := &connections{configured: servers, screen: screen}
		left, frail := make(mortal, 1), make(mortal, 1)
		server := func(name string, transport mcpclient.Transport) adapter.Server {
			return adapter.Server{Name: name, Transport: transport, ClientOptions: &mcpclient.Options{
				Protocol: mcpclient.Protocol{Revision: "2025-11-25"}, Restart: servers.restartOptions(name, screen),
			}}
		}
		tools, err := adapter.Open(t.Context(), []adapter.Server{server("left", left), server("frail", frail)}, &adapter.Options{OnChange: c.onChange})
		check.Must(t, err)
		check.NoError(t, tools.Remove("left"))
		for range 6 {
			conn := <-frail
			synctest.Wait() // until the client has said that it is ready
			_ = conn.Close()
			synctest.Wait()
		}
		<-frail // it is connected again
		time.Sleep(time.Second)
		synctest.Wait()
		const reason = "transport: connection closed: server closed the connection"
		screen.Check(t, strings.Repeat("lost the server frail, and start it again: "+reason+"\nthe server frail is back\n", 5)+
			"the server frail is given up for now: "+reason+"; the connection did not last after 5 restarts in a row (Restart.Attempts); it is tried again from time to time, and by /servers restart frail\n"+
			"the server frail is back\n")
		check.NoError(t, tools.Close())
	})
}
