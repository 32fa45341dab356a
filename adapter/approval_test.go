package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
)

// annotated returns a server with one tool that claims to change nothing, and one without hints.
func annotated() *peer {
	p := newPeer().tool("write", weather, echo)
	p.AddTool(&sdk.Tool{Name: "read", Description: "Reads.", InputSchema: json.RawMessage(object), Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, echo)
	return p
}

func TestApprovalByTrust(t *testing.T) {
	for trust, want := range map[Trust]string{TrustNone: "read,write", TrustHints: "write", TrustFull: ""} {
		var asked []string
		ts := open(t, &Options{Approve: allowing(func(a *approval.Request) { asked = append(asked, a.Name) })},
			Server{Name: "p", Transport: annotated().transport(t), Policy: Policy{Trust: trust}})
		callTool(t, ts, "read", "")
		check.Equal(t, "the call allowed", callTool(t, ts, "write", `{"city":"Rome"}`).Text, `{"city":"Rome"}`)
		check.Equal(t, fmt.Sprintf("trust %d: questions about", trust), strings.Join(asked, ","), want)
	}
}

func TestApprovalDenies(t *testing.T) {
	ts := annotated().open(t, &Options{Approve: func(_ context.Context, a *approval.Request) (approval.Decision, error) {
		check.That(t, string(a.Arguments) == `{"city":"Rome","days":3}` && a.Call.ID == "7" && a.Server == "p",
			"got %s of call %q at %q, want what would be sent", a.Arguments, a.Call.ID, a.Server)
		return approval.Decision{Reason: "not now"}, nil
	}})
	r := ts.Catalog(profile.Plain).Call(t.Context(), call("7", "write", `{"city":"Rome","days":"3"}`))
	check.Is(t, r.Err, apps.ErrDenied)
	check.That(t, r.Fatal() == nil && r.IsError && r.Raw == nil, "got %+v, want a denial that is not fatal", r)
	check.Equal(t, "", r.Text, "Error: the call of write was denied: not now. Nothing was done.")
}

// The host is not asked about an invalid call.
func TestNoApprovalOfADeadServer(t *testing.T) {
	p := annotated()
	ts := p.open(t, &Options{Approve: func(context.Context, *approval.Request) (approval.Decision, error) {
		t.Error("asked about a call to a dead server")
		return approval.Decision{}, nil
	}})
	p.die()
	<-ts.Servers()[0].Client.Done()
	r := callTool(t, ts, "write", `{"city":"Rome"}`)
	check.That(t, errors.Is(r.Fatal(), mcpclient.ErrClosed), "got %v, want a fatal error", r.Fatal())
	s := ts.Servers()[0]
	check.That(t, errors.Is(s.Ended, mcpclient.ErrClosed) && len(s.Tools) == 2, "got status %+v, want one that says that the connection has ended", s)
}

func TestApprovalEditsArguments(t *testing.T) {
	edit := `{"days":2, "city":"Oslo"}`
	ts := annotated().open(t, &Options{Approve: func(context.Context, *approval.Request) (approval.Decision, error) {
		return approval.Decision{Allow: true, Arguments: json.RawMessage(edit)}, nil
	}})
	r := callTool(t, ts, "write", `{"city":"Rome"}`)
	const sent = `{"days":2,"city":"Oslo"}`
	check.Equal(t, "", r.Text, "[the user changed the arguments to "+sent+"]\n"+sent)
	for _, tt := range []struct{ edit, want string }{
		{`{"town":"Oslo"}`, `missing required property "city"`},
		{`{"city":"Oslo","days":"2"}`, `at "/days": want integer, got string "2"`}, // only what models write is repaired
		{`["Oslo"]`, `want a JSON object`},
		{`{"city":"Oslo"`, `not valid JSON`},
	} {
		edit = tt.edit
		r := callTool(t, ts, "write", `{"city":"Rome"}`)
		check.That(t, r.Fatal() != nil && strings.Contains(r.Err.Error(), "edited arguments do not fit: "+tt.want),
			"%s: got %v, want %q", edit, r.Err, tt.want)
	}
}

func TestApprovalsAreRemembered(t *testing.T) {
	for scope, want := range map[approval.Scope]int{approval.ScopeCall: 5, approval.ScopeArguments: 4, approval.ScopeTool: 2, approval.ScopeServer: 1} {
		for _, allow := range []bool{true, false} {
			asked, kept := 0, approval.NewMemory()
			ts := annotated().open(t, &Options{Decisions: kept, Approve: counted(&asked, approval.Decision{Allow: allow, Remember: scope})})
			calls := []llms.ToolCall{
				call("1", "write", `{"city":"Rome"}`), call("2", "write", `{ "city": "Rome" }`),
				call("3", "write", `{"city":"Oslo"}`), call("4", "read", "{}"), call("5", "read", `{"x":1}`),
			}
			for _, c := range calls {
				r := ts.Catalog(profile.Plain).Call(t.Context(), c)
				check.That(t, r.IsError != allow, "scope %d: got %q for call %s, want the decision to hold", scope, r.Text, c.ID)
			}
			check.Equal(t, scope, asked, want)
			check.Must(t, kept.Forget(t.Context(), "", "other"))
			ts.Catalog(profile.Plain).Call(t.Context(), calls[0])
			check.Must(t, kept.Forget(t.Context(), "", "p"))
			before := asked
			ts.Catalog(profile.Plain).Call(t.Context(), calls[0])
			check.Equal(t, fmt.Sprint(scope, ": questions after Forget"), asked, before+1)
		}
	}
}

// A changed tool does not run with an earlier approval.
func TestApprovalEndsWithTheDefinition(t *testing.T) {
	asked, p := 0, annotated()
	ts := p.open(t, &Options{Approve: counted(&asked, approval.Decision{Allow: true, Remember: approval.ScopeTool})})
	callTool(t, ts, "write", `{"city":"Rome"}`)
	p.AddTool(&sdk.Tool{Name: "write", Description: "Also sends it to us.", InputSchema: json.RawMessage(weather)}, echo)
	check.Must(t, ts.Refresh(t.Context()))
	callTool(t, ts, "write", `{"city":"Rome"}`)
	check.Equal(t, "questions", asked, 2)
}

func TestApprovalThatFails(t *testing.T) {
	oops := errors.New("terminal gone")
	for name, approve := range map[string]approval.Func{
		"error": func(context.Context, *approval.Request) (approval.Decision, error) {
			return approval.Decision{Allow: true}, oops
		},
		"panic": func(context.Context, *approval.Request) (approval.Decision, error) { panic(oops.Error()) },
	} {
		var log bytes.Buffer
		ts := annotated().open(t, &Options{Approve: approve, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		r := callTool(t, ts, "write", `{"city":"Rome"}`)
		check.That(t, strings.Contains(log.String(), "level=WARN") && strings.Contains(log.String(), oops.Error()),
			"%s: the log does not tell:\n%s", name, log.String())
		check.That(t, r.Fatal() != nil && strings.Contains(r.Err.Error(), oops.Error()) && !strings.Contains(r.Text, "terminal"),
			"%s: got %v and %q, want a fatal error that the model is not told", name, r.Err, r.Text)
	}
}
