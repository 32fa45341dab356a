package adapter

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/doubttext"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// servingX returns a transport to a modern server with the tool x, whose calls it answers.
func servingX(t *testing.T, answer func(conn mcpclient.Conn) string) (transport mcpclient.Transport) {
	var conn mcpclient.Conn
	transport, conn = answeredBy(t, func(m *testenv.Message) string {
		switch m.Method {
		case "server/discover":
			return `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}`
		case "tools/list":
			return `"result":{"resultType":"complete","tools":[{"name":"x","inputSchema":{"type":"object"}}]}`
		case "tools/call":
			return answer(conn)
		}
		return ""
	})
	return transport
}

// Results distinguish a call that certainly had no effect, a call in doubt, and a call with an outcome.
func TestOutcomes(t *testing.T) {
	again := intercept(func(ctx context.Context, r *Request, next Handler) (*mcp.CallToolResult, error) {
		if res, err := next(ctx, r); err == nil {
			return res, nil
		}
		return next(ctx, r)
	})
	deny := func(context.Context, *approval.Request) (approval.Decision, error) {
		return approval.Decision{Reason: "no"}, nil
	}
	attempts := 0
	second := func(mcpclient.Conn) string { // answers the second call only
		if attempts++; attempts == 2 {
			return `"error":{"code":-32603,"message":"x"}`
		}
		return ""
	}
	closes := func(conn mcpclient.Conn) string { _ = conn.Close(); return "" }
	says := func(text string) func(mcpclient.Conn) string { return func(mcpclient.Conn) string { return text } }
	for name, tt := range map[string]struct {
		opts                Options
		peer                func(conn mcpclient.Conn) string // answers a call
		tool                string
		before              func(*Toolset)
		unsent, interrupted bool
	}{
		"success":           {peer: says(`"result":{"resultType":"complete","content":[]}`)},
		"failure":           {peer: says(`"result":{"resultType":"complete","content":[],"isError":true}`)},
		"error":             {peer: says(`"error":{"code":-32603,"message":"x"}`)},
		"input":             {peer: says(`"result":{"resultType":"input_required","requestState":"s"}`)},
		"no result":         {peer: says(`"result":7`), interrupted: true},
		"silence":           {opts: Options{Policy: Policy{CallTimeout: time.Minute}}, peer: says(""), interrupted: true},
		"lost":              {peer: closes, interrupted: true},
		"lost and repeated": {opts: Options{Intercept: again}, peer: closes, interrupted: true},
		"silence and error": {opts: Options{Policy: Policy{CallTimeout: time.Minute}, Intercept: again}, peer: second, interrupted: true},
		"denied":            {opts: Options{Approve: deny}, unsent: true},
		"unknown":           {tool: "y", unsent: true},
		"connection over":   {before: func(ts *Toolset) { _ = ts.Close() }, unsent: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ts := open(t, &tt.opts, Server{Name: "p", Transport: servingX(t, tt.peer)})
				catalog := ts.Catalog(profile.Plain)
				if tt.before != nil {
					tt.before(ts)
				}
				r := catalog.Call(t.Context(), call("1", cmp.Or(tt.tool, "x"), ""), mcpclient.WithManualInput())
				check.That(t, r.Unsent() == tt.unsent && r.Interrupted() == tt.interrupted,
					"got unsent %v, interrupted %v for %v, want %v, %v", r.Unsent(), r.Interrupted(), r.Err, tt.unsent, tt.interrupted)
			})
		})
	}
}

// The end of the context is noticed before anything is sent, and while an answer is awaited.
func TestOutcomeOfACancelledCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := func(mcpclient.Conn) string { return "" }
		catalog := open(t, nil, Server{Name: "p", Transport: servingX(t, silent)}).Catalog(profile.Plain)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for _, want := range []bool{false, true} {
			r := catalog.Call(ctx, call("1", "x", ""))
			check.That(t, r.Unsent() == want && r.Interrupted() != want && errors.Is(r.Err, context.DeadlineExceeded),
				"got unsent %v, interrupted %v for %v", r.Unsent(), r.Interrupted(), r.Err)
			check.Equal(t, r.Text, r.Text == "Error: the call was cancelled before it was sent. Nothing was done.", want)
		}
	})
}

// A server that refuses the caller has done nothing.
func TestOutcomeOfARefusal(t *testing.T) {
	p := newSilentPeer().tool("x", object, answer("done"))
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return p.Server }, nil)
	refuses := false
	web := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if refuses {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	catalog := open(t, nil, Server{Name: "p", Transport: &mcpclient.HTTP{URL: web.URL(), Client: web.Client()}}).Catalog(profile.Plain)
	refuses = true
	r := catalog.Call(t.Context(), call("1", "x", ""))
	want := "Error: the tool's server refused the call (HTTP status 403). Nothing was done."
	check.That(t, r.Text == want && r.Unsent() && r.Fatal() != nil, "got %q, unsent %v, fatal %v, want %q", r.Text, r.Unsent(), r.Fatal(), want)
}

// A program can tell from each text whether it leaves open that the call had an effect.
func TestFailureInDoubt(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	lost := errors.New("connection lost")
	for name, tt := range map[string]struct {
		ctx        context.Context
		err        error
		sent, want bool
	}{
		"cancelled before":  {over, lost, false, false},
		"cancelled":         {over, lost, true, true},
		"argument":          {t.Context(), &argumentError{}, false, false},
		"denied":            {t.Context(), &deniedError{}, false, false},
		"not approved":      {t.Context(), &approvalError{}, false, false},
		"rejected":          {t.Context(), mcp.ErrRejected, true, false},
		"error":             {t.Context(), &mcp.RPCError{Code: 1, Message: "no"}, true, false},
		"given up":          {t.Context(), mcpclient.ErrTaskCancelled, true, true},
		"late":              {t.Context(), &mcpclient.TimeoutError{}, true, true},
		"acted first":       {t.Context(), errActedFirst, true, true},
		"deadline":          {t.Context(), context.DeadlineExceeded, true, true},
		"too many rounds":   {t.Context(), mcpclient.ErrTooManyRounds, true, false},
		"too large":         {t.Context(), transport.ErrMessageTooLarge, true, false},
		"not a result":      {t.Context(), mcp.ErrInvalidResult, true, false},
		"not reachable":     {t.Context(), lost, false, false},
		"lost":              {t.Context(), lost, true, true},
		"HTTP status":       {t.Context(), &transport.HTTPError{Status: 500}, false, false},
		"sign-in is needed": {t.Context(), &mcp.SignInError{}, false, false},
	} {
		text, _ := failure(tt.ctx, tt.err, tt.sent)
		check.Equal(t, name+": "+text, doubttext.In(text), tt.want)
	}
}
