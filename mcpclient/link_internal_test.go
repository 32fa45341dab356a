package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient/internal/metakey"
	"github.com/mcpchain/mcpchain/mcpclient/internal/wire"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

const discovered = `"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// served connects to a server that answers with [testenv.Serve], over a connection that can be made to end.
func served(t *testing.T, opts *Options, answer func(m *testenv.Message) string) (*Client, *ending) {
	t.Helper()
	transport, conn := Pipe()
	t.Cleanup(func() { _ = conn.Close() })
	go testenv.Serve(conn, answer)
	e := &ending{Conn: check.Value(transport.Dial(t.Context()))(t)}
	c := check.Value(Connect(t.Context(), e, opts))(t)
	t.Cleanup(func() { _ = c.Close() })
	return c, e
}

// ending is a connection that refuses messages once its reader has seen its end.
type ending struct {
	transport.Conn
	dies func() // called before it refuses; nil before its end
}

func (e *ending) Dial(context.Context) (transport.Conn, error) { return e, nil }

func (e *ending) Send(ctx context.Context, message []byte) error {
	if e.dies == nil {
		return e.Conn.Send(ctx, message)
	}
	e.dies()
	return e.Err()
}

func (e *ending) Err() error {
	if e.dies == nil {
		return nil
	}
	return io.EOF
}

func call(ctx context.Context, c *Client, tool string) <-chan error {
	called := make(chan error, 1)
	go func() { called <- check.Err(c.CallTool(ctx, tool, nil)) }()
	return called
}

// A request that finds its connection closed leaves no context behind.
func TestStartOnAClosedLink(t *testing.T) {
	l := &link{exchange: struct{ wire.Exchanger }{}, observed: true}
	l.calls.Close(io.EOF)
	flight, err := l.start(t.Context(), &legacyEra{}, &request{method: "tools/call"}, &callOptions{})
	check.Is(t, err, io.EOF)
	check.Is(t, flight.ctx.Err(), context.Canceled)
}

// Calls on a lost connection fail with ErrConnectionLost, even if the restart closes it before its reader has ended them.
func TestCallsOfLostConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := served(t, &Options{Limits: Limits{Restarts: 5}}, func(m *testenv.Message) string {
			return map[string]string{"server/discover": discovered}[m.Method]
		})
		called := call(t.Context(), c, "a")
		synctest.Wait()
		l := c.link.Load()
		l.mu.Lock()
		l.err = io.ErrUnexpectedEOF
		close(l.ended)
		l.mu.Unlock()
		_ = c.connector.onLinkEnd(l, io.ErrUnexpectedEOF) // the reader stops here
		err := <-called
		check.Is(t, err, ErrConnectionLost)
		check.Equal(t, "as of a closed client", errors.Is(err, ErrClosed), false)
	})
}

// A message that an ending connection refuses was not sent, even if the end of the connection has failed the call by then.
func TestRefusedByEndingConnection(t *testing.T) {
	for name, err := range map[string]error{"before the reader": nil, "after it": io.ErrUnexpectedEOF} {
		t.Run(name, func(t *testing.T) {
			c, e := served(t, nil, func(*testenv.Message) string { return discovered })
			e.dies = func() {
				if err != nil {
					c.link.Load().calls.Close(err)
				}
			}
			_, got := c.wire.roundTrip(t.Context(), &request{method: "tools/call"}, &callOptions{})
			_, unsent := errors.AsType[*unsentError](got)
			check.That(t, unsent && (err == nil || errors.Is(got, err)), "got %v, want one that was not sent, of %v", got, err)
		})
	}
}

// A connection that refuses messages may still deliver answers, and a restart does not prevent that.
func TestEndingConnectionBringsAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan bool)
		c, e := served(t, &Options{Limits: Limits{Restarts: 5}}, func(m *testenv.Message) string {
			if m.Method == "server/discover" {
				return discovered
			}
			<-release
			return `"result":{"resultType":"complete","content":[]}`
		})
		called := call(t.Context(), c, "a")
		synctest.Wait()
		e.dies = func() {}
		ctx, cancel := context.WithCancel(t.Context())
		_ = call(ctx, c, "b") // waits for the next connection
		synctest.Wait()
		if len(called) > 0 {
			t.Fatalf("got %v before the connection ended", <-called)
		}
		close(release)
		check.NoError(t, <-called)
		cancel()
	})
}

// Followers do not outlive their calls.
func TestFollowersLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := served(t, nil, func(m *testenv.Message) string {
			const working = `"result":{"resultType":"task","taskId":"k","status":"working"}`
			return map[string]string{"server/discover": discovered, "tools/call": working, "tasks/get": working}[m.Method] // nothing waits for tasks/cancel
		})
		progress := WithProgress(func(mcp.Progress) { t.Error("got progress that nobody sent") })
		_, err := c.CallTool(t.Context(), "slow", nil, WithTask(&mcp.Tool{Name: "slow"}), WithTimeout(time.Minute), progress)
		check.Is(t, err, context.DeadlineExceeded)
		synctest.Wait()
		for id := range c.link.Load().followers.Range {
			t.Errorf("call %v has a follower", id)
		}
		check.Equal(t, "requests that wait", len(c.link.Load().calls.Pending()), 0)
	})
}

// A call that is sent again is followed by its last token only.
func TestFollowersMove(t *testing.T) {
	l, next, f := new(link), new(link), new(follower)
	ids := func() string { return fmt.Sprint(maps.Collect(l.followers.Range), maps.Collect(next.followers.Range)) }
	f.follow(l, 1)
	f.follow(l, 2)
	check.Equal(t, "followers", ids(), fmt.Sprintf("map[2:%p] map[]", f))
	f.follow(next, 1)
	f.unfollow()
	check.Equal(t, "followers afterwards", ids(), "map[] map[]")
}

// A server that has forgotten everything is asked again to watch the resources, once for all subscriptions, which
// report that changes may be missing. A resource that no longer exists does not affect the others.
func TestRewatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var methods []string
		gone := "nothing"
		c, _ := served(t, &Options{Protocol: Protocol{Revision: mcp.Revision20251125}}, func(m *testenv.Message) string {
			var params struct{ URI string }
			_ = json.Unmarshal(m.Params, &params)
			methods = append(methods, m.Method+" "+params.URI)
			switch {
			case m.Method == "initialize":
				return `"result":{"protocolVersion":"2025-11-25","capabilities":{"resources":{"subscribe":true}}}`
			case params.URI == gone:
				return `"error":{"code":-32002,"message":"gone"}`
			}
			return `"result":{}`
		})
		var all []*Subscription
		for _, uris := range [][]string{{"file:///a"}, {"file:///b", "file:///a"}} {
			all = append(all, check.Value(c.Subscribe(t.Context(), mcp.SubscriptionFilter{Resources: uris}))(t))
		}
		synctest.Wait()
		methods, gone = nil, "file:///a"
		check.Must(t, c.subscriptions.watchAgain(t.Context()))
		synctest.Wait()
		check.Same(t, "requests", methods, []string{"resources/subscribe file:///a", "resources/subscribe file:///b"})
		for i, s := range all {
			for change, err := range s.Changes(t.Context()) {
				check.That(t, err == nil && change.Kind == mcp.Stale, "subscription %d: got %v, %v, want Stale", i, change, err)
				break
			}
		}
	})
}

// A filter selects its kinds of changes, and a server announces the declared ones.
func TestSubscriptionFilter(t *testing.T) {
	all := mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true, Resources: []string{"b", "a", "b"}, Tasks: []string{"t", "t"}}
	kinds := []mcp.ChangeKind{mcp.ToolsChanged, mcp.PromptsChanged, mcp.ResourcesChanged, mcp.ResourceUpdated, mcp.TaskUpdated}
	list := &mcp.ListCapability{ListChanged: true}
	for name, test := range map[string]struct {
		declared mcp.ServerCapabilities
		want     mcp.SubscriptionFilter
		takes    []mcp.ChangeKind
	}{
		"nothing":         {},
		"no changes":      {declared: mcp.ServerCapabilities{Tools: new(mcp.ListCapability), Prompts: new(mcp.ListCapability), Resources: new(mcp.ListCapability)}},
		"tools":           {mcp.ServerCapabilities{Tools: list}, mcp.SubscriptionFilter{ToolsListChanged: true}, kinds[:1]},
		"prompts":         {mcp.ServerCapabilities{Prompts: list}, mcp.SubscriptionFilter{PromptsListChanged: true}, kinds[1:2]},
		"resources":       {mcp.ServerCapabilities{Resources: &mcp.ListCapability{ListChanged: true}}, mcp.SubscriptionFilter{ResourcesListChanged: true}, kinds[2:3]},
		"each resource":   {mcp.ServerCapabilities{Resources: &mcp.ListCapability{Subscribe: true}}, mcp.SubscriptionFilter{Resources: []string{"a", "b"}}, kinds[3:4]},
		"tasks":           {mcp.ServerCapabilities{Tasks: new(mcp.TaskCapability)}, mcp.SubscriptionFilter{Tasks: []string{"t"}}, kinds[4:]},
		"extension tasks": {mcp.ServerCapabilities{Extensions: map[string]json.RawMessage{metakey.Tasks: nil}}, mcp.SubscriptionFilter{Tasks: []string{"t"}}, kinds[4:]},
	} {
		got := announcedPart(&test.declared, all)
		var takes []mcp.ChangeKind
		for _, kind := range kinds {
			if includesKind(&got, kind) {
				takes = append(takes, kind)
			}
		}
		diff := cmp.Diff(test.want, got) + cmp.Diff(test.takes, takes)
		check.That(t, diff == "" && isEmptyFilter(&got) == (takes == nil), "%s: got empty %t and +, want -:\n%s", name, isEmptyFilter(&got), diff)
	}
	got := distinct(all)
	check.That(t, len(got.Resources) == 2 && includesSubject(&got, mcp.Change{Kind: mcp.ResourceUpdated, URI: "a"}) && !includesSubject(&got, mcp.Change{Kind: mcp.TaskUpdated, Task: "a"}), "got %+v, want each resource once", got)
}
