package adapter

import (
	"context"
	"errors"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
)

// The most common errors are short and complete.
func TestErrorTexts(t *testing.T) {
	ctx := t.Context()
	with := func(policy Policy, servers ...Server) error {
		return check.Err(Open(ctx, servers, &Options{Policy: policy}))
	}
	opened := func(servers ...Server) error { return with(Policy{}, servers...) }
	reach := transportFunc(unreachable)
	p := newPeer().tool("bad", object, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) { return nil, errors.New("no") })
	ts := open(t, nil, Server{Name: "a", Transport: p.transport(t)})
	nobody := Server{Name: "b", Transport: transportFunc(unreachable)}
	for _, tt := range []struct {
		got  error
		want string
	}{
		{opened(Server{}), `open toolset: server has no name: set Server.Name`},
		{opened(Server{Name: "a"}), `open toolset: server "a": set Transport`},
		{opened(nobody, nobody), `open toolset: server "b" is there twice: give each a name of its own`},
		{opened(Server{Name: "a", Transport: reach, KeyInMeta: "k", KeyInArgument: "k"}), `open toolset: server "a": set either KeyInMeta or KeyInArgument, not both`},
		{opened(Server{Name: "a", Policy: Policy{Start: "late"}, Transport: reach}), `open toolset: server "a": Policy.Start is "late": want "required", "available" or "lazy"`},
		{opened(Server{Name: "a", Policy: Policy{Trust: TrustFull + 1}, Transport: reach}), `open toolset: server "a": Policy.Trust is 4: want TrustNone, TrustHints or TrustFull`},
		{with(Policy{Start: "late"}, nobody), `open toolset: Policy.Start is "late": want "required", "available" or "lazy"`},
		{with(Policy{Trust: -1}, nobody), `open toolset: Policy.Trust is -1: want TrustNone, TrustHints or TrustFull`},
		{opened(Server{Name: "a", Revision: "2025", Transport: reach}), `open toolset: server "a": Revision "2025": want one of 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05`},
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
		check.That(t, tt.got != nil && tt.got.Error() == tt.want, "got  %v\nwant %s", tt.got, tt.want)
	}
}
