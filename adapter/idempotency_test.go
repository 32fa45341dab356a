package adapter

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

const keyedSchema = `{"type":"object","properties":{"city":{"type":"string"},"key":{"type":"string"}},"required":["city","key"],"additionalProperties":false}`

// keyed is a server that answers with the arguments and keys of each call.
func keyed(t *testing.T, opts *Options, s Server) *Toolset {
	return newPeer().tool("pay", keyedSchema, saying(func(req *sdk.CallToolRequest) string {
		return fmt.Sprint(string(req.Params.Arguments), " ", req.Params.Meta[IdempotencyKeyMeta], " ", req.Params.Meta["k"])
	})).openAs(t, opts, s)
}

// The key of a call is sent where the server expects it. Models and approvers do not see it.
func TestKey(t *testing.T) {
	for place, want := range map[string]string{"": "K <nil>", "k": "<nil> K"} {
		const input = `{"city":"Rome","key":"mine"}`
		seen := ""
		opts := &Options{
			Approve: allowing(func(a *approval.Request) { seen = string(a.Arguments) }),
			Intercept: before(func(ctx context.Context, _ *Request) {
				check.Equal(t, "key in an interceptor", IdempotencyKeyFrom(ctx), "K")
			}),
		}
		p := check.Value(keyed(t, opts, Server{KeyInMeta: place}).Catalog(profile.Plain).Prepare(call("1", "pay", input)))(t)
		check.Equal(t, place, p.WithIdempotencyKey("K").Run(t.Context()).Text, input+" "+want)
		check.Equal(t, "a question about", seen, input)
		check.Equal(t, "honours keys", p.Tool().HonoursKeys(), place != "")
	}
}

// A server that honours keys gets one with each call.
func TestKeyOfEachCall(t *testing.T) {
	catalog := keyed(t, nil, Server{KeyInMeta: "k"}).Catalog(profile.Plain)
	keys := map[string]bool{}
	for range 2 {
		text := catalog.Call(t.Context(), call("1", "pay", `{"city":"Rome","key":"mine"}`)).Text
		key := text[strings.LastIndex(text, " ")+1:]
		check.That(t, len(key) >= 20 && !keys[key], "got the key %q, want another one of ours", key)
		keys[key] = true
	}
}

// The continuation of a call has its own key, the same each time.
func TestKeyOfARound(t *testing.T) {
	var keys []string
	p := newPeer().tool("pay", keyedSchema, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		keys = append(keys, fmt.Sprint(req.Params.Meta[IdempotencyKeyMeta]))
		if len(req.Params.InputResponses) == 0 {
			return forName(), nil
		}
		return say("paid"), nil
	})
	ts := p.openAs(t, nil, Server{ClientOptions: &mcpclient.Options{Elicitation: mcp.ElicitationFunc(nil)}})
	prepared := prepare(t, ts, "pay", `{"city":"Rome","key":"K"}`).WithIdempotencyKey("K")
	round := roundOf(t, prepared)
	for range 2 {
		check.Equal(t, "", prepared.Continue(t.Context(), round, map[string]any{"q": &mcp.ElicitResult{Action: mcp.ElicitDecline}}).Text, "paid")
	}
	check.That(t, keys[0] == "K" && keys[1] == keys[2] && strings.HasPrefix(keys[1], "K-"), "got the keys %q", keys)
}

func TestRepeatable(t *testing.T) {
	hinted := func(a *sdk.ToolAnnotations) *peer {
		p := newPeer()
		p.AddTool(&sdk.Tool{Name: "x", InputSchema: json.RawMessage(object), Annotations: a}, answer("done"))
		return p
	}
	reads, again := &sdk.ToolAnnotations{ReadOnlyHint: true}, &sdk.ToolAnnotations{IdempotentHint: true}
	always := func(tool *mcp.Tool) bool { return tool.Name == "x" }
	for name, tt := range map[string]struct {
		hints  *sdk.ToolAnnotations
		server Server
		want   bool
	}{
		"without hints":     {nil, Server{Policy: Policy{Trust: TrustFull}}, false},
		"hints untrusted":   {again, Server{}, false},
		"read-only":         {reads, Server{Policy: Policy{Trust: TrustHints}}, true},
		"idempotent":        {again, Server{Policy: Policy{Trust: TrustHints}}, true},
		"trusted":           {again, Server{Policy: Policy{Trust: TrustFull}}, true},
		"the host says so":  {nil, Server{Policy: Policy{Repeat: always}}, true},
		"the host does not": {nil, Server{Policy: Policy{Repeat: func(*mcp.Tool) bool { return false }}}, false},
	} {
		tool, ok := hinted(tt.hints).openAs(t, nil, tt.server).Catalog(profile.Plain).Lookup("x")
		check.That(t, ok && tool.Repeatable() == tt.want, "%s: got %v", name, !tt.want)
	}
	ts := hinted(nil).openAs(t, nil, Server{Policy: Policy{Repeat: func(*mcp.Tool) bool { panic("no") }}})
	check.Equal(t, "the tool left out", len(ts.Servers()[0].Skipped), 1)
}

// A nested call does not use the key of the outer call: the server would take the two for one.
func TestKeyIsOfItsCall(t *testing.T) {
	var keys []string
	note := func(ctx context.Context, _ struct{}) (string, error) {
		keys = append(keys, IdempotencyKeyFrom(ctx))
		return "", nil
	}
	inner := Func("inner", "", note, nil)
	outer := Func("outer", "", func(ctx context.Context, _ struct{}) (string, error) {
		_, _ = note(ctx, struct{}{})
		return inner.Catalog(profile.Plain).Call(ctx, call("2", "inner", "{}")).Text, nil
	}, nil)
	p := check.Value(outer.Catalog(profile.Plain).Prepare(call("1", "outer", "{}")))(t)
	p.WithIdempotencyKey("K").Run(t.Context())
	check.Same(t, "keys", keys, []string{"K", ""})
}
