package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tmc/langchaingo/llms"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
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
		p := annotated()
		ts := open(t, &Options{Approve: func(_ context.Context, a *approval.Request) (approval.Decision, error) {
			asked = append(asked, a.Name)
			return approval.Decision{Allow: true}, nil
		}}, Server{Name: "p", Transport: p.transport(t), Policy: Policy{Trust: trust}})
		ts.Catalog(profile.Plain).Call(t.Context(), call("1", "read", ""))
		check.Equal(t, "the call allowed", ts.Catalog(profile.Plain).Call(t.Context(), call("1", "write", `{"city":"Rome"}`)).Text, `{"city":"Rome"}`)
		if got := strings.Join(asked, ","); got != want {
			t.Errorf("trust %d: got questions about %q, want %q", trust, got, want)
		}
	}
}

func TestApprovalDenies(t *testing.T) {
	p := annotated()
	ts := open(t, &Options{Approve: func(_ context.Context, a *approval.Request) (approval.Decision, error) {
		if string(a.Arguments) != `{"city":"Rome","days":3}` || a.Call.ID != "7" || a.Server != "p" {
			t.Errorf("got %s of call %q at %q, want what would be sent", a.Arguments, a.Call.ID, a.Server)
		}
		return approval.Decision{Reason: "not now"}, nil
	}}, Server{Name: "p", Transport: p.transport(t)})
	r := ts.Catalog(profile.Plain).Call(t.Context(), call("7", "write", `{"city":"Rome","days":"3"}`))
	var denied *deniedError
	if !errors.As(r.Err, &denied) || denied.reason != "not now" || r.Fatal() != nil || !r.IsError || r.Raw != nil {
		t.Errorf("got %+v, want a denial that is not fatal", r)
	}
	check.Equal(t, "", r.Text, "Error: the call of write was denied: not now. Nothing was done.")
}

// The host is not asked about an invalid call.
func TestNoApprovalOfADeadServer(t *testing.T) {
	p := annotated()
	ts := open(t, &Options{Approve: func(context.Context, *approval.Request) (approval.Decision, error) {
		t.Error("asked about a call to a dead server")
		return approval.Decision{}, nil
	}}, Server{Name: "p", Transport: p.transport(t)})
	p.die()
	<-ts.Servers()[0].Client.Done()
	r := ts.Catalog(profile.Plain).Call(t.Context(), call("1", "write", `{"city":"Rome"}`))
	if !errors.Is(r.Fatal(), mcpclient.ErrClosed) {
		t.Errorf("got %v, want a fatal error", r.Fatal())
	}
	if s := ts.Servers()[0]; !errors.Is(s.Ended, mcpclient.ErrClosed) || len(s.Tools) != 2 {
		t.Errorf("got status %+v, want one that says that the connection has ended", s)
	}
}

func TestApprovalEditsArguments(t *testing.T) {
	edit := `{"days":2, "city":"Oslo"}`
	p := annotated()
	ts := open(t, &Options{Approve: func(context.Context, *approval.Request) (approval.Decision, error) {
		return approval.Decision{Allow: true, Arguments: json.RawMessage(edit)}, nil
	}}, Server{Name: "p", Transport: p.transport(t)})
	r := ts.Catalog(profile.Plain).Call(t.Context(), call("1", "write", `{"city":"Rome"}`))
	const sent = `{"days":2,"city":"Oslo"}`
	check.Equal(t, "", r.Text, "[the user changed the arguments to "+sent+"]\n"+sent)
	for _, tt := range []struct{ edit, want string }{
		{`{"town":"Oslo"}`, `missing required property "city"`},
		{`{"city":"Oslo","days":"2"}`, `at "/days": want integer, got string "2"`}, // only what models write is repaired
		{`["Oslo"]`, `want a JSON object`},
		{`{"city":"Oslo"`, `not valid JSON`},
	} {
		edit = tt.edit
		r := ts.Catalog(profile.Plain).Call(t.Context(), call("1", "write", `{"city":"Rome"}`))
		if r.Fatal() == nil || !strings.Contains(r.Err.Error(), "edited arguments do not fit: "+tt.want) {
			t.Errorf("%s: got %v, want %q", edit, r.Err, tt.want)
		}
	}
}

func TestApprovalsAreRemembered(t *testing.T) {
	for scope, want := range map[approval.Scope]int{approval.ScopeCall: 5, approval.ScopeArguments: 4, approval.ScopeTool: 2, approval.ScopeServer: 1} {
		for _, allow := range []bool{true, false} {
			asked := 0
			p := annotated()
			ts := open(t, &Options{Approve: counted(&asked, approval.Decision{Allow: allow, Remember: scope})}, Server{Name: "p", Transport: p.transport(t)})
			calls := []llms.ToolCall{
				call("1", "write", `{"city":"Rome"}`), call("2", "write", `{ "city": "Rome" }`),
				call("3", "write", `{"city":"Oslo"}`), call("4", "read", "{}"), call("5", "read", `{"x":1}`),
			}
			for _, c := range calls {
				if r := ts.Catalog(profile.Plain).Call(t.Context(), c); r.IsError == allow {
					t.Errorf("scope %d: got %q for call %s, want the decision to hold", scope, r.Text, c.ID)
				}
			}
			if asked != want {
				t.Errorf("scope %d: got %d questions, want %d", scope, asked, want)
			}
			check.Must(t, ts.Forget(t.Context(), "other"))
			ts.Catalog(profile.Plain).Call(t.Context(), calls[0])
			check.Must(t, ts.Forget(t.Context(), "p"))
			before := asked
			if ts.Catalog(profile.Plain).Call(t.Context(), calls[0]); asked != before+1 {
				t.Errorf("scope %d: got no question after Forget", scope)
			}
		}
	}
}

// A changed tool does not run with an earlier approval.
func TestApprovalEndsWithTheDefinition(t *testing.T) {
	asked := 0
	p := annotated()
	ts := open(t, &Options{Approve: counted(&asked, approval.Decision{Allow: true, Remember: approval.ScopeTool})}, Server{Name: "p", Transport: p.transport(t)})
	ts.Catalog(profile.Plain).Call(t.Context(), call("1", "write", `{"city":"Rome"}`))
	p.AddTool(&sdk.Tool{Name: "write", Description: "Also sends it to us.", InputSchema: json.RawMessage(weather)}, echo)
	check.Must(t, ts.Refresh(t.Context()))
	ts.Catalog(profile.Plain).Call(t.Context(), call("1", "write", `{"city":"Rome"}`))
	check.Equal(t, "questions", asked, 2)
}

func TestApprovalThatFails(t *testing.T) {
	oops := errors.New("terminal gone")
	for name, approve := range map[string]approval.Func{
		"error": func(context.Context, *approval.Request) (approval.Decision, error) { return approval.Allow(), oops },
		"panic": func(context.Context, *approval.Request) (approval.Decision, error) { panic(oops.Error()) },
	} {
		p := annotated()
		var log bytes.Buffer
		ts := open(t, &Options{Approve: approve, Logger: slog.New(slog.NewTextHandler(&log, nil))}, Server{Name: "p", Transport: p.transport(t)})
		r := ts.Catalog(profile.Plain).Call(t.Context(), call("1", "write", `{"city":"Rome"}`))
		if !strings.Contains(log.String(), "level=WARN") || !strings.Contains(log.String(), oops.Error()) {
			t.Errorf("%s: the log does not tell:\n%s", name, log.String())
		}
		if r.Fatal() == nil || !strings.Contains(r.Err.Error(), oops.Error()) || strings.Contains(r.Text, "terminal") {
			t.Errorf("%s: got %v and %q, want a fatal error that the model is not told", name, r.Err, r.Text)
		}
	}
}
