package talk

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/examples/chatbot/internal/typist"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// mortal is a server that is there for each dial, until the connection is closed.
type mortal chan mcpclient.Conn

func (m mortal) Dial(ctx context.Context) (mcpclient.Conn, error) {
	transport, conn := mcpclient.Pipe()
	go func() {
		for {
			raw, err := conn.Recv()
			var r struct{ ID json.RawMessage }
			switch {
			case err != nil:
				return
			case json.Unmarshal(raw, &r) != nil || r.ID == nil:
				m <- conn // the client is ready
			default:
				_ = conn.Send(context.Background(), fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"m","version":"1"}}}`, r.ID))
			}
		}
	}()
	return transport.Dial(ctx)
}

// Each death of a server is told once, and so is each return, up to the death that is too much. What the program
// closes is no death.
func TestDeathsAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		screen := typist.New(t)
		servers := &Servers{}
		s := &Session{Config: Config{Screen: screen, Servers: servers}, watched: map[string]*mcpclient.Client{}}
		connect := func(name string) (mortal, *mcpclient.Client) {
			server := make(mortal, 1)
			c, err := mcpclient.Connect(t.Context(), server, &mcpclient.Options{
				Protocol: mcpclient.Protocol{Revision: "2025-11-25"}, Logger: warnings(screen, name), Restart: servers.restart(name, screen),
			})
			if err != nil {
				t.Fatal(err)
			}
			s.watch(name, c)
			return server, c
		}
		_, closed := connect("left")
		if err := closed.Close(); err != nil {
			t.Fatal(err)
		}
		server, c := connect("frail")
		for range 6 {
			_ = (<-server).Close()
			synctest.Wait()
		}
		<-c.Done()
		const reason = "transport: connection closed: the server closed the connection"
		screen.Check(t, strings.Repeat("lost the server frail, and start it again: "+reason+"\nthe server frail is back\n", 5)+
			"the server frail is given up: "+reason+"; it did not last after 5 restarts in a row (Restart.Attempts); /servers restart frail tries again\n")
	})
}
