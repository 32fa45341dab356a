package talk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/person"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/typist"
	"github.com/mcpchain/mcpchain/internal/check"
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
		if got := strings.Contains(string(servers.Good[0].ClientOptions.Protocol.Capabilities), apps.Extension); got != shows {
			t.Errorf("%T: declared: got %v, want %v", s, got, shows)
		}
	}
}
