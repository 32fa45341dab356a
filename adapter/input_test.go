package adapter

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// curious is a server with a tool that first asks for a name.
func curious() *peer {
	return newPeer().tool("asks", weather, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		answer, ok := req.Params.InputResponses["q"].(*sdk.ElicitResult)
		if !ok {
			return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"q": &sdk.ElicitParams{
				Mode: "form", Message: "name?", RequestedSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}},
			}}}, nil
		}
		return say(answer.Content["name"].(string) + " " + string(req.Params.Arguments)), nil
	})
}

// A call that needs input says so, and continues in another process.
func TestInputRequired(t *testing.T) {
	questions := 0
	opts := &Options{
		Approve: counted(&questions, approval.Allow()),
		ClientOptions: &mcpclient.Options{Elicitation: mcp.ElicitationFunc(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			t.Error("the handler was asked")
			return nil, nil
		})},
	}
	prepared := func(arguments string) *Prepared {
		p, err := open(t, opts, Server{Name: "p", Transport: curious().transport(t)}).Catalog(profile.Plain).Prepare(call("1", "asks", arguments))
		check.Must(t, err)
		return p
	}
	r := prepared(`{"city":"Rome"}`).Run(t.Context(), mcpclient.WithManualInput())
	if r.InputRequired == nil || r.Fatal() != nil || r.IsError || r.Text != "(the tool waits for input; it has not finished)" {
		t.Fatalf("got %+v, want a round", r)
	}
	kept, err := json.Marshal(r.InputRequired)
	check.Must(t, err)
	answers := map[string]any{"q": &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]any{"name": "Ann"}}}
	for _, tt := range []struct{ arguments, change, to, want string }{
		{`{ "city": "Rome" }`, "", "", `Ann {"city":"Rome"}`},
		{`{"city":"Oslo"}`, "", "", "Error: the call cannot be continued: the round has other arguments. Nothing was done."},
		{`{"city":"Rome"}`, `"asks"`, `"drop"`, "Error: the call cannot be continued: the round is not of this tool. Nothing was done."},
		{`{"city":"Rome"}`, "tools/call", "prompts/get", "Error: the call cannot be continued: the round is not of this tool. Nothing was done."},
	} {
		text := string(kept)
		if tt.change != "" {
			text = strings.ReplaceAll(text, tt.change, tt.to)
		}
		round := new(mcp.InputRequired)
		check.Must(t, json.Unmarshal([]byte(text), round))
		r := prepared(tt.arguments).Continue(t.Context(), round, answers)
		if r.Text != tt.want || (r.Err == nil) != strings.HasPrefix(tt.want, "Ann") {
			t.Errorf("%s: got %q and %v, want %q", tt.arguments, r.Text, r.Err, tt.want)
		}
	}
	if r := prepared(`{"city":"Rome"}`).Continue(t.Context(), nil, answers); r.Fatal() == nil {
		t.Error("got no error, want that there is no round")
	}
	check.Equal(t, "approvals", questions, 1)
}

// An interceptor also wraps the continuation of a call, but must not change it.
func TestInterceptedRound(t *testing.T) {
	change := false
	opts := &Options{
		ClientOptions: &mcpclient.Options{Elicitation: mcp.ElicitationFunc(nil)},
		Intercept: intercept(func(ctx context.Context, r *Request, next Handler) (*mcp.CallToolResult, error) {
			if change {
				r.Arguments = json.RawMessage(`{"city":"Oslo"}`)
			}
			return next(ctx, r)
		}),
	}
	p, err := open(t, opts, Server{Name: "p", Transport: curious().transport(t)}).Catalog(profile.Plain).Prepare(call("1", "asks", `{"city":"Rome"}`))
	check.Must(t, err)
	r := p.Run(t.Context(), mcpclient.WithManualInput())
	if r.InputRequired == nil {
		t.Fatalf("got %+v, want a round", r)
	}
	change = true
	answers := map[string]any{"q": &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]any{"name": "Ann"}}}
	if r := p.Continue(t.Context(), r.InputRequired, answers); r.Fatal() == nil || !strings.Contains(r.Text, "the round has other arguments") {
		t.Errorf("got %q and %v, want that the arguments differ", r.Text, r.Fatal())
	}
}

// The handler of a round's question sees the view of the call, not that of an outer call.
func TestAnswerInputForAView(t *testing.T) {
	var views []string
	opts := &Options{ClientOptions: &mcpclient.Options{Elicitation: mcp.ElicitationFunc(func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		views = append(views, ViewFrom(ctx)+" "+IdempotencyKeyFrom(ctx))
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	})}}
	p, err := open(t, opts, Server{Name: "p", Transport: curious().transport(t)}).Catalog(profile.Plain).Prepare(call("1", "asks", `{"city":"Rome"}`))
	check.Must(t, err)
	p = p.WithIdempotencyKey("K")
	r := p.Run(t.Context(), mcpclient.WithManualInput())
	if r.InputRequired == nil {
		t.Fatalf("got %+v, want a round", r)
	}
	around := Func("around", "", func(ctx context.Context, _ struct{}) (string, error) {
		_, err := p.AnswerInput(ctx, r.InputRequired, "q")
		return "", err
	}, nil)
	ctx := WithView(t.Context(), "ui://p/v")
	check.NoError(t, check.Err(p.AnswerInput(ctx, r.InputRequired, "q")))
	if r := around.Catalog(profile.Plain).Call(ctx, call("2", "around", "{}")); r.IsError {
		t.Error(r.Text)
	}
	check.Same(t, "", views, []string{"ui://p/v K", " K"})
}
