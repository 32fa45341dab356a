package mcpclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// tunnel is a host's own transport whose messages have headers. It records them.
type tunnel struct {
	mcpclient.Transport
	sent chan string
}

type tunnelConn struct {
	mcpclient.Conn
	sent chan string
}

func (t tunnel) Dial(ctx context.Context) (mcpclient.Conn, error) {
	conn, err := t.Transport.Dial(ctx)
	return tunnelConn{conn, t.sent}, err
}

func (c tunnelConn) SendWithHeader(ctx context.Context, message []byte, header http.Header) error {
	var m struct{ Method string }
	_ = json.Unmarshal(message, &m)
	var lines strings.Builder
	_ = header.Write(&lines)
	c.sent <- fmt.Sprintf("%s\n%s", m.Method, strings.ReplaceAll(lines.String(), "\r\n", "\n"))
	for key := range header {
		header[key][0] = "changed" // the callee may modify it
	}
	return c.Conn.Send(ctx, message)
}

// Every message has the same header as over Streamable HTTP.
func TestHeaderConn(t *testing.T) {
	const version = "Mcp-Protocol-Version: "
	for revision, want := range map[string][]string{
		mcp.Revision20260728: {
			"server/discover\nMcp-Method: server/discover\n" + version + "2026-07-28\n",
			"tools/list\nMcp-Method: tools/list\n" + version + "2026-07-28\n",
			"tools/call\nMcp-Method: tools/call\nMcp-Name: book\nMcp-Param-Region: eu\n" + version + "2026-07-28\n",
			"notifications/x\nMcp-Method: notifications/x\n" + version + "2026-07-28\n",
			"tools/call\nMcp-Method: tools/call\nMcp-Name: hang\n" + version + "2026-07-28\n",
			"notifications/cancelled\nMcp-Method: notifications/cancelled\n" + version + "2026-07-28\n",
		},
		mcp.Revision20251125: {
			"initialize\n", "notifications/initialized\n" + version + "2025-11-25\n",
			"tools/list\n" + version + "2025-11-25\n", "tools/call\n" + version + "2025-11-25\n",
			"notifications/x\n" + version + "2025-11-25\n",
			"tools/call\n" + version + "2025-11-25\n", "notifications/cancelled\n" + version + "2025-11-25\n",
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			transport, p := newPeer(t)
			go booking(p)
			sent := make(chan string, 16)
			c := connected(t, tunnel{transport, sent}, mcpclient.Options{Protocol: mcpclient.Protocol{Revision: revision}})
			noError(t, errOf(listTools(t.Context(), c)))
			noError(t, errOf(c.CallTool(t.Context(), "book", map[string]string{"region": "eu"})))
			noError(t, c.Notify(t.Context(), "notifications/x", nil))
			given, cancel := context.WithCancel(t.Context())
			go func() { synctest.Wait(); cancel() }()
			fails(t, errOf(c.CallTool(given, "hang", nil)), "a call that was given up")
			synctest.Wait()
			var got []string
			for len(sent) > 0 {
				got = append(got, <-sent)
			}
			same(t, revision, got, want)
		})
	}
}

// booking is a server whose tool requires an argument in a header.
func booking(p *peer) {
	for m := range p.inbox {
		switch {
		case m.Method == "tools/list":
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"book","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}}`, m.ID)
		case m.Method == "tools/call" && m.Params.Name == "book":
			p.answer(m)
		case m.Method == "initialize" || m.Method == "server/discover":
			p.send(handshakeAnswer(m))
		}
	}
}
