package talk

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/typist"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
)

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
