package adapter

import (
	"context"
	"errors"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// The most common errors are short and complete.
func TestErrorTexts(t *testing.T) {
	ctx := t.Context()
	opened := func(servers ...Server) error {
		_, err := Open(ctx, servers, nil)
		return err
	}
	p := newPeer().tool("bad", object, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return nil, errors.New("no") })
	ts := open(t, nil, Server{Name: "a", Transport: p.transport(t)})
	nobody := Server{Name: "b", Transport: transportFunc(unreachable)}
	const advice = " (Policy.Start: StartAvailable continues without servers that fail)"
	for _, tt := range []struct {
		got  error
		want string
	}{
		{opened(Server{}), `open toolset: a server has no name: set Server.Name`},
		{opened(Server{Name: "a"}), `open toolset: server "a": set Transport or Client`},
		{opened(nobody, nobody), `open toolset: server "b" is there twice: give each a name of its own`},
		{opened(nobody), `open toolset: server "b": connect: nobody there` + advice},
		{opened(Server{Name: "b", Transport: &mcpclient.Command{Path: "no-such-program"}}),
			`open toolset: server "b": connect: start "no-such-program": executable file not found in $PATH: install it, or give its full path` + advice},
		{opened(Server{Name: "b", Transport: &mcpclient.HTTP{URL: "example.com"}}),
			`open toolset: server "b": connect: HTTP.URL "example.com": want http://host/path or https://host/path` + advice},
		{ts.Add(ctx, Server{Name: "a", Transport: nobody.Transport}), `add to toolset: server "a" is there already: remove it first, or give it another name`},
		{ts.Add(ctx, nobody), `add to toolset: server "b": connect: nobody there`},
		{ts.Remove("z"), `remove from toolset: there is no server "z"`},
		{ts.Refresh(ctx, "z"), `refresh toolset: there is no server "z"`},
		{ts.Catalog(profile.Plain).Call(ctx, call("1", "bad", "{}")).Err, `server "a": call tool "bad": server error 0: no`},
		{ts.Catalog(profile.Plain).Call(ctx, call("1", "none", "{}")).Err, `there is no tool named "none"`},
		{ts.Catalog(profile.Plain).Call(ctx, call("1", "bad", "{")).Err, `arguments of bad: not valid JSON: it ends too early`},
	} {
		if tt.got == nil || tt.got.Error() != tt.want {
			t.Errorf("got  %v\nwant %s", tt.got, tt.want)
		}
	}
}
