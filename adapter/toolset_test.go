package adapter

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// toolNamesOf returns the names that models know.
func toolNamesOf(ts *Toolset) []string {
	names := []string{}
	for _, tool := range ts.Catalog(profile.Plain).Tools() {
		names = append(names, tool.Name())
	}
	return names
}

func TestLookupIsAsCallIs(t *testing.T) {
	p := newPeer().tool("Read", object, answer("ok"))
	ts := open(t, nil, Server{Name: "p", Transport: p.transport(t)})
	for _, name := range []string{"Read", "read", " READ\n"} {
		tool, found := ts.Catalog(profile.Plain).Lookup(name)
		r := ts.Catalog(profile.Plain).Call(t.Context(), call("1", name, ""))
		if !found || r.Tool != tool || r.Text != "ok" {
			t.Errorf("%q: got %v from Lookup and %v from Call, want the same tool", name, tool, r.Tool)
		}
	}
	if _, found := ts.Catalog(profile.Plain).Lookup("write"); found {
		t.Error("got a tool that there is not")
	}
}

func TestAddAndRemove(t *testing.T) {
	var events []Event
	a := newPeer().tool("read", object, answer("a")).tool("x", object, echo)
	ts := open(t, &Options{OnChange: func(e Event) { events = append(events, e) }}, Server{Name: "a", Transport: a.transport(t)})
	old, _ := ts.Catalog(profile.Plain).Lookup("read")

	b := newPeer().tool("read", object, answer("b"))
	check.Must(t, ts.Add(t.Context(), Server{Name: "b", Transport: b.transport(t)}))
	wantTools(t, ts, "a__read", "x", "b__read")
	if old.Name() != "read" {
		t.Errorf("got the name %q for a tool that was given out, want it unchanged", old.Name())
	}
	check.Equal(t, "the answer of b", ts.Catalog(profile.Plain).Call(t.Context(), call("1", "b__read", "")).Text, "b")
	check.Must(t, ts.Remove("b"))
	<-b.ended
	wantTools(t, ts, "read", "x")
	want := []Event{
		{Server: "b", Kind: ServerAdded, Added: []string{"read"}},
		{Server: "b", Kind: ServerRemoved, Removed: []string{"read"}},
	}
	check.Same(t, "events", events, want)
}

func TestAddThatFails(t *testing.T) {
	a := newPeer().tool("x", object, echo)
	ts := open(t, nil, Server{Name: "a", Transport: a.transport(t)})
	for _, s := range []Server{{Name: "a", Transport: transportFunc(unreachable)}, {Name: "b", Transport: transportFunc(unreachable)}, {Name: "c"}} {
		check.Text(t, ts.Add(t.Context(), s), "", s.Name)
	}
	if got := ts.Servers(); len(got) != 1 || len(ts.Catalog(profile.Plain).Tools()) != 1 {
		t.Errorf("got %v, want a alone", got)
	}
	check.Must(t, ts.Close())
	check.Is(t, ts.Add(t.Context(), Server{Name: "d", Transport: transportFunc(unreachable)}), errToolsetClosed, "the toolset closed")
	check.Is(t, ts.Refresh(t.Context()), errToolsetClosed, "the toolset closed")
}

func TestRefreshOnDemand(t *testing.T) {
	var events []Event
	p := newSilentPeer().tool("a", object, echo).tool("b", object, echo).tool("c", object, echo)
	ts := open(t, &Options{OnChange: func(e Event) { events = append(events, e) }}, Server{Name: "p", Transport: p.transport(t)})
	before, _ := ts.Catalog(profile.Plain).Lookup("a")
	p.RemoveTools("b")
	p.tool("c", queried, echo).tool("d", object, echo)
	check.Must(t, ts.Refresh(t.Context(), "p"))
	wantTools(t, ts, "a", "c", "d")
	if after, _ := ts.Catalog(profile.Plain).Lookup("a"); after != before {
		t.Error("got another value for a tool that is the same")
	}
	want := []Event{{Server: "p", Kind: ToolsChanged, Added: []string{"d"}, Removed: []string{"b"}, Changed: []string{"c"}}}
	check.Same(t, "events", events, want)
	if err := ts.Refresh(t.Context()); err != nil || len(events) != 1 {
		t.Errorf("got %v and %v, want no event when nothing has changed", err, events)
	}
	check.Text(t, ts.Refresh(t.Context(), "q"), "", "no error for a server that is not there")
}

func TestRefreshThatFails(t *testing.T) {
	fail := false
	transport, _ := scriptedBy(t, func(method string) string {
		switch {
		case method != "tools/list":
			return ""
		case fail:
			return `{"tools":"?"}`
		}
		return `{"tools":[{"name":"a","inputSchema":{"type":"object"}}]}`
	})
	ts := open(t, &Options{ClientOptions: &legacy}, Server{Name: "p", Transport: transport})
	fail = true
	if err := ts.Refresh(t.Context()); !errors.Is(err, mcp.ErrInvalidResult) || !strings.Contains(err.Error(), `refresh toolset: server "p"`) {
		t.Errorf("got %v, want what went wrong and where", err)
	}
	wantTools(t, ts, "a")
}

func TestRefreshConnectsAgain(t *testing.T) {
	p, q := newSilentPeer().tool("a", object, answer("first")), newSilentPeer().tool("a", object, answer("second"))
	again := inTurn(transportFunc(unreachable), p.transport(t), transportFunc(unreachable), q.transport(t))
	var kinds []EventKind
	ts := open(t, &Options{Policy: Policy{Start: StartAvailable}, retryWait: -1, OnChange: func(e Event) { kinds = append(kinds, e.Kind) }}, Server{Name: "p", Transport: again})
	if ts.Servers()[0].Err == nil {
		t.Fatal("got a server that cannot be reached")
	}
	check.Must(t, ts.Refresh(t.Context()))
	catalog := ts.Catalog(profile.Plain)
	if r := catalog.Call(t.Context(), call("1", "a", "")); r.Text != "first" {
		t.Fatalf("got %q, want the server reached", r.Text)
	}
	p.die()
	<-ts.Servers()[0].Client.Done()
	check.Is(t, ts.Refresh(t.Context()), errNoDial, "the failure to connect")
	check.Must(t, ts.Refresh(t.Context()))
	check.Equal(t, "the new connection, and its tools as they were offered", catalog.Call(t.Context(), call("1", "a", "")).Text, "second")
	if !slices.Equal(kinds, []EventKind{ServerAdded, ServerReturned}) {
		t.Errorf("got the events %v, want one for each connection", kinds)
	}
}

func TestServerOptions(t *testing.T) {
	long := strings.Repeat("x", 5000)
	a := newPeer().tool("long", object, answer(long)).tool("fails", object, failing("broken"))
	b := newPeer().tool("long", object, answer(long)).tool("fails", object, failing("broken"))
	ts := open(t, &Options{AlwaysPrefix: true},
		Server{Name: "a", Transport: a.transport(t), Policy: Policy{MaxResult: 300}, Prefix: "short",
			Rename: func(tool *mcp.Tool) string { return strings.TrimPrefix(tool.Name, "f") }},
		Server{Name: "b", Transport: b.transport(t)})
	wantTools(t, ts, "short__ails", "short__long", "b__fails", "b__long")
	if n := len(ts.Catalog(profile.Plain).Call(t.Context(), call("1", "short__long", "")).Text); n > 300 {
		t.Errorf("got %d bytes, want the server's bound", n)
	}
	check.Equal(t, "bytes", len(ts.Catalog(profile.Plain).Call(t.Context(), call("1", "b__long", "")).Text), 5000)
	if r := ts.Catalog(profile.Plain).Call(t.Context(), call("1", "short__ails", "")); r.Fatal() != nil || r.Err != nil || r.Text != "Error: broken" {
		t.Errorf("got %v and %q, want the failure as text", r.Err, r.Text)
	}
	if r := ts.Catalog(profile.Plain).Call(t.Context(), call("1", "short__ails", `[`)); r.Fatal() != nil || !r.IsError {
		t.Errorf("got %v, want the model's own mistake as text", r.Fatal())
	}
}
