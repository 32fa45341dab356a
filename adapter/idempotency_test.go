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
	for name, tt := range map[string]struct {
		server      Server
		input, want string
		asked       string // of the model
		honours     bool
	}{
		"by default":    {Server{}, `{"city":"Rome","key":"mine"}`, `{"city":"Rome","key":"mine"} K <nil>`, keyedSchema, false},
		"in _meta":      {Server{KeyInMeta: "k"}, `{"city":"Rome","key":"mine"}`, `{"city":"Rome","key":"mine"} <nil> K`, keyedSchema, true},
		"in another":    {Server{KeyInArgument: "token"}, `{"city":"Rome","key":"mine"}`, `{"city":"Rome","key":"mine"} K <nil>`, keyedSchema, false},
		"in the tool's": {Server{KeyInArgument: "key"}, `{"city":"Rome"}`, `{"city":"Rome","key":"K"} <nil> <nil>`, `{"additionalProperties":false,"properties":{"city":{"type":"string"}},"required":["city"],"type":"object"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			seen := ""
			opts := &Options{
				Approve: allowing(func(a *approval.Request) { seen = string(a.Arguments) }),
				Intercept: before(func(ctx context.Context, _ *Request) {
					check.Equal(t, "key in an interceptor", IdempotencyKeyFrom(ctx), "K")
				}),
			}
			catalog := keyed(t, opts, tt.server).Catalog(profile.Plain)
			p := check.Value(catalog.Prepare(call("1", "pay", tt.input)))(t)
			check.Equal(t, "", p.WithIdempotencyKey("K").Run(t.Context()).Text, tt.want)
			check.Equal(t, "a question about", seen, tt.input)
			check.Equal(t, "honours keys", p.Tool().honoursKey(), tt.honours)
			check.Same(t, "parameters", string(catalog.Definitions()[0].Function.Parameters.(json.RawMessage)), tt.asked)
		})
	}
}

// A server that honours keys gets one with each call, never one that a model wrote.
func TestKeyIsNeverTheModels(t *testing.T) {
	open := strings.Replace(keyedSchema, `,"additionalProperties":false`, "", 1)
	var got []string
	p := newPeer().tool("pay", open, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var in struct{ Key string }
		err := json.Unmarshal(req.Params.Arguments, &in)
		got = append(got, in.Key)
		return say("paid"), err
	})
	catalog := p.openAs(t, nil, Server{KeyInArgument: "key"}).Catalog(profile.Plain)
	for range 2 {
		check.Equal(t, "", catalog.Call(t.Context(), call("1", "pay", `{"city":"Rome","key":"mine"}`)).Text, "paid")
	}
	check.That(t, len(got) == 2 && got[0] != got[1] && len(got[0]) >= 20 && len(got[1]) >= 20, "got the keys %q, want two of ours", got)
	prepared := check.Value(catalog.Prepare(call("1", "pay", `{"city":"Rome","key":"mine"}`)))(t)
	check.Equal(t, "without the key of the model", string(prepared.Arguments()), `{"city":"Rome"}`)
}

// The continuation of a call has its own key, the same each time.
func TestKeyOfARound(t *testing.T) {
	for name, place := range map[string]string{"in _meta": "", "in an argument": "key"} {
		t.Run(name, func(t *testing.T) {
			var keys []string
			p := newPeer().tool("pay", keyedSchema, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
				var in struct{ Key string }
				_ = json.Unmarshal(req.Params.Arguments, &in)
				keys = append(keys, fmt.Sprint(req.Params.Meta[IdempotencyKeyMeta], in.Key))
				if len(req.Params.InputResponses) == 0 {
					return forName(), nil
				}
				return say("paid"), nil
			})
			ts := p.openAs(t, nil, Server{KeyInArgument: place, ClientOptions: &mcpclient.Options{Elicitation: mcp.ElicitationFunc(nil)}})
			input := `{"city":"Rome","key":"K"}`
			if place != "" {
				input = `{"city":"Rome"}`
			}
			prepared := prepare(t, ts, "pay", input).WithIdempotencyKey("K")
			round := roundOf(t, prepared)
			for range 2 {
				check.Equal(t, "", prepared.Continue(t.Context(), "", round, map[string]any{"q": &mcp.ElicitResult{Action: mcp.ElicitDecline}}).Text, "paid")
			}
			check.That(t, keys[1] == keys[2] && (keys[0] == keys[1]) == (place != "") && (strings.HasPrefix(keys[1], "K") || place != ""),
				"got the keys %q", keys)
		})
	}
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
	check.Value(outer.Catalog(profile.Plain).Prepare(call("1", "outer", "{}")))(t).WithIdempotencyKey("K").Run(t.Context())
	check.Same(t, "keys", keys, []string{"K", ""})
}
