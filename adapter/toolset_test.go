package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
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

// A server that could not list its tools at first is used and watched after a Refresh.
func TestRefreshOfAServerThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		deaf, l := newListener(t), newListener(t, "a")
		deaf.listless = true
		ts := open(t, &Options{Policy: Policy{Start: StartAvailable}, OnChange: e.hear, retryWait: -1},
			Server{Name: "p", Transport: inTurn(deaf.way, transportFunc(unreachable), l.way)})
		check.Fails(t, ts.Servers()[0].Err, "a server that lists nothing")
		check.Is(t, ts.Refresh(t.Context()), errNoDial)
		check.Is(t, ts.Servers()[0].Err, errNoDial, "the latest reason")
		check.Must(t, ts.Refresh(t.Context()))
		check.NoError(t, ts.Servers()[0].Err)
		wantEvents(t, &e, Event{Server: "p", Kind: ServerAdded, Added: []string{"a"}})
		l.offer("a", "b")
		l.tell(t, "tools")
		wantEvents(t, &e, Event{Server: "p", Kind: ToolsChanged, Added: []string{"b"}})
		wantTools(t, ts, "a", "b")
	})
}

// A callback that does not return does not hide the end of a connection.
func TestRefreshDespiteACallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := newListener(t, "a"), newListener(t, "b")
		release := make(chan bool)
		defer close(release)
		ts := open(t, nil, Server{
			Name: "p", Transport: serving("x", first, second),
			ClientOptions: &mcpclient.Options{OnNotification: func(*mcp.Notification) { <-release }},
		})
		check.Must(t, first.send(t, `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`))
		synctest.Wait()
		_ = first.conn.Close()
		synctest.Wait()
		check.NoError(t, ts.Refresh(t.Context()))
		wantTools(t, ts, "b")
	})
}

// Two refreshes of a lost server connect to it once.
func TestRefreshTwiceAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first := newListener(t, "a")
		way, gate := serving("x", first, newListener(t, "b"), newListener(t, "c")), make(chan struct{}, 2)
		gate <- struct{}{}
		ts := open(t, nil, Server{Name: "p", Transport: transportFunc(func(ctx context.Context) (transport.Conn, error) {
			<-gate
			return way.Dial(ctx)
		})})
		_ = first.conn.Close()
		<-ts.Servers()[0].Client.Done()
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() { check.NoError(t, ts.Refresh(t.Context())) })
		}
		synctest.Wait() // one of them dials, the other one waits for it
		close(gate)
		both.Wait()
		wantTools(t, ts, "b")
		check.Equal(t, "connections", way.dials.Load(), 2)
	})
}

// A client that restarts its server is left alone until it gives up. The toolset then lists the server's tools.
func TestRestartedServerIsListedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		first, second := newListener(t, "a"), newListener(t, "b")
		way := serving("x", first, second)
		opts := &mcpclient.Options{Limits: mcpclient.Limits{Restarts: 5}}
		ts := open(t, &Options{ClientOptions: opts, OnChange: e.hear, retryWait: -1}, Server{Name: "p", Transport: way})
		client := ts.Servers()[0].Client
		_ = first.conn.Close()
		synctest.Wait()
		check.Must(t, ts.Refresh(t.Context())) // waits for the restart
		synctest.Wait()
		wantTools(t, ts, "b")
		check.That(t, ts.Servers()[0].Client == client && way.dials.Load() == 2, "got %d connections, want 2 of the same client", way.dials.Load())
		_ = second.conn.Close()
		time.Sleep(time.Minute) // the client gives up
		tried := way.dials.Load()
		check.Is(t, ts.Refresh(t.Context()), errNoDial)
		check.Equal(t, "connections with another try", way.dials.Load(), tried+1)
	})
}

// A legacy server may announce changes of its tools without declaring them, also if it has a subscription to its prompts.
func TestAnnouncementsThatAreNotDeclared(t *testing.T) {
	for _, capabilities := range []string{`{"tools":{"listChanged":true}}`, `{"tools":{}}`, `{"tools":{},"prompts":{"listChanged":true}}`} {
		synctest.Test(t, func(t *testing.T) {
			tools := "[]"
			transport, conn := scriptedBy(t, func(method string) string {
				if method == "tools/list" {
					return `{"tools":` + tools + `}`
				}
				return `{"protocolVersion":"2025-11-25","capabilities":` + capabilities + `,"serverInfo":{"name":"s","version":"1"}}`
			})
			heard, opts := 0, legacy
			opts.OnNotification = func(*mcp.Notification) { heard++ }
			ts := open(t, &Options{ClientOptions: &opts}, Server{Name: "p", Transport: transport})
			synctest.Wait()
			tools = `[{"name":"a","inputSchema":{"type":"object"}}]`
			check.Must(t, conn.Send(t.Context(), []byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)))
			synctest.Wait()
			wantTools(t, ts, "a")
			check.Equal(t, "notices for the host", heard, 1)
		})
	}
}

// OnChange gets events one at a time, in the order of the changes, and may use the toolset. Close waits for it, but not forever.
func TestOnChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newListener(t, "a")
		var ts *Toolset
		var all []string
		ts = open(t, &Options{OnChange: func(e Event) {
			if len(all) == 0 {
				l.offer("c")
				check.Must(t, ts.Refresh(t.Context())) // adds an event
				time.Sleep(time.Minute)
			}
			all = append(all, fmt.Sprint(e.Added, e.Removed))
			if len(all) == 3 {
				time.Sleep(time.Second)
				check.Must(t, ts.Close())
				all = append(all, "closed")
			}
		}}, Server{Name: "p", Transport: l.way})
		l.offer("b")
		check.Must(t, ts.Refresh(t.Context()))
		check.Same(t, "events that Refresh waits for", all, []string{"[b] [a]", "[c] [b]"})
		l.offer("d")
		l.tell(t, "tools")
		synctest.Wait()
		start := time.Now()
		check.Must(t, ts.Close())
		check.Equal(t, "Close waits", time.Since(start), onChangeWait)
		time.Sleep(time.Minute)
		synctest.Wait()
		check.Same(t, "events", all, []string{"[b] [a]", "[c] [b]", "[d] [c]", "closed"})
	})
}

// TestRepeatedMembers checks that a model reads only what the fingerprint covers: of members with the same name the last.
func TestRepeatedMembers(t *testing.T) {
	once := toolWith(t, `{"type":"object","properties":{"a":{"type":"string","description":"one"}}}`)
	twice := toolWith(t, `{"type":"object","properties":{"a":{"type":"string","description":"hidden","description":"one"}}}`)
	check.Equal(t, "fingerprint", twice.Fingerprint(), once.Fingerprint())
	for _, p := range profile.All() {
		shown, err := json.Marshal(newCatalog([]*Tool{twice}, p, minResult).Definitions()[0].Function.Parameters)
		check.That(t, err == nil && !strings.Contains(string(shown), "hidden"), "%s: got %s, %v, want only the last description", p, shown, err)
	}
}

func TestFingerprint(t *testing.T) {
	tool := mcp.Tool{Name: "a", Description: "b", InputSchema: json.RawMessage(`{"type":"object","properties":{"x":{"maximum":9007199254740993}}}`)}
	same := tool
	same.InputSchema = json.RawMessage("{ \"properties\": {\"x\":{\"maximum\":9007199254740993}},\n\"type\":\"object\"}")
	same.Meta, same.Icons = json.RawMessage(`{"x":1,"ui":{"visibility":["app","model"]}}`), []mcp.Icon{{}}
	check.Equal(t, "different fingerprints", Fingerprint(&tool), Fingerprint(&same))
	for name, change := range map[string]func(*mcp.Tool){
		"name":          func(t *mcp.Tool) { t.Name = "c" },
		"shifted":       func(t *mcp.Tool) { t.Name, t.Description = "ab", "" },
		"title":         func(t *mcp.Tool) { t.Title = "c" },
		"description":   func(t *mcp.Tool) { t.Description = "c" },
		"schema":        func(t *mcp.Tool) { t.InputSchema = bytes.Replace(t.InputSchema, []byte("740993"), []byte("740992"), 1) },
		"output schema": func(t *mcp.Tool) { t.OutputSchema = json.RawMessage(`{}`) },
		"visibility":    func(t *mcp.Tool) { t.Meta = json.RawMessage(`{"ui":{"visibility":["model"]}}`) },
		"annotation":    func(t *mcp.Tool) { t.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: new(true)} },
	} {
		changed := tool
		change(&changed)
		check.That(t, Fingerprint(&tool) != Fingerprint(&changed), "%s: got the same fingerprint, want another", name)
	}
}

func TestPins(t *testing.T) {
	first := open(t, nil, Server{Name: "p", Transport: newPeer().tool("a", object, echo).tool("b", object, echo).transport(t)})
	pins := first.Pins()["p"]
	tools := first.Servers()[0].Tools
	check.Same(t, "pins", pins, map[string]string{"a": tools[0].Fingerprint(), "b": tools[1].Fingerprint()})
	ts := newPeer().tool("a", queried, echo).tool("b", object, echo).tool("c", object, echo).openAs(t, nil, Server{Pins: pins})
	wantTools(t, ts, "b")
	for name, want := range map[string]string{"a": "has changed since it was pinned", "c": "is not pinned"} {
		check.Text(t, ts.Servers()[0].Skipped[name], want)
	}
	check.Equal(t, "the caller's pins changed", len(pins), 2)
}

// With Pin the first definition holds: a server cannot swap a tool later.
func TestPinAtFirstUse(t *testing.T) {
	p := newPeer().tool("a", object, echo).tool("b", object, echo)
	ts := p.open(t, &Options{Policy: Policy{Pin: true}})
	p.tool("a", queried, echo)
	check.Must(t, ts.Refresh(t.Context()))
	wantTools(t, ts, "b")
	p.tool("a", object, echo)
	check.Must(t, ts.Refresh(t.Context()))
	wantTools(t, ts, "a", "b")
}

// No profile changes the texts of a tool: the model gets what a person reviewed or pinned.
func TestTextsOfToolsAreUnchanged(t *testing.T) {
	const text = "do \x1b[2J\u0085\u202e\u200b\U000e0041 it"
	encode := func(v any) string { return string(check.Value(json.Marshal(v))(t)) }
	word := encode(text)
	def := &mcp.Tool{Name: "f", Description: text, InputSchema: json.RawMessage(
		`{"type":"object","properties":{"a":{"type":"string","description":` + word + `,"enum":[` + word + `]}},"required":["a"]}`)}
	tool := check.Value(NewFuncTool(def, func(context.Context, json.RawMessage) (*mcp.CallToolResult, error) { return nil, nil }, nil))(t)
	for _, target := range []profile.Profile{profile.Plain, profile.OpenAI, profile.OpenAIStrict, profile.Anthropic, profile.Gemini, profile.GoogleAI} {
		got := tool.Catalog(target).Definitions()[0].Function
		var schema struct {
			Properties struct {
				A struct {
					Description string
					Enum        []string
				}
			}
		}
		check.Must(t, json.Unmarshal([]byte(encode(got.Parameters)), &schema))
		a := schema.Properties.A
		enum := target == profile.GoogleAI || len(a.Enum) == 1 && a.Enum[0] == text // GoogleAI has it in the description
		check.That(t, got.Description == text && strings.HasPrefix(a.Description, text) && enum,
			"%s: got %q and %q, want the texts as they were", target, got.Description, a)
	}
}
