package adapter

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// namesOf returns the names that models know.
func namesOf(tools []*Tool) []string {
	names := []string{}
	for _, tool := range tools {
		names = append(names, tool.Name())
	}
	return names
}

func toolNamesOf(ts *Toolset) []string { return namesOf(ts.Catalog(profile.Plain).Tools()) }

func TestAddAndRemove(t *testing.T) {
	var events []Event
	a := newPeer().tool("read", object, answer("a")).tool("x", object, echo)
	ts := open(t, &Options{OnChange: func(e Event) { events = append(events, e) }}, Server{Name: "a", Transport: a.transport(t)})
	old, _ := ts.Catalog(profile.Plain).Lookup("read")

	b := newPeer().tool("read", object, answer("b"))
	check.Must(t, ts.Add(t.Context(), Server{Name: "b", Transport: b.transport(t)}))
	wantTools(t, ts, "a__read", "x", "b__read")
	check.Equal(t, "a tool that was given out", old.Name(), "read")
	check.Equal(t, "the answer of b", callTool(t, ts, "b__read", "").Text, "b")
	check.Must(t, ts.Remove("b"))
	<-b.ended
	wantTools(t, ts, "read", "x")
	check.Same(t, "events", events, []Event{{Server: "b", Kind: ServerAdded, Added: []string{"read"}}})
}

func TestAddThatFails(t *testing.T) {
	a := newPeer().tool("x", object, echo)
	ts := open(t, nil, Server{Name: "a", Transport: a.transport(t)})
	for _, s := range []Server{{Name: "a", Transport: transportFunc(unreachable)}, {Name: "b", Transport: transportFunc(unreachable)}, {Name: "c"}} {
		check.Text(t, ts.Add(t.Context(), s), "", s.Name)
	}
	check.Equal(t, "servers", len(ts.Servers()), 1)
	wantTools(t, ts, "x")
	check.Must(t, ts.Close())
	check.Is(t, ts.Add(t.Context(), Server{Name: "d", Transport: transportFunc(unreachable)}), errToolsetClosed, "the toolset closed")
	check.Is(t, ts.Refresh(t.Context()), errToolsetClosed, "the toolset closed")
}

func TestRefreshOnDemand(t *testing.T) {
	var events []Event
	p := newSilentPeer().tool("a", object, echo).tool("b", object, echo).tool("c", object, echo)
	ts := p.open(t, &Options{OnChange: func(e Event) { events = append(events, e) }})
	before, _ := ts.Catalog(profile.Plain).Lookup("a")
	p.RemoveTools("b")
	p.tool("c", queried, echo).tool("d", object, echo)
	check.Must(t, ts.Refresh(t.Context(), "p"))
	wantTools(t, ts, "a", "c", "d")
	after, _ := ts.Catalog(profile.Plain).Lookup("a")
	check.Equal(t, "a tool that is the same", after, before)
	check.NoError(t, ts.Refresh(t.Context())) // without an event, because nothing has changed
	check.Same(t, "events", events, []Event{{Server: "p", Kind: ToolsChanged, Added: []string{"d"}, Removed: []string{"b"}, Changed: []string{"c"}}})
	check.Text(t, ts.Refresh(t.Context(), "q"), "", "no error for a server that is not there")
}

func TestRefreshThatFails(t *testing.T) {
	list := `[{"name":"a","inputSchema":{"type":"object"}}]`
	transport, _ := scriptedBy(t, func(method string) string { return map[string]string{"tools/list": `{"tools":` + list + `}`}[method] })
	ts := open(t, &Options{ClientOptions: &legacy}, Server{Name: "p", Transport: transport})
	list = `"?"`
	err := ts.Refresh(t.Context())
	check.Is(t, err, mcp.ErrInvalidResult)
	check.Text(t, err, `refresh toolset: server "p"`)
	wantTools(t, ts, "a")
}

func TestRefreshConnectsAgain(t *testing.T) {
	p, q := newSilentPeer().tool("a", object, answer("first")), newSilentPeer().tool("a", object, answer("second"))
	again := inTurn(transportFunc(unreachable), p.transport(t), transportFunc(unreachable), q.transport(t))
	var kinds []EventKind
	ts := open(t, &Options{Policy: Policy{Start: StartAvailable}, retryWait: -1, OnChange: func(e Event) { kinds = append(kinds, e.Kind) }}, Server{Name: "p", Transport: again})
	check.Fails(t, ts.Servers()[0].Err, "a server that cannot be reached")
	check.Must(t, ts.Refresh(t.Context()))
	catalog := ts.Catalog(profile.Plain)
	check.Equal(t, "the server reached", catalog.Call(t.Context(), call("1", "a", "")).Text, "first")
	p.die()
	<-ts.Servers()[0].Client.Done()
	check.Is(t, ts.Refresh(t.Context()), errNoDial, "the failure to connect")
	check.Must(t, ts.Refresh(t.Context()))
	check.Equal(t, "the new connection, and its tools as they were offered", catalog.Call(t.Context(), call("1", "a", "")).Text, "second")
	check.Same(t, "events", kinds, []EventKind{ServerAdded, ServerAdded})
}

func TestServerOptions(t *testing.T) {
	long := strings.Repeat("x", 5000)
	a := newPeer().tool("long", object, answer(long)).tool("fails", object, failing("broken"))
	b := newPeer().tool("long", object, answer(long)).tool("fails", object, failing("broken"))
	ts := open(t, &Options{AlwaysPrefix: true},
		Server{Name: "a", Transport: a.transport(t), Policy: Policy{MaxResult: 300},
			Rename: func(tool *mcp.Tool) string { return strings.TrimPrefix(tool.Name, "f") }},
		Server{Name: "b", Transport: b.transport(t)})
	wantTools(t, ts, "a__ails", "a__long", "b__fails", "b__long")
	bytes := len(callTool(t, ts, "a__long", "").Text)
	check.That(t, bytes <= 300, "got %d bytes, want the server's bound", bytes)
	check.Equal(t, "bytes", len(callTool(t, ts, "b__long", "").Text), 5000)
	check.Equal(t, "the tool by its other name", callTool(t, ts, "a__ails", "").Text, "Error: broken")
}
