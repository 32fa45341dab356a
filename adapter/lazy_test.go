package adapter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// reached is a transport with an identity that counts its connections.
type reached struct {
	name  string
	dials atomic.Int32
	next  func(ctx context.Context, n int) (transport.Conn, error)
}

func (r *reached) Identity() string { return r.name }

func (r *reached) Dial(ctx context.Context) (transport.Conn, error) {
	return r.next(ctx, int(r.dials.Add(1)))
}

// inTurn returns a transport that connects to the servers in turn, and then to none.
func inTurn(ways ...mcpclient.Transport) *reached {
	return &reached{name: "x", next: func(ctx context.Context, n int) (transport.Conn, error) {
		if n > len(ways) {
			return nil, errNoDial
		}
		return ways[n-1].Dial(ctx)
	}}
}

// slowly makes each connection take a while.
func (r *reached) slowly(d time.Duration) *reached {
	dial := r.next
	r.next = func(ctx context.Context, n int) (transport.Conn, error) {
		select {
		case <-time.After(d):
			return dial(ctx, n)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return r
}

// serving is inTurn for listeners.
func serving(name string, all ...*listener) *reached {
	var ways []mcpclient.Transport
	for _, l := range all {
		ways = append(ways, l.way)
	}
	way := inTurn(ways...)
	way.name = name
	return way
}

// idle waits until idle servers rest.
func idle() {
	synctest.Wait()
	time.Sleep(idleStop + time.Second)
	synctest.Wait()
}

// TestLazyServers opens 25 servers whose tools an earlier program listed. One takes 8 s to connect.
// All tools are there at once without a connection, and the first call connects to one server.
func TestLazyServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := filepath.Join(t.TempDir(), "lists")
		var ways []*reached
		program := func() *Toolset {
			var servers []Server
			ways = nil
			for n := range 25 {
				tool := fmt.Sprint("tool", n)
				way := serving(fmt.Sprint("server ", n), newListener(t, tool), newListener(t, tool))
				if n == 7 {
					way.slowly(8 * time.Second)
				}
				ways = append(ways, way)
				servers = append(servers, Server{Name: fmt.Sprint("s", n), Transport: way, Policy: Policy{Start: StartLazy}})
			}
			return open(t, &Options{Policy: Policy{Start: StartAvailable}, ListDir: lists}, servers...)
		}
		began, first := time.Now(), program()
		took := time.Since(began)
		check.That(t, took == 8*time.Second && ways[7].dials.Load() == 1, "the first program began after %v, want the slow server", took)
		idle()
		check.That(t, first.Servers()[7].Client == nil, "after %v without a call: got a connection, want that the server rests", idleStop)
		_ = first.Close()

		began = time.Now()
		next := program()
		check.Equal(t, "until the next program begins", time.Since(began), 0)
		check.Equal(t, "its tools", len(toolNamesOf(next)), 25)
		for n, s := range next.Servers() {
			check.That(t, s.Client == nil && s.Err == nil && s.Ended == nil && ways[n].dials.Load() == 0,
				"%s: got %+v and %d connections", s.Name, s, ways[n].dials.Load())
		}
		check.NoError(t, next.Refresh(t.Context()))
		check.Equal(t, "connections of servers that rest", ways[3].dials.Load(), 0)
		r := next.Catalog(profile.Plain).Call(t.Context(), call("1", "tool3", ""))
		check.That(t, !r.IsError && ways[3].dials.Load() == 1, "got %+v after %d connections", r, ways[3].dials.Load())
		check.That(t, next.Servers()[3].Client != nil, "got no connection")
		idle()
		s := next.Servers()[3]
		check.That(t, s.Client == nil && s.Err == nil && len(s.Tools) == 1, "after %v without calls: got %+v, want that it rests", idleStop, s)
		read := check.Err(next.ViewAccess("s3", "ui://v").ReadResource(t.Context(), "data://1"))
		check.That(t, errors.Is(read, mcpclient.ErrUndeclared) && next.Servers()[3].Client != nil, "a view reads: got %v, want its answer over a connection", read)
		idle()
		check.That(t, next.Servers()[3].Client == nil, "after the read: got a connection, want that it rests again")
	})
}

// The tools of a server differ from the kept list. A changed tool is not called, and the next catalog has the present tools.
func TestLazyServerThatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e events
		lists := t.TempDir()
		program := func(l ...*listener) *Toolset {
			return open(t, &Options{ListDir: lists, OnChange: e.hear}, Server{Name: "p", Transport: serving("x", l...), Policy: Policy{Start: StartLazy}})
		}
		_ = program(newListener(t, "a", "b")).Close()
		same := program(newListener(t, "a", "b"))
		check.NoError(t, same.Refresh(t.Context(), "p"))
		wantEvents(t, &e) // none
		next := program(newListener(t, "b", "c"))
		wantTools(t, next, "a", "b")
		staleFor(t, callTool(t, next, "a", "").Err, &staleToolError{tool: "a", server: "p", reason: toolGone})
		wantTools(t, next, "b", "c")
		wantEvents(t, &e, Event{Server: "p", Kind: ToolsChanged, Added: []string{"c"}, Removed: []string{"a"}})
		check.Equal(t, "", callTool(t, next, "c", "").Text, "done")
		_ = next.Close()
		third := program()
		wantTools(t, third, "b", "c")
		r := callTool(t, third, "b", "")
		check.That(t, r.Unsent() && strings.Contains(r.Text, "Nothing was done"), "a server that cannot be reached: got %+v", r)
	})
}

// TestLazyServerOfUsers checks that each user gets a connection at their first call, and none before.
func TestLazyServerOfUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := t.TempDir()
		with := func(way *reached) *Toolset {
			return open(t, &Options{ListDir: lists, User: userFrom}, Server{Name: "p", Transport: way, Policy: Policy{Start: StartLazy}, PerUser: 2})
		}
		_ = with(serving("x", newListener(t, "a"))).Close()
		way := serving("x", newListener(t, "a"), newListener(t, "a"))
		ts := with(way)
		for n, name := range []string{"Ada", "Grace", "Ada"} {
			r := ts.Catalog(profile.Plain).Call(as(t, name), call("1", "a", ""))
			check.That(t, !r.IsError && int(way.dials.Load()) == min(n+1, 2), "%s: got %+v after %d connections", name, r, way.dials.Load())
		}
		s := ts.Servers()[0]
		check.That(t, s.Client == nil && s.Err == nil, "got %+v, want that nobody's connection was made", s)
	})
}

// TestListsThatCannotBeUsed connects at once if the kept list is damaged, and works if the list cannot be kept.
func TestListsThatCannotBeUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		way := serving("x", newListener(t, "a"), newListener(t, "a"), newListener(t, "a"))
		server := Server{Name: "p", Transport: way, Policy: Policy{Start: StartLazy}}
		_ = open(t, &Options{ListDir: dir}, server).Close()
		files := check.Value(filepath.Glob(filepath.Join(dir, "*")))(t)
		check.Require(t, len(files) == 1, "got the lists %q, want one", files)
		for i, damaged := range []string{`[{"name":`, `[null]`} {
			check.Must(t, os.WriteFile(files[0], []byte(damaged), 0o600))
			ts := open(t, &Options{ListDir: dir}, server)
			s := ts.Servers()[0]
			check.That(t, s.Client != nil && len(s.Tools) == 1 && int(way.dials.Load()) == i+2, "%s: got %+v after %d connections", damaged, s, way.dials.Load())
			_ = ts.Close()
		}
		check.Text(t, lists(dir).store("x", []*mcp.Tool{{Name: strings.Repeat("x", maxList)}}), "", "a list that is too large was kept")
	})
}

// TestLazyServerThatHangs has a call of a server that cannot be reached in time: the call was not sent, and the model
// reads that.
func TestLazyServerThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := t.TempDir()
		way := serving("x", newListener(t, "a"))
		server := Server{Name: "p", Transport: way, Policy: Policy{Start: StartLazy, ConnectTimeout: 5 * time.Second}}
		check.Must(t, open(t, &Options{ListDir: lists}, server).Close())
		way.slowly(time.Hour)
		r := callTool(t, open(t, &Options{ListDir: lists}, server), "a", "")
		check.That(t, r.Unsent() && strings.Contains(r.Text, "cannot be reached. Nothing was done."),
			"got %q, unsent: %t, want that nothing was done", r.Text, r.Unsent())
	})
}
