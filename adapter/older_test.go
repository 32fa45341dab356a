package adapter

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/inquiry"
	"github.com/mcpchain/mcpchain/internal/testenv/memhttp"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// dialed is a transport with the identity "x". Each connection reaches a new server of make.
type dialed struct {
	t    *testing.T
	make func() *peer
	end  time.Duration // how long Close of a connection takes

	mu    sync.Mutex
	peers []*peer
}

func (d *dialed) Identity() string { return "x" }

func (d *dialed) Dial(ctx context.Context) (transport.Conn, error) {
	p := d.make()
	conn, err := p.transport(d.t).Dial(ctx)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.peers = append(d.peers, p)
	return slowEnd{conn, &d.end}, err
}

type slowEnd struct {
	transport.Conn
	end *time.Duration
}

func (c slowEnd) Close() error { time.Sleep(*c.end); return c.Conn.Close() }

func (d *dialed) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.peers)
}

// alive counts the open connections.
func (d *dialed) alive() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(d.peers), ended))
}

// declines declines every form.
var declines = mcp.ElicitationFunc(func(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return &mcp.ElicitResult{Action: mcp.ElicitDecline}, nil
})

// A tool asks by a request, which its SDK refuses in the modern era. It is called again in the older era if repeating
// it is harmless. Current calls keep their connection, and the revision is remembered.
func TestToolThatAsksInTheOldWay(t *testing.T) {
	yes, no := true, false
	for name, tt := range map[string]struct {
		tool    sdk.Tool
		acts    bool // and says so beside the refusal
		server  Server
		want    string
		dials   int
		unknown bool // whether it ran
	}{
		"changes nothing":      {tool: sdk.Tool{Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, want: "decline", dials: 2},
		"nothing more":         {tool: sdk.Tool{Annotations: &sdk.ToolAnnotations{IdempotentHint: true}}, want: "decline", dials: 2},
		"told by its result":   {tool: sdk.Tool{Title: "says", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, want: "decline", dials: 2},
		"says nothing":         {want: "Error: " + errActedFirst.Error(), dials: 2, unknown: true},
		"only adds":            {tool: sdk.Tool{Annotations: &sdk.ToolAnnotations{DestructiveHint: &no}}, want: "Error: " + errActedFirst.Error(), dials: 2, unknown: true},
		"may destroy":          {tool: sdk.Tool{Annotations: &sdk.ToolAnnotations{DestructiveHint: &yes}}, want: "Error: " + errActedFirst.Error(), dials: 2, unknown: true},
		"has acted":            {tool: sdk.Tool{Title: "says", Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, acts: true, want: "Error: " + errActedFirst.Error(), dials: 2, unknown: true},
		"the host repeats it":  {tool: sdk.Tool{Annotations: &sdk.ToolAnnotations{DestructiveHint: &yes}}, server: Server{Policy: Policy{Repeat: func(*mcp.Tool) bool { return true }}}, want: "decline", dials: 2},
		"the revision is set":  {server: Server{Revision: mcp.Revision20260728}, want: "cannot be sent while serving", dials: 1},
		"the options have one": {server: Server{ClientOptions: &mcpclient.Options{Elicitation: declines, Protocol: mcpclient.Protocol{Revision: mcp.Revision20260728}}}, want: "cannot be sent while serving", dials: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var e events
				var cache mcpclient.EraCache
				release, waiting := make(chan bool), make(chan bool, 1)
				d := &dialed{t: t, make: func() *peer {
					p := newSilentPeer().tool("waits", object, saying(func(*sdk.CallToolRequest) string { waiting <- true; <-release; return "waited" }))
					tool := tt.tool
					tool.Name, tool.InputSchema = "asks", json.RawMessage(object)
					p.AddTool(&tool, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
						result, err := asks(ctx, req)
						if err != nil && tt.tool.Title == "says" {
							result, err = say(err.Error()), nil
							result.IsError = true
							if tt.acts {
								result.Content = append(result.Content, &sdk.TextContent{Text: "charged"})
							}
						}
						return result, err
					})
					return p
				}}
				tt.server.Name, tt.server.Transport = "p", d
				ts := open(t, &Options{OnChange: e.hear, ClientOptions: &mcpclient.Options{Elicitation: declines, Protocol: mcpclient.Protocol{EraCache: &cache}}}, tt.server)
				catalog, waited := ts.Catalog(profile.Plain), make(chan *Result)
				go func() { waited <- catalog.Call(t.Context(), call("0", "waits", "")) }()
				<-waiting
				for range 2 { // the second call needs no other connection
					r := catalog.Call(t.Context(), call("1", "asks", ""))
					check.That(t, strings.Contains(r.Text, tt.want) && !strings.Contains(r.Text, "adapter.Server") && r.Interrupted() == tt.unknown,
						"got %q, unknown %v, want %q, %v, and no remedy", r.Text, r.Interrupted(), tt.want, tt.unknown)
					tt.want, tt.unknown = strings.Replace(tt.want, "Error: "+errActedFirst.Error(), "decline", 1), false
				}
				release <- true
				check.Equal(t, "the call in progress", (<-waited).Text, "waited")
				revision, changes := mcp.Revision20260728, 0
				if tt.dials == 2 {
					revision, changes = mcp.Revision20251125, 1
					synctest.Wait()
					check.That(t, d.peers[0].session != nil && ended(d.peers[0]), "the first connection is not closed after its last call")
				}
				check.Equal(t, "revision", ts.Servers()[0].Client.Server().Revision, revision)
				check.Equal(t, "connections", d.count(), tt.dials)
				for _, event := range e.take() {
					check.That(t, event.Kind == RevisionChanged && event.Err != nil && changes != 0, "got the event %+v", event)
					changes--
				}
				check.That(t, changes <= 0, "%d events are missing", changes)
				next := check.Value(mcpclient.Connect(t.Context(), d, &mcpclient.Options{Protocol: mcpclient.Protocol{EraCache: &cache}}))(t)
				check.Equal(t, "revision of the next client", next.Server().Revision, revision)
				_ = next.Close()
			})
		})
	}
}

func ended(p *peer) bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// A server that cannot be reached in the older revision keeps its connection, and is tried only once.
func TestToolThatAsksOfAServerWithOneConnection(t *testing.T) {
	ts := open(t, &Options{ClientOptions: &mcpclient.Options{Elicitation: declines}}, Server{Name: "p", Transport: newPeer().tool("asks", object, asks).tool("echo", object, echo).transport(t)})
	for range 2 {
		r := callTool(t, ts, "asks", "")
		check.That(t, strings.Contains(r.Text, "cannot be sent while serving") && inquiry.Advice(r.Err) != "" && !errors.Is(r.Err, errActedFirst),
			"got %q, %v, want the refusal, with advice for the host alone", r.Text, r.Err)
	}
	check.Equal(t, "the connection in use", callTool(t, ts, "echo", "{}").Text, "{}")
}

// A server that could not be reached for a moment is asked for the older revision again.
func TestToolThatAsksOfABusyServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &dialed{t: t, make: func() *peer {
			p := newSilentPeer()
			p.AddTool(&sdk.Tool{Name: "asks", InputSchema: json.RawMessage(object), Annotations: &sdk.ToolAnnotations{ReadOnlyHint: true}}, asks)
			return p
		}}
		busy := inTurn(d, transportFunc(unreachable), d)
		ts := open(t, &Options{ClientOptions: &mcpclient.Options{Elicitation: declines}}, Server{Name: "p", Transport: busy})
		for _, want := range []string{"cannot be sent while serving", "decline"} {
			check.Contains(t, "the answer", callTool(t, ts, "asks", "").Text, want)
		}
		check.Equal(t, "dials", busy.dials.Load(), 3)
	})
}

// A server over HTTP is rolled back and updated while a toolset uses it. Each call works and runs once, and the toolset
// follows the server's tools. The servers use the official SDK, which has its own errors for unknown revisions.
func TestServerThatChangesItsEra(t *testing.T) {
	for name, newServer := range map[string]func() *peer{"announces changes": newPeer, "does not": newSilentPeer} {
		for _, json := range []bool{true, false} {
			t.Run(name+map[bool]string{true: ", JSON", false: ", SSE"}[json], func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { changeEras(t, newServer, json) })
			})
		}
	}
}

func changeEras(t *testing.T, newServer func() *peer, json bool) {
	var now atomic.Pointer[http.HandlerFunc]
	web := memhttp.New(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*now.Load())(w, r) }))
	defer web.Close()
	stop := func() {}
	var ran atomic.Int32
	run := saying(func(r *sdk.CallToolRequest) string { ran.Add(1); return string(r.Params.Arguments) })
	become := func(tool string, modern bool) {
		s := newServer().tool("echo", object, run).tool(tool, object, echo)
		sessions := &sdk.StreamableHTTPOptions{Stateless: modern, JSONResponse: json}
		h := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.Server }, sessions)
		serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if modern && r.Header.Get("Mcp-Protocol-Version") != mcp.Revision20260728 {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"v","data":{"supported":["2026-07-28"]}}}`)
				return
			}
			h.ServeHTTP(w, r)
		})
		now.Store(&serve)
		stop()
		stop = func() {
			for session := range s.Sessions() {
				_ = session.Close()
			}
		}
	}
	become("first", true)
	ts := open(t, nil, Server{Name: "s", Transport: &mcpclient.HTTP{URL: web.URL(), Client: web.Client()}})
	for i, tool := range []string{"second", "third", "fourth", "fifth"} {
		become(tool, i%2 == 1)
		r := callTool(t, ts, "echo", `{"x":1}`)
		check.That(t, r.Text == `{"x":1}` && int(ran.Load()) == i+1, "%s: got %q, %v; %d calls ran, want %d", tool, r.Text, r.Err, ran.Load(), i+1)
		time.Sleep(time.Minute)
		wantTools(t, ts, "echo", tool)
		status := ts.Servers()[0]
		check.Equal(t, tool+": speaks the modern revision", status.Client.Server().Revision == mcp.Revision20260728, i%2 == 1)
		check.NoError(t, errors.Join(status.Err, status.Ended), tool)
	}
	_ = ts.Close()
	stop()
}
