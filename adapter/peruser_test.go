package adapter

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/caller"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// conversation is a caller that answers forms with its name, once it may.
type conversation struct {
	user, name string
	asked      chan bool     // a form is open
	answer     chan struct{} // closed: forms are answered
	waits      atomic.Value
	said       chan string // the results of calls
	refused    atomic.Int32
}

func newConversation(user, name string) *conversation {
	return &conversation{user: user, name: name, asked: make(chan bool, 9), answer: make(chan struct{}), said: make(chan string, 1)}
}

// run makes a call in the conversation.
func (c *conversation) run(ctx context.Context, ts *Toolset, tool string) {
	ctx = caller.With(context.WithValue(ctx, userKey{}, c.user), &caller.Caller{
		Elicit: func(context.Context, *mcp.ElicitParams, mcp.ElicitationHandler) (*mcp.ElicitResult, error) {
			c.asked <- true
			<-c.answer
			return &mcp.ElicitResult{Action: mcp.ElicitAccept, Content: map[string]any{"name": c.name}}, nil
		},
		Waiting: func(_ context.Context, why string) { c.waits.Store(why) },
		Unanswered: func(string, error) {
			c.refused.Add(1)
			panic("oops") // the other conversations are told, too
		},
	})
	go func() { c.said <- ts.Catalog(profile.Plain).Call(ctx, call(c.name, tool, "")).Text }()
}

func (c *conversation) waitsFor() string { why, _ := c.waits.Load().(string); return why }

// formServer returns a server whose tool "ask" asks for a name, and whose tool "count" counts its calls.
func formServer() *peer {
	n := 0
	return newSilentPeer().tool("ask", object, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		answer, err := req.Session.Elicit(ctx, nameForm())
		if err != nil {
			return nil, err
		}
		return say(fmt.Sprint(answer.Action, " ", answer.Content["name"])), nil
	}).tool("count", object, saying(func(*sdk.CallToolRequest) string { n++; return fmt.Sprint(n) }))
}

// notHere is the elicitation handler of a host that answers questions only in runs.
var notHere = mcp.ElicitationFunc(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return nil, &mcp.RPCError{Code: mcp.CodeInternalError, Message: "the user was not asked"}
})

func openPerUser(t *testing.T, n int) (*Toolset, *dialed) {
	d := &dialed{t: t, make: formServer}
	return open(t, &Options{
		User:          userFrom,
		ClientOptions: &mcpclient.Options{Elicitation: notHere, Protocol: mcpclient.Protocol{Revision: mcp.Revision20251125}},
	}, Server{Name: "p", Transport: d, PerUser: n}), d
}

// Two users, one of them with two conversations, have open forms at once. Each is asked, and each answer reaches its own call.
func TestFormsOfSeveralPeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts, d := openPerUser(t, 10)
		all := []*conversation{newConversation("grace", "1"), newConversation("linus", "2"), newConversation("grace", "3"), newConversation("linus", "4")}
		for _, c := range all { // at the same moment
			c.run(t.Context(), ts, "ask")
		}
		for _, c := range all {
			<-c.asked
		}
		for _, c := range slices.Backward(all) {
			close(c.answer)
			check.Equal(t, "", <-c.said, "accept "+c.name)
		}
		check.Equal(t, "connections", d.count(), 5)
		time.Sleep(2 * idleStop)
		synctest.Wait()
		check.Equal(t, "connections after a time without calls", d.alive(), 1)
	})
}

// Fifty users share ten connections. Each waits for a turn, is told why, and has state of their own.
func TestManyUsersOfFewConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts, d := openPerUser(t, 10)
		var all []*conversation
		for i := range 50 {
			all = append(all, newConversation(fmt.Sprint("user", i), fmt.Sprint(i)))
			all[i].run(t.Context(), ts, "ask")
		}
		synctest.Wait()
		waiting := len(slices.DeleteFunc(slices.Clone(all), func(c *conversation) bool { return !strings.Contains(c.waitsFor(), "all 10 are in use") }))
		check.That(t, waiting == 40 && d.count() == 11, "got %d who wait and %d connections, want 40 and 11", waiting, d.count())
		most := 0
		for range all {
			synctest.Wait()
			for _, c := range all {
				if len(c.asked) > 0 {
					<-c.asked
					close(c.answer)
					break
				}
			}
			most = max(most, d.alive())
		}
		for _, c := range all {
			check.Equal(t, "", <-c.said, "accept "+c.name)
		}
		check.That(t, most <= 11, "got %d connections at a time, want 11", most)
		for range 2 { // a process that had another user is not used again
			c := newConversation("late", "late")
			c.run(t.Context(), ts, "count")
			got := <-c.said
			check.That(t, got == "1" || got == "2", "got %s calls, want those of the user alone", got)
		}
	})
}

// A conversation waits for the call of another conversation of its user, and is told. An unknown user gets no connection.
func TestConversationsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan bool)
		d := &dialed{t: t, make: func() *peer {
			return newSilentPeer().tool("slow", object, saying(func(*sdk.CallToolRequest) string { <-release; return "done" }))
		}}
		ts := open(t, &Options{ClientOptions: &legacy, User: userFrom}, Server{Name: "p", Transport: d, PerUser: 2})
		first, second := newConversation("grace", "1"), newConversation("grace", "2")
		first.run(t.Context(), ts, "slow")
		synctest.Wait()
		second.run(t.Context(), ts, "slow")
		synctest.Wait()
		check.Equal(t, "", second.waitsFor(), fmt.Sprintf(waitsForCall, "p"))
		release <- true
		release <- true
		check.Equal(t, "", <-first.said+<-second.said, "donedone")
		check.Equal(t, "connections", d.count(), 2)
		r := callTool(t, ts, "slow", "")
		check.That(t, r.Unsent() && strings.Contains(r.Err.Error(), "Options.User"), "got %v, want a call that was not sent", r.Err)
	})
}

// A callback of a conversation that panics fails no call and no process.
func TestPanicsOfCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts, _ := openPerUser(t, 1)
		first, second := newConversation("grace", "1"), newConversation("linus", "2")
		first.run(t.Context(), ts, "ask")
		<-first.asked
		waits := caller.With(context.WithValue(t.Context(), userKey{}, second.user), &caller.Caller{Waiting: func(context.Context, string) { panic("oops") }})
		counted := make(chan string, 1)
		go func() { counted <- ts.Catalog(profile.Plain).Call(waits, call("2", "count", "")).Text }()
		synctest.Wait()
		close(first.answer)
		check.Equal(t, "the call that holds the connection", <-first.said, "accept 1")
		check.Equal(t, "the call that waits", <-counted, "1")
		approves := caller.With(t.Context(), &caller.Caller{Approve: func(approval.Func) approval.Func { panic("oops") }})
		check.Is(t, ts.Catalog(profile.Plain).Call(approves, call("3", "count", "")).Err, ErrUndecided)
	})
}

// A question that may belong to several conversations is not answered for one of them. The server
// gets the reason, and each conversation is told.
func TestQuestionThatMayBelongToSeveral(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var both sync.WaitGroup
		both.Add(2)
		p := newSilentPeer().tool("ask", object, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			both.Done()
			both.Wait()
			return asks(ctx, req)
		})
		opts := legacy
		opts.Elicitation = notHere
		ts := p.open(t, &Options{ClientOptions: &opts})
		all := []*conversation{newConversation("grace", "1"), newConversation("linus", "2")}
		for _, c := range all {
			close(c.answer) // for the question that can only belong to one
			c.run(t.Context(), ts, "ask")
		}
		for _, c := range all {
			got := <-c.said
			check.That(t, !strings.Contains(got, "decline") && (strings.Contains(got, "the user was not asked") || c.refused.Load() != 0), "got %q", got)
		}
		n := all[0].refused.Load() + all[1].refused.Load()
		check.That(t, n >= 2, "%d conversations were told, want both", n)
	})
}

// A tool whose definition differs on the connection of a user is not called there.
func TestToolThatDiffersForAUser(t *testing.T) {
	n := 0
	d := &dialed{t: t, make: func() *peer {
		n++
		return newSilentPeer().tool("x", fmt.Sprintf(`{"type":"object","maxProperties":%d}`, n), answer("x"))
	}}
	r := callTool(t, open(t, &Options{ClientOptions: &legacy}, Server{Name: "p", Transport: d, PerUser: 2}), "x", "")
	staleFor(t, r.Err, &staleToolError{tool: "x", server: "p", reason: toolChanged})
	check.That(t, r.Unsent(), "got %v, want nothing sent", r.Err)
}

// A user's open connection follows changes of the server's tools.
func TestToolsOfAUserChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared, own := newListener(t, "a"), newListener(t, "a")
		ts := open(t, nil, Server{Name: "p", Transport: serving("x", shared, own), PerUser: 1})
		check.Equal(t, "", callTool(t, ts, "a", "").Text, "done")
		shared.offer("a", "b")
		own.offer("a", "b")
		check.NoError(t, ts.Refresh(t.Context()))
		for range 2 {
			check.Equal(t, "a tool that is new", callTool(t, ts, "b", "").Text, "done")
		}
		check.Equal(t, "lists on the user's connection", own.count("tools/list"), 2)
	})
}

// A call ends, and so does the wait for a connection, if its server is removed or the toolset is closed.
func TestWaitEndsWithTheServer(t *testing.T) {
	for name, end := range map[string]func(*Toolset) error{
		"removed": func(ts *Toolset) error { return ts.Remove("p") },
		"closed":  (*Toolset).Close,
	} {
		synctest.Test(t, func(t *testing.T) {
			ts, _ := openPerUser(t, 1)
			first, second := newConversation("grace", "1"), newConversation("linus", "2")
			first.run(t.Context(), ts, "ask")
			<-first.asked
			second.run(t.Context(), ts, "count")
			synctest.Wait()
			check.Equal(t, "", second.waitsFor(), `waits for a connection to the server "p": all 1 are in use`)
			began := time.Now()
			check.NoError(t, end(ts))
			check.Equal(t, name, <-second.said, "Error: the tool's server cannot be reached. Nothing was done.")
			check.Contains(t, name+": the call under way", <-first.said, "may or may not have run")
			check.That(t, time.Since(began) <= time.Minute, "%s: got it after %v, want it at once", name, time.Since(began))
			close(first.answer)
		})
	}
}

// A call that waits for a connection has its own limit of time. A cancelled one fails with the error of its context.
func TestWaitEndsWithTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ts, d := openPerUser(t, 1)
		first := newConversation("grace", "1")
		first.run(t.Context(), ts, "ask")
		<-first.asked
		began := time.Now()
		r := ts.Catalog(profile.Plain).Call(as(t, "linus"), call("2", "count", ""), mcpclient.WithTimeout(time.Second))
		check.That(t, r.Unsent() && time.Since(began) == time.Second, "got %v after %v, want that it was not sent within 1 s", r.Err, time.Since(began))
		check.Is(t, r.Err, context.DeadlineExceeded)
		close(first.answer)
		<-first.said
		d.end = 3 * time.Second // of the connection that makes room
		began = time.Now()
		r = ts.Catalog(profile.Plain).Call(as(t, "linus"), call("2", "count", ""), mcpclient.WithTimeout(time.Second))
		check.That(t, r.Unsent() && time.Since(began) == time.Second, "got %v after %v, want that it was not sent within 1 s", r.Err, time.Since(began))
		check.Equal(t, "", ts.Catalog(profile.Plain).Call(as(t, "linus"), call("3", "count", "")).Text, "1")
		check.Equal(t, "until a connection was closed", time.Since(began), 3*time.Second)
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("no patience"))
	err := await(ctx, nil)
	check.Is(t, err, context.Canceled)
	check.Text(t, err, "no patience")
}

// A call that gives up while it opens its user's connection takes no other call with it: the next
// one opens the connection again.
func TestOpeningOutlivesItsFirstCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialed{t: t, make: formServer}
		way := inTurn(d, transportFunc(silent), d) // the first is that of the list
		catalog := open(t, &Options{ClientOptions: &legacy}, Server{Name: "p", Transport: way, PerUser: 2}).Catalog(profile.Plain)
		first, cancel := context.WithCancel(t.Context())
		cancelled, answered := make(chan *Result), make(chan *Result)
		go func() { cancelled <- catalog.Call(first, call("1", "count", "")) }()
		synctest.Wait()
		go func() { answered <- catalog.Call(t.Context(), call("2", "count", "")) }()
		synctest.Wait()
		cancel()
		check.Is(t, (<-cancelled).Err, context.Canceled, "the call that gave up")
		check.Equal(t, "the other call", (<-answered).Text, "1")
		check.Equal(t, "connections", way.dials.Load(), 3)
	})
}

// TestCloseAwaitsConnections checks that Close cancels the connections that calls and Add are making, and waits for them.
func TestCloseAwaitsConnections(t *testing.T) {
	calls := func(tool string) func(*Toolset, mcpclient.Transport) error {
		return func(ts *Toolset, _ mcpclient.Transport) error {
			return ts.Catalog(profile.Plain).Call(context.Background(), call("1", tool, "")).Err
		}
	}
	for name, connect := range map[string]func(*Toolset, mcpclient.Transport) error{
		"of a user":        calls("p__count"),
		"of a lazy server": calls("z__count"),
		"of an added server": func(ts *Toolset, way mcpclient.Transport) error {
			return ts.Add(context.Background(), Server{Name: "added", Transport: way})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var dialing atomic.Int32
				slow := transportFunc(func(ctx context.Context) (transport.Conn, error) {
					dialing.Add(1)
					defer dialing.Add(-1)
					<-ctx.Done()
					time.Sleep(time.Second) // the end of a process
					return nil, ctx.Err()
				})
				once := func() mcpclient.Transport { return inTurn(&dialed{t: t, make: formServer}, slow) }
				ts := open(t, &Options{ClientOptions: &legacy, AlwaysPrefix: true},
					Server{Name: "p", Transport: once(), PerUser: 1}, Server{Name: "z", Transport: once(), Policy: Policy{Start: StartLazy}})
				check.NoError(t, callTool(t, ts, "z__count", "").Err)
				time.Sleep(time.Hour) // the lazy server becomes idle
				connected := make(chan error, 1)
				go func() { connected <- connect(ts, slow) }()
				synctest.Wait()
				check.Equal(t, "connections being made", dialing.Load(), 1)
				check.NoError(t, ts.Close())
				check.Equal(t, "connections being made after Close", dialing.Load(), 0)
				ts.roster.mu.Lock()
				all := ts.roster.servers
				for _, p := range ts.lender.pools {
					all = append(all, p.conns...)
				}
				for _, s := range all {
					check.Equal(t, "idle timer of "+s.state.label, s.idle, nil)
				}
				ts.roster.mu.Unlock()
				check.Is(t, <-connected, errToolsetClosed)
			})
		})
	}
}

// A toolset may be closed while a call opens the connection of its user.
func TestCloseWhileAConnectionOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialed{t: t, make: formServer}
		way := inTurn(d, inTurn(d).slowly(time.Second)) // the first is that of the list
		ts := open(t, &Options{ClientOptions: &legacy}, Server{Name: "p", Transport: way, PerUser: 1})
		called := make(chan *Result)
		go func() { called <- callTool(t, ts, "count", "") }()
		time.Sleep(time.Second)
		check.NoError(t, ts.Close())
		r := <-called
		check.That(t, r.Err == nil || r.Unsent(), "got %q, want a result, or that nothing was done", r.Text)
	})
}
