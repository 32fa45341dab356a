package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// nameForm asks for a name, and forName is a result that asks for it as "q". The SDK writes to both.
func nameForm() *sdk.ElicitParams {
	return &sdk.ElicitParams{Mode: "form", Message: "name?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)}
}

func forName() *sdk.CallToolResult {
	return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"q": nameForm()}}
}

// prepare prepares a call of a tool by its plain name.
func prepare(t *testing.T, ts *Toolset, name, arguments string) *Prepared {
	t.Helper()
	return check.Value(ts.Catalog(profile.Plain).Prepare(call("1", name, arguments)))(t)
}

// roundOf runs a call up to its first question.
func roundOf(t *testing.T, p *Prepared) *mcp.InputRequired {
	t.Helper()
	r := p.Run(t.Context(), mcpclient.WithManualInput())
	round, ok := errors.AsType[*mcp.InputRequired](r.Err)
	check.Require(t, ok && r.Fatal() == nil && !r.IsError && r.Text == "(the tool waits for input; it has not finished)",
		"got %+v, want a round", r)
	return round
}

// curious is a server with a tool that first asks for a name.
func curious() *peer {
	return newPeer().tool("asks", weather, func(_ context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		answer, ok := req.Params.InputResponses["q"].(*sdk.ElicitResult)
		if !ok {
			return forName(), nil
		}
		return say(answer.Content["name"].(string) + " " + string(req.Params.Arguments)), nil
	})
}

// A call that needs input says so, and continues in another process. An interceptor also wraps the continuation, but
// must not change it.
func TestInputRequired(t *testing.T) {
	questions, change := 0, false
	opts := &Options{
		Approve: counted(&questions, approval.Decision{Allow: true}),
		ClientOptions: &mcpclient.Options{Elicitation: mcp.ElicitationFunc(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
			t.Error("the handler was asked")
			return nil, nil
		})},
		Intercept: before(func(_ context.Context, r *Request) {
			if change {
				r.Arguments = json.RawMessage(`{"city":"Oslo"}`)
			}
		}),
	}
	prepared := func(arguments string) *Prepared { return prepare(t, curious().open(t, opts), "asks", arguments) }
	asked := roundOf(t, prepared(`{"city":"Rome"}`))
	kept := check.Value(json.Marshal(asked))(t)
	answers := map[string]any{"q": &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]any{"name": "Ann"}}}
	for _, tt := range []struct{ arguments, change, to, want string }{
		{`{ "city": "Rome" }`, "", "", `Ann {"city":"Rome"}`},
		{`{"city":"Oslo"}`, "", "", "Error: the call cannot be continued: the round has other arguments. The tool may or may not have run."},
		{`{"city":"Rome"}`, `"asks"`, `"drop"`, "Error: the call cannot be continued: the round is not of this tool. The tool may or may not have run."},
		{`{"city":"Rome"}`, "tools/call", "prompts/get", "Error: the call cannot be continued: the round is not of this tool. The tool may or may not have run."},
	} {
		round := new(mcp.InputRequired)
		check.Must(t, json.Unmarshal(bytes.ReplaceAll(kept, []byte(tt.change), []byte(tt.to)), round))
		r := prepared(tt.arguments).Continue(t.Context(), "", round, answers)
		check.That(t, r.Text == tt.want && (r.Err == nil) == strings.HasPrefix(tt.want, "Ann"),
			"%s: got %q and %v, want %q", tt.arguments, r.Text, r.Err, tt.want)
	}
	check.Fails(t, prepared(`{"city":"Rome"}`).Continue(t.Context(), "", nil, answers).Fatal(), "without a round")
	check.Equal(t, "approvals", questions, 1)
	change = true
	r := prepared(`{"city":"Rome"}`).Continue(t.Context(), "", asked, answers)
	check.Fails(t, r.Fatal())
	check.Contains(t, "", r.Text, "the round has other arguments")
}

// The handler of a round's question sees the view of the call, not that of an outer call.
func TestAnswerInputForAView(t *testing.T) {
	var views []string
	opts := &Options{ClientOptions: &mcpclient.Options{Elicitation: mcp.ElicitationFunc(func(ctx context.Context, _ *mcp.ElicitParams) (*mcp.ElicitResult, error) {
		views = append(views, ViewFrom(ctx)+" "+IdempotencyKeyFrom(ctx))
		return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
	})}}
	p := prepare(t, curious().open(t, opts), "asks", `{"city":"Rome"}`).WithIdempotencyKey("K")
	round := roundOf(t, p)
	around := Func("around", "", func(ctx context.Context, _ struct{}) (string, error) {
		return "", check.Err(p.AnswerInput(ctx, round, "q"))
	}, nil)
	ctx := WithView(t.Context(), "ui://p/v")
	check.NoError(t, check.Err(p.AnswerInput(ctx, round, "q")))
	check.Equal(t, "an error", around.Catalog(profile.Plain).Call(ctx, call("2", "around", "{}")).IsError, false)
	check.Same(t, "", views, []string{"ui://p/v K", " K"})
}
