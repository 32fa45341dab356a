package inspect

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/cli"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// answerLists is a server that lists no tools, and never its prompts.
func answerLists(t *testing.T, conn mcpclient.Conn) {
	for {
		message, err := conn.Recv()
		if err != nil {
			return
		}
		var request struct {
			ID     json.RawMessage
			Method string
		}
		check.NoError(t, json.Unmarshal(message, &request))
		result := map[string]string{
			"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"prompts":{}},"serverInfo":{"name":"slow","version":"1"}}`,
			"tools/list": `{"tools":[]}`,
		}[request.Method]
		if result != "" {
			_ = conn.Send(t.Context(), fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":%s}`, request.ID, result))
		}
	}
}

// The wait for a missing list is as long as the wait for the server.
func TestListThatDoesNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport, conn := mcpclient.Pipe()
		go answerLists(t, conn)
		about := &serverReport{Name: "slow", timeout: 7 * time.Second}
		r := &report{Servers: []*serverReport{about}, byName: map[string]*serverReport{"slow": about}}
		servers := []adapter.Server{{Name: "slow", Transport: transport, Revision: mcp.Revision20251125}}
		start := time.Now()
		o := &options{timeouts: cli.Timeouts{Connect: 7 * time.Second}}
		tools, err := connect(t.Context(), servers, &questions{w: io.Discard}, o)
		check.Must(t, err)
		defer func() { _ = tools.Close() }()
		check.Must(t, r.inspect(t.Context(), tools, o))
		if waited := time.Since(start); waited != 7*time.Second || len(about.Trouble) != 1 || about.Trouble[0] != "the prompts did not come within 7s (-connect-timeout)" {
			t.Errorf("got %q after %v, want what was waited for in vain, for 7 s", about.Trouble, waited)
		}
		check.Equal(t, "status", r.status(0), statusMissing)
		_ = conn.Close()
	})
}

// A list that the server refuses, or that breaks off, is told by its name.
func TestIncomplete(t *testing.T) {
	t.Parallel()
	s := &serverReport{}
	for want, err := range map[string]error{
		"the server does not list its prompts: server error -32603: down": fmt.Errorf("prompts/list: %w", &mcp.RPCError{Code: mcp.CodeInternalError, Message: "down"}),
		"the list of prompts is not whole: odd":                           errors.New("odd"),
	} {
		check.Equal(t, "", s.incomplete("prompts", err), want)
	}
}

// The first line counts the servers that are not disabled.
func TestSummary(t *testing.T) {
	t.Parallel()
	good, bad, off := &serverReport{}, &serverReport{Error: "x"}, &serverReport{Disabled: true}
	for want, servers := range map[string][]*serverReport{
		"the file names no servers":  nil,
		"the server can be used":     {good, off},
		"the server cannot be used":  {bad},
		"1 of 2 servers can be used": {good, off, bad},
		"0 of 0 servers can be used": {off},
	} {
		r := &report{Servers: servers}
		if r.count(); r.summary() != want {
			t.Errorf("got %s, want %s", r.summary(), want)
		}
	}
}
