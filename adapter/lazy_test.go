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
)

// reached is a transport with an identity that counts its connections.
type reached struct {
	name  string
	dials atomic.Int32
	next  func(ctx context.Context, n int) (mcpclient.Conn, error)
}

func (r *reached) Identity() string { return r.name }

func (r *reached) Dial(ctx context.Context) (mcpclient.Conn, error) {
	return r.next(ctx, int(r.dials.Add(1)))
}

// inTurn returns a transport that connects to the servers in turn, and then to none.
func inTurn(ways ...mcpclient.Transport) *reached {
	return &reached{name: "x", next: func(ctx context.Context, n int) (mcpclient.Conn, error) {
		if n > len(ways) {
			return nil, errNoDial
		}
		return ways[n-1].Dial(ctx)
	}}
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
				if dial := way.next; n == 7 {
					way.next = func(ctx context.Context, n int) (mcpclient.Conn, error) {
						time.Sleep(8 * time.Second)
						return dial(ctx, n)
					}
				}
				ways = append(ways, way)
				servers = append(servers, Server{Name: fmt.Sprint("s", n), Transport: way, Policy: Policy{Start: StartLazy}})
			}
			return open(t, &Options{Policy: Policy{Start: StartAvailable}, ListDir: lists}, servers...)
		}
		began := time.Now()
		first := program()
		if took := time.Since(began); took != 8*time.Second || ways[7].dials.Load() != 1 {
			t.Errorf("the first program began after %v, want the slow server", took)
		}
		_ = first.Close()

		began = time.Now()
		next := program()
		if took := time.Since(began); took != 0 || len(toolNamesOf(next)) != 25 {
			t.Errorf("the next program began after %v with %v", took, toolNamesOf(next))
		}
		for n, s := range next.Servers() {
			if s.Client != nil || s.Err != nil || s.Ended != nil || ways[n].dials.Load() != 0 {
				t.Errorf("%s: got %+v and %d connections", s.Name, s, ways[n].dials.Load())
			}
		}
		if err := next.Refresh(t.Context()); err != nil || ways[3].dials.Load() != 0 {
			t.Errorf("Refresh: got %v and %d connections, want that servers rest", err, ways[3].dials.Load())
		}
		if r := next.Catalog(profile.Plain).Call(t.Context(), call("1", "tool3", "")); r.IsError || ways[3].dials.Load() != 1 {
			t.Errorf("got %+v after %d connections", r, ways[3].dials.Load())
		}
		if s := next.Servers()[3]; s.Client == nil {
			t.Errorf("got %+v, want a connection", s)
		}
		synctest.Wait()
		time.Sleep(idleStop + time.Second)
		synctest.Wait()
		if s := next.Servers()[3]; s.Client != nil || s.Err != nil || len(s.Tools) != 1 {
			t.Errorf("after %v without calls: got %+v, want that it rests", idleStop, s)
		}
		read := check.Err(next.ViewAccess("s3", "ui://v").ReadResource(t.Context(), "data://1"))
		if _, unable := errors.AsType[*mcpclient.CapabilityError](read); !unable || next.Servers()[3].Client == nil {
			t.Errorf("a view reads from a server that rests: got %v, want its answer over a connection", read)
		}
		synctest.Wait()
		time.Sleep(idleStop + time.Second)
		synctest.Wait()
		if s := next.Servers()[3]; s.Client != nil {
			t.Errorf("after the read: got %+v, want that it rests again", s)
		}
	})
}

// TestLazyServerThatChanged has a server whose tools differ from the kept list. A changed tool is
// not called, and the next catalog has the present tools.
func TestLazyServerThatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := t.TempDir()
		first := open(t, &Options{ListDir: lists}, Server{Name: "p", Transport: serving("x", newListener(t, "a", "b")), Policy: Policy{Start: StartLazy}})
		_ = first.Close()

		var e events
		next := open(t, &Options{ListDir: lists, OnChange: e.hear}, Server{Name: "p", Transport: serving("x", newListener(t, "b", "c")), Policy: Policy{Start: StartLazy}})
		wantTools(t, next, "a", "b")
		r := next.Catalog(profile.Plain).Call(t.Context(), call("1", "a", ""))
		if stale, ok := errors.AsType[*staleToolError](r.Err); !ok || stale.reason != toolGone {
			t.Errorf("got %+v, want that the tool is gone", r)
		}
		wantTools(t, next, "b", "c")
		if got := e.take(); len(got) != 1 || got[0].Kind != ToolsChanged || len(got[0].Added) != 1 || len(got[0].Removed) != 1 {
			t.Errorf("got the events %+v", got)
		}
		if r := next.Catalog(profile.Plain).Call(t.Context(), call("2", "c", "")); r.IsError {
			t.Errorf("got %+v", r)
		}
		_ = next.Close()

		third := open(t, &Options{ListDir: lists}, Server{Name: "p", Transport: serving("x"), Policy: Policy{Start: StartLazy}})
		wantTools(t, third, "b", "c")
		if r := third.Catalog(profile.Plain).Call(t.Context(), call("3", "b", "")); !r.Unsent() || !strings.Contains(r.Text, "Nothing was done") {
			t.Errorf("a server that cannot be reached: got %+v", r)
		}
	})
}

// TestLazyServerOfUsers checks that each user gets a connection at their first call, and none
// before.
func TestLazyServerOfUsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := t.TempDir()
		user := func(ctx context.Context) string { s, _ := ctx.Value(lazyUser{}).(string); return s }
		with := func(way *reached) *Toolset {
			return open(t, &Options{ListDir: lists, User: user}, Server{Name: "p", Transport: way, Policy: Policy{Start: StartLazy}, PerUser: 2})
		}
		_ = with(serving("x", newListener(t, "a"))).Close()
		way := serving("x", newListener(t, "a"), newListener(t, "a"))
		ts := with(way)
		for n, name := range []string{"Ada", "Grace", "Ada"} {
			ctx := context.WithValue(t.Context(), lazyUser{}, name)
			if r := ts.Catalog(profile.Plain).Call(ctx, call("1", "a", "")); r.IsError || int(way.dials.Load()) != min(n+1, 2) {
				t.Errorf("%s: got %+v after %d connections", name, r, way.dials.Load())
			}
		}
		if s := ts.Servers()[0]; s.Client != nil || s.Err != nil {
			t.Errorf("got %+v, want that nobody's connection was made", s)
		}
	})
}

type lazyUser struct{}

// TestListsThatCannotBeUsed connects at once if the kept list is damaged, and works if the list
// cannot be kept.
func TestListsThatCannotBeUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		way := serving("x", newListener(t, "a"), newListener(t, "a"))
		server := Server{Name: "p", Transport: way, Policy: Policy{Start: StartLazy}}
		_ = open(t, &Options{ListDir: dir}, server).Close()
		files, err := os.ReadDir(dir)
		if err != nil || len(files) != 1 {
			t.Fatalf("got %v, %v", files, err)
		}
		check.Must(t, os.WriteFile(filepath.Join(dir, files[0].Name()), []byte(`[{"name":`), 0o600))
		ts := open(t, &Options{ListDir: dir}, server)
		if s := ts.Servers()[0]; s.Client == nil || len(s.Tools) != 1 || way.dials.Load() != 2 {
			t.Errorf("got %+v after %d connections", s, way.dials.Load())
		}
		_ = ts.Close()
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
		way.next = func(ctx context.Context, _ int) (mcpclient.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		r := open(t, &Options{ListDir: lists}, server).Catalog(profile.Plain).Call(t.Context(), call("1", "a", ""))
		if !r.Unsent() || !strings.Contains(r.Text, "cannot be reached. Nothing was done.") {
			t.Errorf("got %q, unsent: %t, want that nothing was done", r.Text, r.Unsent())
		}
	})
}
