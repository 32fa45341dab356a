package talk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
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
	"github.com/mcpchain/mcpchain/internal/models"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/config"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// A server that is left out is reported with advice, and with its name and line once.
func TestLeftOut(t *testing.T) {
	servers := check.Value(DemoServer())(t)
	self := check.Value(os.Executable())(t)
	silent := fmt.Errorf(`server "demo": connect: %w`, context.DeadlineExceeded)
	file := []byte("{\n\"mcpServers\": {\n\"remote\": {\"url\": \"http://x\"}}}")
	remote := check.Value(new(config.Loader).LoadData(t.Context(), "mcp.json", file))(t)[0]
	servers.file = []config.Server{remote}
	servers.Good = append(servers.Good, adapter.Server{Name: "remote", Transport: remote.Transport})
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
			tt.err = servers.explain(&adapter.ServerStatus{Name: tt.server, Err: tt.err})
			check.That(t, tt.err.Error() == tt.want, "got  %v\nwant %s", tt.err, tt.want)
		}
	}
}

type linked struct{ *typist.Screen }

func (linked) Link(screen.Style, string, string) {}
func (linked) Suggest(string) bool               { return false }

// Views are declared to servers if the screen can show them.
func TestViewsAreDeclared(t *testing.T) {
	for _, s := range []screen.Screen{linked{typist.New(t)}, typist.New(t), typist.Absent(t)} {
		servers := &Servers{Good: []adapter.Server{{Name: "a"}}, screen: s, person: person.New(s, false, nil)}
		check.Must(t, servers.configure(nil))
		_, shows := s.(linked)
		check.Equal(t, s, strings.Contains(string(servers.Good[0].ClientOptions.Protocol.Capabilities), "io.modelcontextprotocol/ui"), shows)
	}
}

// mortal is a server that starts at each dial, and ends when the test closes its connection.
type mortal chan transport.Conn

func (m mortal) Dial(ctx context.Context) (transport.Conn, error) {
	transport, conn := mcpclient.Pipe()
	go testenv.Serve(conn, func(r *testenv.Message) string {
		if r.ID == nil {
			m <- conn // the client is ready
		}
		return `"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"m","version":"1"}}`
	})
	return transport.Dial(ctx)
}

// Each end of a server's process is reported once, and so is each return, until the server is given up.
func TestDeathsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		screen := typist.New(t)
		servers := &Servers{screen: screen}
		left, frail := make(mortal, 1), make(mortal, 1)
		server := func(name string, transport mcpclient.Transport) adapter.Server {
			return adapter.Server{Name: name, Transport: transport, ClientOptions: &mcpclient.Options{
				Protocol: mcpclient.Protocol{Revision: "2025-11-25"}, Limits: mcpclient.Limits{Restarts: 5}, OnRestart: servers.onRestart(name),
			}}
		}
		tools := check.Value(adapter.Open(t.Context(), []adapter.Server{server("left", left), server("frail", frail)}, &adapter.Options{OnChange: servers.onChange}))(t)
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
			"the server frail is given up for now: "+reason+"; the connection did not last after 5 restarts in a row; it is tried again from time to time, and by /servers restart frail\n"+
			"the server frail is there now; the next question can use its tools\n")
		check.NoError(t, tools.Close())
	})
}

// A server that is connected to again while its loss is told is not lost.
func TestLossIsTold(t *testing.T) {
	servers := &Servers{}
	servers.screen = noting{nil, func() { servers.lost.Delete("a") }}
	servers.onRestart("a")(1, errors.New("gone"))
	check.NoError(t, servers.lostReason("a"))
}

// skilled is a server with a skill. It calls listing before it lists the skill.
func skilled(listing func()) mcpclient.Transport {
	answers := map[string]string{
		"server/discover": `{"supportedVersions":["2026-07-28"],"capabilities":{"resources":{},"extensions":{"io.modelcontextprotocol/skills":{}}}}`,
		"skills/list":     `{"skills":[{"uri":"skill://pdf/SKILL.md","frontmatter":{"name":"pdf","description":"Fills forms."},"resources":[{"uri":"skill://pdf/SKILL.md","digest":"sha256:0000000000000000000000000000000000000000000000000000000000000000","size":1}]}]}`,
	}
	transport, conn := mcpclient.Pipe()
	go testenv.Serve(conn, func(m *testenv.Message) string {
		if m.Method == "skills/list" {
			listing()
		}
		return `"result":` + cmp.Or(answers[m.Method], "{}")
	})
	return transport
}

// A person who interrupts the list of skills does not make servers lose theirs.
func TestSkillsThatAreInterrupted(t *testing.T) {
	tools := check.Value(adapter.Open(t.Context(), []adapter.Server{{Name: "office", Transport: skilled(func() {})}}, nil))(t)
	defer tools.Close()
	screen := typist.New(t)
	i := &instructions{screen: screen, servers: &Servers{toolset: tools}}
	check.Must(t, check.Err(i.openSkills(t.Context())))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errInterrupted)
	check.Is(t, check.Err(i.openSkills(ctx)), errInterrupted)
	check.Equal(t, "skills", len(i.skills), 1)
	check.That(t, !strings.Contains(screen.Text(), "left out"), "got %s", screen.Text())
}

// A person who interrupts a command while it lists skills is told so.
func TestCommandThatIsInterrupted(t *testing.T) {
	screen, interrupts := typist.New(t), new(Interrupts)
	interrupts.begin(screen)
	tools := check.Value(adapter.Open(t.Context(), nil, nil))(t)
	defer tools.Close()
	office := adapter.Server{Name: "office", Transport: skilled(interrupts.Interrupt)}
	s := newSession(Config{
		Screen: screen, Interrupts: interrupts, Servers: &Servers{Good: []adapter.Server{office}, toolset: tools}, Models: &models.Flags{},
	})
	s.model.current = models.Model{Name: "m", BaseURL: "http://model.test/v1"}
	check.Is(t, s.command(t.Context(), "/servers restart office"), errInterrupted)
	check.Contains(t, "screen", screen.Text(), "interrupted; Ctrl-C again leaves")
}

// A key of the API messages is not sent to an OpenAI-compatible endpoint for its list of models.
func TestModelsOfMessages(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("got a request for %s, want none", r.URL)
	}))
	defer server.Close()
	m := &chosenModel{current: models.Model{API: models.Messages, BaseURL: server.URL, Key: "k", Name: "c"}}
	check.Equal(t, "models", len(check.Value(m.models(t.Context()))(t)), 0)
	check.Equal(t, "URL", (&chosenModel{current: models.Model{API: models.Messages}}).url(), "https://api.anthropic.com")
}
