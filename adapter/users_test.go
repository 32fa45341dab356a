package adapter

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
)

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
