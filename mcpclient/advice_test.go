package mcpclient_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// Server SDKs refuse with texts of their own to send requests in the modern era. The caller of
// such a tool gets advice.
func TestToolThatMayNotAsk(t *testing.T) {
	const advice = "connect with 2025-11-25, by Options.Protocol.Revision"
	for name, tt := range map[string]struct {
		text  string
		known bool
	}{
		"mcp-go":  {`\"elicitation/create\": server-initiated requests are not supported in protocol version 2026-07-28`, true},
		"go-sdk":  {`\"sampling/createMessage\" cannot be sent while serving a request on protocol version 2026-07-28: return an InputRequests map instead (multi round-trip requests, SEP-2322)`, true},
		"refused": {"calling roots/list: this revision has no requests of the server: it asks by the result input_required", true},
		"other":   {"disk full", false},
	} {
		for era, opts := range eras() {
			for kind, answer := range map[string]string{
				"result": `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}],"isError":true}}`,
				"error":  `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"%s"}}`,
			} {
				t.Run(name+"/"+era+"/"+kind, func(t *testing.T) {
					inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
						go p.reply(answer, tt.text)
						result, err := c.CallTool(t.Context(), "asks", nil)
						if err == nil {
							err = result.Err()
						}
						want := tt.known && era == "modern"
						if got := inquiry.Advice(err); strings.Contains(got, advice) != want || strings.Contains(fmt.Sprint(err), advice) != want {
							t.Errorf("got %v and the advice %q, want one: %v", err, got, want)
						}
					})
				})
			}
		}
	}
}
