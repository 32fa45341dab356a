package adapter

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
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
func servingX(t *testing.T, answer func(conn transport.Conn) string) (way mcpclient.Transport) {
	var conn transport.Conn
	way, conn = answeredBy(t, func(m *testenv.Message) string {
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
	return way
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
	second := func(transport.Conn) string { // answers the second call only
		if attempts++; attempts == 2 {
			return `"error":{"code":-32603,"message":"x"}`
		}
		return ""
	}
	closes := func(conn transport.Conn) string { _ = conn.Close(); return "" }
	says := func(text string) func(transport.Conn) string { return func(transport.Conn) string { return text } }
	for name, tt := range map[string]struct {
		opts                Options
		peer                func(conn transport.Conn) string // answers a call
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
		silent := func(transport.Conn) string { return "" }
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
		text, _ := (&Result{sent: tt.sent}).failure(tt.ctx, tt.err)
		check.Equal(t, name+": "+text, doubttext.In(text), tt.want)
	}
	for _, err := range []error{&staleToolError{reason: toolGone}, &roundError{}, &interceptedError{lost}, lost, &mcp.SignInError{}} {
		text, _ := (&Result{begun: true}).failure(t.Context(), err)
		check.Equal(t, "begun before: "+text, doubttext.In(text), true)
	}
}

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
		{opened(nobody, nobody), `open toolset: server "b" is there already: give each a name of its own`},
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
		{ts.Add(ctx, Server{Name: "a", Transport: nobody.Transport}), `add to toolset: server "a" is there already: give each a name of its own`},
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

const forecasts = `{"tools":[{"name":"forecast","inputSchema":{"type":"object"},"outputSchema":{"type":"object","properties":{"degrees":{"type":"number"}}}}]}`

// The model and the log learn of a result that violates its output schema, whichever option checks it.
func TestOutputsAreChecked(t *testing.T) {
	const bad = `{"content":[{"type":"text","text":"very warm"}],"structuredContent":{"degrees":"warm"}}`
	for name, test := range map[string]struct {
		opts          Options
		tools, result string
		want          string // in the model's text besides the result's
	}{
		"off":            {Options{}, forecasts, bad, ""},
		"on":             {Options{Policy: Policy{CheckOutputs: true}}, forecasts, bad, `does not fit the output schema that it declares: at "/degrees"`},
		"fits":           {Options{Policy: Policy{CheckOutputs: true}}, forecasts, `{"content":[{"type":"text","text":"very warm"}],"structuredContent":{"degrees":7}}`, ""},
		"no such schema": {Options{Policy: Policy{CheckOutputs: true}}, strings.Replace(forecasts, `"outputSchema":{`, `"outputSchema":{"$schema":"urn:own",`, 1), bad, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			test.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
			ts := open(t, &test.opts, Server{Name: "s", Transport: scripted(t, map[string]string{"tools/list": test.tools, "tools/call": test.result})})
			r := callTool(t, ts, "forecast", "{}")
			breach := test.want != ""
			check.That(t, strings.Contains(r.Text, "very warm") && strings.Contains(r.Text, test.want) && r.IsError == breach && r.Raw != nil,
				"got %+v, want the result, and %q", r, test.want)
			_, ok := errors.AsType[*mcpclient.OutputError](r.Err)
			check.That(t, ok == breach && r.Fatal() == nil, "got the error %v, fatal %v", r.Err, r.Fatal())
			check.Equal(t, "the log has the breach", strings.Contains(log.String(), "does not fit the output schema"), breach)
			check.Equal(t, "the log says that nothing is checked", strings.Contains(log.String(), "are not checked"), name == "no such schema")
		})
	}
}

// A long result that violates its schema can be read on as any other.
func TestLongViolationIsKept(t *testing.T) {
	result := `{"content":[{"type":"text","text":"` + strings.Repeat("very warm ", 200) + `"}],"structuredContent":{"degrees":"warm"}}`
	ts := open(t, &Options{Policy: Policy{CheckOutputs: true, MaxResult: 1000}, KeepResults: 1 << 20},
		Server{Name: "s", Transport: scripted(t, map[string]string{"tools/list": forecasts, "tools/call": result})})
	r := callTool(t, ts, "forecast", "{}")
	check.That(t, cutNotice.MatchString(r.Text) && strings.Contains(r.Text, "does not fit") && len(r.Text) <= 1000, "got %q", r.Text)
}

// evens is a validator that refuses an odd argument n.
type evens struct{}

func (evens) Compile(schema json.RawMessage) (func(json.RawMessage) error, error) {
	if strings.Contains(string(schema), "refused") {
		return nil, errors.New("refused")
	}
	return func(value json.RawMessage) error {
		var args struct{ N int }
		if err := json.Unmarshal(value, &args); err != nil || args.N%2 != 0 {
			return &mcpclient.SchemaViolation{Path: "/n", Message: "odd"}
		}
		return nil
	}, nil
}

// The host's validator checks the arguments of models, after their repair, and of the host.
func TestValidatorOfArguments(t *testing.T) {
	ts := open(t, &Options{ClientOptions: &mcpclient.Options{Validator: evens{}}}, Server{Name: "s", Transport: scripted(t, map[string]string{
		"tools/list": `{"tools":[{"name":"x","inputSchema":` + number + `},{"name":"y","inputSchema":{"title":"refused"}}]}`,
		"tools/call": `{"content":[{"type":"text","text":"done"}]}`,
	})})
	skipped := ts.Servers()[0].Skipped
	check.That(t, len(skipped) == 1 && skipped["y"] != nil, "got %+v left out, want the tool that the validator refuses", skipped)
	tools := ts.Catalog(profile.Plain)
	check.Equal(t, "the even one sent", tools.Call(t.Context(), call("1", "x", `{"n":"2"}`)).Text, "done")
	r := tools.Call(t.Context(), call("1", "x", `{"n":"3"}`))
	_, bad := errors.AsType[*argumentError](r.Err)
	check.That(t, bad && strings.Contains(r.Err.Error(), `"/n"`) && strings.Contains(r.Text, "odd"), "got %q with %v, want the odd one refused", r.Text, r.Err)
	check.Text(t, check.Err(prepare(t, ts, "x", `{"n":4}`).WithArguments(json.RawMessage(`{"n":5}`))), "", "no error of odd arguments of the host")
}
