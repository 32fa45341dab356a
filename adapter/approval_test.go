package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

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

// Key.Place shows how a server is reached, without secrets.
func TestPlaceOfADecision(t *testing.T) {
	dir := t.TempDir()
	for want, transport := range map[string]mcpclient.Transport{
		"s\ufffd in " + dir:     &mcpclient.Command{Path: "s\xe9", Dir: dir}, // so that the key can be stored as JSON
		"serve in " + dir:       &mcpclient.Command{Path: "serve", Args: []string{"--token=hidden"}, Dir: dir},
		"https://a.example/mcp": &mcpclient.HTTP{URL: "https://me:hidden@a.example/mcp?key=hidden"},
	} {
		check.Equal(t, "", serverKey(transport).Place, want)
	}
}

// serverKey is the key of a decision about a server.
func serverKey(transport mcpclient.Transport) approval.Key {
	tool := &Tool{server: newServerState(new(Options).withDefaults(), &Server{Name: "s", Transport: transport})}
	return (&question{tool: tool}).key(approval.ScopeServer)
}

// A decision does not hold for another server with the same label.
func TestDecisionsEndWithTheServer(t *testing.T) {
	command := mcpclient.Command{Path: "server", Args: []string{"-a", "b"}}
	seen := map[approval.Key]bool{}
	for _, transport := range []mcpclient.Transport{
		&command,
		&mcpclient.Command{Path: "other", Args: command.Args},
		&mcpclient.Command{Path: "server", Args: []string{"-ab"}},
		&mcpclient.Command{Path: "server", Args: command.Args, Dir: "/elsewhere"},
		&mcpclient.HTTP{URL: "https://a.example/mcp"},
		&mcpclient.HTTP{URL: "https://b.example/mcp"},
		&mcpclient.HTTP{URL: "https://a.example/mcp", SSE: true},
		transportFunc(unreachable),
		&reached{name: "one"},
		&reached{name: "two"},
	} {
		k := serverKey(transport)
		check.That(t, !seen[k], "%+v: got the decisions of another server", transport)
		seen[k] = true
	}
	again := command
	again.Env = []string{"TOKEN=new"}
	check.Equal(t, "with a new token", serverKey(&again), serverKey(&command))
	check.Equal(t, "with another password", serverKey(&mcpclient.HTTP{URL: "https://me:new@a.example/mcp"}),
		serverKey(&mcpclient.HTTP{URL: "https://a.example/mcp"}))
}

// Toolsets that share a directory know each other's decisions.
func TestDecisionsOutliveTheToolset(t *testing.T) {
	dir, asked := t.TempDir(), 0
	for range 2 {
		ts := annotated().open(t, &Options{Decisions: approval.NewFiles(dir),
			Approve: counted(&asked, approval.Decision{Allow: true, Remember: approval.ScopeTool})})
		for _, city := range []string{"Rome", "Oslo"} {
			check.Must(t, callTool(t, ts, "write", `{"city":"`+city+`"}`).Err)
		}
		_ = ts.Close()
	}
	check.Equal(t, "questions", asked, 1)
}

// A fingerprint without visibility stays valid for tools that models and views may call. For others the person is asked again.
func TestDecisionsByOlderFingerprints(t *testing.T) {
	dir := t.TempDir()
	asked := map[string]int{}
	var log bytes.Buffer
	ts := viewPeer().open(t, &Options{
		Decisions: approval.NewFiles(dir), Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})),
		Approve: func(_ context.Context, a *approval.Request) (approval.Decision, error) {
			asked[a.Definition.Name]++
			return approval.Decision{Allow: true, Remember: approval.ScopeTool}, nil
		},
	})
	catalog := ts.Catalog(profile.Plain)
	for name, fingerprint := range map[string]string{
		"both_tool":  "c53942dce9f8426a279a373d286221172f2c941157d3b98a91a799a3f403faac",
		"model_tool": "d18d327d0a4ed13d5812a1bce660cad8d8d4554d29fe98dcdafd4b683fa13372",
	} {
		tool, _ := catalog.Lookup(name)
		key := (&question{tool: tool}).key(approval.ScopeTool)
		key.Fingerprint = fingerprint
		check.Must(t, approval.NewFiles(dir).Remember(t.Context(), key, approval.Decision{Allow: true}))
		for range 2 {
			check.NoError(t, catalog.Call(t.Context(), call("1", name, "{}")).Err, name)
		}
	}
	check.That(t, asked["both_tool"] == 0 && asked["model_tool"] == 1 && !strings.Contains(log.String(), "decision"),
		"got the questions %v and the log %q, want one question about model_tool", asked, &log)
}

// failingDecisions is a store whose methods fail.
type failingDecisions struct{}

func (failingDecisions) Recall(context.Context, approval.Key) (approval.Decision, bool, error) {
	return approval.Decision{Allow: true}, true, errors.New("disk gone")
}
func (failingDecisions) Remember(context.Context, approval.Key, approval.Decision) error {
	panic("disk gone")
}
func (failingDecisions) Forget(context.Context, string, string) error { return errors.New("disk gone") }

func TestDecisionsThatCannotBeKept(t *testing.T) {
	var log bytes.Buffer
	asked := 0
	ts := annotated().open(t, &Options{Decisions: failingDecisions{}, Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Approve: counted(&asked, approval.Decision{Allow: true, Remember: approval.ScopeTool})})
	for range 2 {
		check.NoError(t, callTool(t, ts, "write", `{"city":"Rome"}`).Err)
	}
	check.That(t, asked == 2 && strings.Contains(log.String(), "could not recall") && strings.Contains(log.String(), "could not remember"),
		"got %d questions and the log %s, want every call asked about, and why", asked, log.String())
}

// userFrom returns the user of a context. It panics for "mallory".
func userFrom(ctx context.Context) string {
	user, _ := ctx.Value(userKey{}).(string)
	if user == "mallory" {
		panic("no such session")
	}
	return user
}

func as(t testing.TB, user string) context.Context {
	return context.WithValue(t.Context(), userKey{}, user)
}

// A decision of one user does not hold for another, or for an unknown user.
func TestDecisionsHoldForOneUser(t *testing.T) {
	for _, inFiles := range []bool{false, true} {
		for _, scope := range []approval.Scope{approval.ScopeArguments, approval.ScopeTool, approval.ScopeServer} {
			t.Run(fmt.Sprint(scope, ", in files ", inFiles), func(t *testing.T) {
				var asked []string
				dir := filepath.Join(t.TempDir(), "kept")
				kept := approval.NewMemory()
				if inFiles {
					kept = approval.NewFiles(dir)
				}
				share := func() *Toolset {
					return annotated().open(t, &Options{User: userFrom, Decisions: kept, Approve: func(ctx context.Context, _ *approval.Request) (approval.Decision, error) {
						user, _ := ctx.Value(userKey{}).(string)
						asked = append(asked, user)
						return approval.Decision{Allow: user != "bob", Remember: scope}, nil
					}})
				}
				ts := share()
				calls := func(ts *Toolset, want ...string) {
					t.Helper()
					asked = nil
					for _, user := range []string{"ada", "bob", "ada", "bob", "", "", "mallory", "mallory"} {
						r := ts.Catalog(profile.Plain).Call(as(t, user), call("1", "write", `{"city":"Rome"}`))
						check.That(t, r.IsError == (user == "bob"), "got %q for %q, want each user's own decision", r.Text, user)
					}
					check.Same(t, "questions to", asked, want)
				}
				unknown := []string{"", "", "mallory", "mallory"}
				calls(ts, slices.Concat([]string{"ada", "bob"}, unknown)...)
				calls(ts, unknown...)
				check.Must(t, kept.Forget(t.Context(), "ada", "p"))
				calls(ts, slices.Concat([]string{"ada"}, unknown)...)
				calls(share(), unknown...)
			})
		}
	}
}

// Two hosts share a directory, and only one of them distinguishes users. An unknown user there is
// not the only user of the other.
func TestUnknownUsersShareNothing(t *testing.T) {
	asked := 0
	opts := Options{Decisions: approval.NewFiles(t.TempDir()), Approve: counted(&asked, approval.Decision{Allow: true, Remember: approval.ScopeServer})}
	one := annotated().open(t, &opts)
	opts.User = userFrom
	many := annotated().open(t, &opts)
	for i, step := range []struct {
		ts    *Toolset
		asked int
	}{{many, 1}, {one, 2}, {one, 2}, {many, 3}} {
		step.ts.Catalog(profile.Plain).Call(t.Context(), call("1", "write", `{"city":"Rome"}`))
		check.That(t, asked == step.asked, "step %d: got %d questions, want %d", i, asked, step.asked)
	}
}

// A user is asked one question at a time, and an open dialog delays no other user.
func TestUsersAreAskedSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asking := map[string]chan approval.Decision{"ada": make(chan approval.Decision), "bob": make(chan approval.Decision)}
		questions := make(chan string, 10)
		ts := annotated().open(t, &Options{User: userFrom, Approve: func(ctx context.Context, a *approval.Request) (approval.Decision, error) {
			questions <- userFrom(ctx) + " " + string(a.Arguments)
			return <-asking[userFrom(ctx)], nil
		}})
		ctx, leave := context.WithCancel(as(t, "ada"))
		ends, catalog := make(chan error, 3), ts.Catalog(profile.Plain)
		go func() { ends <- catalog.Call(as(t, "ada"), call("1", "write", `{"city":"Rome"}`)).Err }()
		synctest.Wait()
		go func() { ends <- catalog.Call(ctx, call("1", "write", `{"city":"Oslo"}`)).Err }()
		go func() { ends <- catalog.Call(as(t, "bob"), call("1", "write", `{"city":"Bari"}`)).Err }()
		synctest.Wait()
		check.Same(t, "questions", []string{<-questions, <-questions}, []string{`ada {"city":"Rome"}`, `bob {"city":"Bari"}`})
		check.Equal(t, "more questions", len(questions), 0)
		leave() // who waits for a turn need not
		check.Equal(t, "the end of the context", <-ends, context.Canceled)
		asking["bob"] <- approval.Decision{Allow: true}
		asking["ada"] <- approval.Decision{Allow: true}
		for range 2 {
			check.NoError(t, <-ends, "the call allowed")
		}
	})
}

// A user is asked in the order of the calls, even if one of them is cancelled.
func TestQuestionsComeInTheirOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		answers := make(chan approval.Decision)
		ts := annotated().open(t, &Options{Approve: func(_ context.Context, a *approval.Request) (approval.Decision, error) {
			asked = append(asked, a.Call.ID)
			return <-answers, nil
		}})
		ctx, leave := context.WithCancel(t.Context())
		catalog, ends, want := ts.Catalog(profile.Plain), make(chan struct{}), []string(nil)
		for i := range 20 {
			id, with := fmt.Sprint(i), t.Context()
			if i == 10 {
				with = ctx
			} else {
				want = append(want, id)
			}
			go func() {
				catalog.Call(with, call(id, "write", fmt.Sprintf(`{"city":"%d"}`, i)))
				ends <- struct{}{}
			}()
			synctest.Wait()
		}
		leave()
		<-ends
		for range want {
			answers <- approval.Decision{}
			<-ends
		}
		check.Same(t, "the questions", asked, want)
	})
}

// Two concurrent calls need one question if the first answer covers the second.
func TestTheSecondOfTwoCallsIsNotAskedAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, answer := make(chan struct{}, 2), make(chan approval.Decision, 2)
		ts := annotated().open(t, &Options{Approve: func(context.Context, *approval.Request) (approval.Decision, error) {
			asked <- struct{}{}
			return <-answer, nil
		}})
		ends := make(chan string, 2)
		for _, city := range []string{"Rome", "Oslo"} {
			go func() { ends <- callTool(t, ts, "write", `{"city":"`+city+`"}`).Text }()
		}
		synctest.Wait() // one is asked about, the other waits for its turn
		answer <- approval.Decision{Allow: true, Remember: approval.ScopeTool}
		answer <- approval.Decision{Reason: "asked twice"}
		got := []string{<-ends, <-ends}
		slices.Sort(got)
		check.Same(t, "results", got, []string{`{"city":"Oslo"}`, `{"city":"Rome"}`})
		check.Equal(t, "questions", len(asked), 1)
	})
}

// A decision that edits arguments holds for one call: the model's own arguments were not allowed.
func TestEditedArgumentsAreNotRemembered(t *testing.T) {
	for _, scope := range []approval.Scope{approval.ScopeArguments, approval.ScopeTool, approval.ScopeServer} {
		asked := 0
		ts := annotated().open(t, &Options{Approve: counted(&asked, approval.Decision{Allow: true, Arguments: json.RawMessage(`{"city":"Oslo"}`), Remember: scope})})
		for range 2 {
			r := callTool(t, ts, "write", `{"city":"Rome"}`)
			check.Equal(t, scope, r.Text, "[the user changed the arguments to {\"city\":\"Oslo\"}]\n{\"city\":\"Oslo\"}")
		}
		check.Equal(t, fmt.Sprint(scope, ": questions"), asked, 2)
	}
}
