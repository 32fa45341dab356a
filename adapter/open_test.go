package adapter

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/backoff"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// transportFunc is a function that implements mcpclient.Transport.
type transportFunc func(ctx context.Context) (transport.Conn, error)

func (f transportFunc) Dial(ctx context.Context) (transport.Conn, error) { return f(ctx) }

var errNoDial = errors.New("nobody there")

func unreachable(context.Context) (transport.Conn, error) { return nil, errNoDial }

// silent blocks until the context ends.
func silent(ctx context.Context) (transport.Conn, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func TestOpen(t *testing.T) {
	a := newPeer().tool("read", queried, answer("a reads")).tool("a.only", object, echo)
	b := newPeer().tool("read", queried, answer("b reads"))
	ts := open(t, nil, Server{Name: "a", Transport: a.transport(t)}, Server{Name: "b", Transport: b.transport(t)})
	wantTools(t, ts, "a_only", "a__read", "b__read")
	tool, ok := ts.Catalog(profile.Plain).Lookup("b__read")
	check.That(t, ok && tool.Server() == "b" && tool.Definition().Name == "read" && tool.Client() == ts.Servers()[1].Client, "got %+v, want the tool read of b", tool)
	_, ok = ts.Catalog(profile.Plain).Lookup("read")
	check.That(t, !ok, "got a tool for a name that is not the model's")
	for name, want := range map[string]string{"a__read": "a reads", "b__read": "b reads", " A__READ\n": "a reads"} {
		tool, _ := ts.Catalog(profile.Plain).Lookup(name)
		r := callTool(t, ts, name, `{"query":"x"}`)
		check.That(t, r.Text == want && r.Err == nil && r.Tool == tool, "%s: got %q, %v of %v, want %q of %v", name, r.Text, r.Err, r.Tool, want, tool)
	}
}

func TestDefinitions(t *testing.T) {
	p := newPeer().tool("none", object, echo)
	p.tool("search", `{"type":"object","properties":{"q":{"type":"string","description":"<what>"}},"required":["q"]}`, echo)
	ts := p.open(t, nil)
	defs := ts.Catalog(profile.Plain).Definitions()
	want := `[{"type":"function","function":{"name":"none","description":"Does none.","parameters":{"properties":{},"type":"object"}}},` +
		`{"type":"function","function":{"name":"search","description":"Does search.","parameters":` +
		`{"type":"object","properties":{"q":{"type":"string","description":"\u003cwhat\u003e"}},"required":["q"]}}}]`
	check.Equal(t, "definitions", string(check.Value(json.Marshal(defs))(t)), want)
	defs[0].Function.Name = "changed"
	check.Equal(t, "the caller's change", ts.Catalog(profile.Plain).Definitions()[0].Function.Name, "none")
}

func TestParametersKeepTheSchema(t *testing.T) {
	const empty = `{"type":"object","properties":{}}`
	for schema, want := range map[string]string{
		`{ "type" : "object", "properties" : {} , "x":1.0 }`: `{ "type" : "object", "properties" : {} , "x":1.0 }`,
		`{"type":"object"}`: `{"properties":{},"type":"object"}`, `{}`: empty, ``: empty, `null`: empty,
		`{"$ref":"#/$defs/a","$defs":{"a":{}}}`: `{"type":"object","properties":{},"$ref":"#/$defs/a","$defs":{"a":{}}}`,
	} {
		check.Equal(t, schema, string(toolWith(t, schema).input.Parameters), want)
	}
}

// after fails when the time has passed or the context has ended.
func after(d time.Duration, failure error) transportFunc {
	return func(ctx context.Context) (transport.Conn, error) {
		select {
		case <-time.After(d):
			return nil, failure
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

const advice = " (Policy.Start: StartAvailable continues without servers that fail)"

// The error of Open names all servers that fail, in order. Open waits for nothing else, and logs no server as left out.
func TestOpenNamesEveryFailure(t *testing.T) {
	slow := Server{Name: "slow", Transport: transportFunc(silent), Policy: Policy{Start: StartAvailable}} // would take 30 s
	for want, tt := range map[string]struct {
		servers []Server
		after   time.Duration
	}{
		`server "bad": connect: nobody there`: {[]Server{
			slow, {Name: "bad", Transport: after(time.Second, errNoDial)}, {Name: "late", Transport: after(time.Second+failTogether+1, errors.New("too late"))},
		}, time.Second + failTogether},
		"server \"bad1\": connect: nobody there\nserver \"bad2\": connect: refused": {[]Server{
			{Name: "bad1", Transport: after(failTogether-1, errNoDial)}, {Name: "bad2", Transport: after(0, errors.New("refused"))},
		}, failTogether - 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			var log strings.Builder
			start := time.Now()
			_, err := Open(t.Context(), tt.servers, &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
			check.Is(t, err, errNoDial)
			check.Equal(t, "log", log.String(), "")
			check.Equal(t, "error", err.Error(), "open toolset: "+want+advice)
			check.Equal(t, want, time.Since(start), tt.after)
		})
	}
}

func TestOpenFailureClosesTheOthers(t *testing.T) {
	p := newPeer().tool("x", object, echo)
	listed := make(chan struct{})
	_, err := Open(t.Context(), []Server{
		{Name: "good", Transport: p.transport(t), Filter: func(*mcp.Tool) bool { close(listed); return true }},
		{Name: "bad", Transport: transportFunc(func(context.Context) (transport.Conn, error) { <-listed; return nil, errNoDial })},
	}, nil)
	check.Is(t, err, errNoDial, "the failure of bad")
	<-p.ended
}

func TestStartAvailable(t *testing.T) {
	var log strings.Builder
	p := newPeer().tool("x", object, echo)
	ts := open(t, &Options{Policy: Policy{Start: StartAvailable}, Logger: slog.New(slog.NewTextHandler(&log, nil))},
		Server{Name: "bad", Transport: transportFunc(unreachable)}, Server{Name: "good", Transport: p.transport(t)})
	s := ts.Servers()
	check.That(t, len(s) == 2 && errors.Is(s[0].Err, errNoDial) && s[0].Client == nil && s[1].Err == nil && len(s[1].Tools) == 1, "got %+v, want bad with its error and good with its tool", s)
	wantTools(t, ts, "x")
	check.Contains(t, "log", log.String(), "server=bad")
	check.Is(t, ts.Refresh(t.Context()), errNoDial)
}

// If the caller cancels Open, the error does not advise to change servers.
func TestOpenTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, servers := time.Now(), []Server{{Name: "slow", Transport: transportFunc(silent)}}
		_, err := Open(t.Context(), servers, nil)
		check.That(t, err != nil && strings.Contains(err.Error(), `server "slow"`) && strings.Contains(err.Error(), "ConnectTimeout"), "got %v, want the timeout of slow", err)
		check.Equal(t, "the default of 30 s", time.Since(start), 30*time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = Open(ctx, servers, nil)
		check.Is(t, err, context.DeadlineExceeded)
		check.That(t, strings.Contains(err.Error(), `server "slow": `) && !strings.Contains(err.Error(), advice), "got %v, want slow, and no advice", err)
		check.Is(t, check.Err(Open(ctx, servers, &Options{Policy: Policy{Start: StartAvailable}})), context.DeadlineExceeded, "the end of the caller's context")
	})
}

// A server may have its own revision, which does not change the shared options.
func TestServerRevision(t *testing.T) {
	opts := &mcpclient.Options{Protocol: mcpclient.Protocol{Revision: mcp.Revision20250618}}
	ts := open(t, &Options{ClientOptions: opts},
		Server{Name: "one", Transport: newPeer().transport(t), Revision: mcp.Revision20251125},
		Server{Name: "other", Transport: newPeer().transport(t)},
		Server{Name: "own", Transport: newPeer().transport(t), ClientOptions: &mcpclient.Options{}})
	for i, want := range []string{mcp.Revision20251125, mcp.Revision20250618, mcp.Revision20260728} {
		check.Equal(t, i, ts.Servers()[i].Client.Server().Revision, want)
	}
	check.Equal(t, "in the caller's options", opts.Protocol.Revision, mcp.Revision20250618)
}

func TestServerWithTooManyTools(t *testing.T) {
	p := newPeer().tool("a", object, echo).tool("b", object, echo)
	check.Text(t, check.Err(Open(t.Context(), []Server{{Name: "p", Transport: p.transport(t)}}, &Options{maxTools: 1})), "more than 1 tools", "the bound")
}

// A tool for which a filter or Rename panics is left out.
func TestFilterThatPanics(t *testing.T) {
	var log bytes.Buffer
	p := newPeer().tool("a", object, echo).tool("b", object, echo).tool("c", object, echo)
	panics := func(tool *mcp.Tool, name string) {
		if tool.Name == name {
			panic("oops")
		}
	}
	ts := open(t, &Options{Logger: slog.New(slog.NewTextHandler(&log, nil))}, Server{
		Name: "p", Transport: p.transport(t),
		Filter: func(tool *mcp.Tool) bool { panics(tool, "a"); return true },
		Rename: func(tool *mcp.Tool) string { panics(tool, "c"); return "d" },
	})
	wantTools(t, ts, "d")
	skipped := ts.Servers()[0].Skipped
	check.That(t, len(skipped) == 2 && skipped["a"] != nil && skipped["a"].Error() == `filter at tool "a" panicked: oops`, "got %v, want the panic as the reason why a is left out", skipped)
	check.Contains(t, "the stack in the log", log.String(), "TestFilterThatPanics")
}

// Servers that are late and servers that are added join at the same time.
func TestServersJoinTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := func() mcpclient.Transport { return serving("x", newListener(t, "a")).slowly(2 * time.Second) }
		var e events
		ts := open(t, &Options{Policy: Policy{Start: StartAvailable}, OpenWait: time.Second, OnChange: e.hear},
			Server{Name: "first", Transport: newListener(t, "a").way}, Server{Name: "p", Transport: late()}, Server{Name: "q", Transport: late()})
		var adding sync.WaitGroup
		for _, name := range []string{"r", "s", "t"} {
			adding.Go(func() { check.NoError(t, ts.Add(t.Context(), Server{Name: name, Transport: late()})) })
		}
		adding.Wait()
		time.Sleep(time.Minute)
		got := e.take()
		check.That(t, len(got) == 5 && len(ts.Catalog(profile.Plain).Tools()) == 6, "got the events %v, want 5 servers that joined", got)
	})
}

// TestQuickServersAreNotKeptWaiting opens a toolset as soon as the quick servers are ready. A slow server joins later,
// one that fails late is tried again, and Open waits for a server that is ready within OpenWait.
func TestQuickServersAreNotKeptWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		began := time.Now()
		broken := inTurn(after(0, errNoDial), after(0, backoff.ErrUnattended), after(0, transport.ErrDialedOnce)).slowly(3 * time.Second)
		ts := open(t, &Options{Policy: Policy{Start: StartAvailable}, OpenWait: time.Second, OnChange: e.hear},
			Server{Name: "quick", Transport: serving("quick", newListener(t, "a")).slowly(200 * time.Millisecond)},
			Server{Name: "slow", Transport: serving("slow", newListener(t, "b")).slowly(8 * time.Second)},
			Server{Name: "next", Transport: serving("next", newListener(t, "c")).slowly(900 * time.Millisecond)},
			Server{Name: "broken", Transport: broken})
		check.Equal(t, "until it is open", time.Since(began), 1200*time.Millisecond)
		wantTools(t, ts, "a", "c")
		check.Is(t, ts.Servers()[1].Err, ErrConnecting)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		wantTools(t, ts, "a", "b", "c")
		wantEvents(t, &e, Event{Server: "slow", Kind: ServerAdded, Added: []string{"b"}})
		check.Is(t, ts.Servers()[3].Err, errNoDial)
		check.That(t, broken.dials.Load() == 3, "got %d connections, want that it is tried again", broken.dials.Load())
		check.Equal(t, "", callTool(t, ts, "b", "").Text, "done")
	})
}

// TestLateServers refreshes and removes servers that are still connecting: none is dialed twice, and what was removed stops.
func TestLateServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		opts := &Options{Policy: Policy{Start: StartAvailable}, OpenWait: time.Second, Logger: slog.New(slog.NewTextHandler(&log, nil))}
		slow := serving("slow", newListener(t, "b"), newListener(t, "c")).slowly(8 * time.Second)
		var stopped atomic.Bool
		ts := open(t, opts,
			Server{Name: "quick", Transport: serving("quick", newListener(t, "a"))}, Server{Name: "slow", Transport: slow},
			Server{Name: "gone", Transport: transportFunc(func(ctx context.Context) (transport.Conn, error) {
				defer stopped.Store(true)
				return silent(ctx)
			})})
		check.NoError(t, ts.Remove("gone"))
		synctest.Wait()
		check.Equal(t, "stopped", stopped.Load(), true)
		check.NoError(t, ts.Refresh(t.Context(), "slow"))
		check.Equal(t, "dials", slow.dials.Load(), int32(1))
		wantTools(t, ts, "a", "b")
		check.That(t, !strings.Contains(log.String(), "left out"), "got the log %s", log.String())
	})
}

// TestSlowServerAtTheEnd closes the toolset, or cancels Open, while a server is still connecting. Nothing is left behind.
func TestSlowServerAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := func() []Server {
			return []Server{
				{Name: "quick", Transport: serving("quick", newListener(t, "a"))},
				{Name: "slow", Transport: serving("slow", newListener(t, "b")).slowly(time.Hour)},
			}
		}
		opts := &Options{Policy: Policy{Start: StartAvailable, ConnectTimeout: 2 * time.Hour}, OpenWait: time.Second}
		_ = open(t, opts, servers()...).Close()
		opts.OpenWait = time.Minute
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		check.Is(t, check.Err(Open(ctx, servers(), opts)), context.DeadlineExceeded, "the end of the context")
		ctx, cancel = context.WithCancel(t.Context())
		opts.OpenWait = time.Second
		if ts, err := Open(endsWhenAsked{ctx, cancel}, servers(), opts); err == nil {
			defer ts.Close()
			time.Sleep(2 * time.Hour)
			check.NoError(t, ts.Servers()[1].Err, "a late server of an open toolset")
		}
	})
}

// endsWhenAsked is a context that ends as soon as it has said that it has not.
type endsWhenAsked struct {
	context.Context
	end func()
}

func (c endsWhenAsked) Err() error {
	defer c.end()
	return c.Context.Err()
}
