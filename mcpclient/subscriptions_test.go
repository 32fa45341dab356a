package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

func subscribed(t *testing.T, ctx context.Context, c *mcpclient.Client, f mcp.SubscriptionFilter, opts ...mcpclient.CallOption) *mcpclient.Subscription {
	t.Helper()
	return check.Value(c.Subscribe(ctx, f, opts...))(t)
}

func wantChanges(t *testing.T, s *mcpclient.Subscription, want ...mcp.Change) {
	t.Helper()
	var got []mcp.Change
	for change, err := range s.Changes(t.Context()) {
		check.Require(t, err == nil, "after %v: %v", got, err)
		if got = append(got, change); len(got) == len(want) {
			break
		}
	}
	check.Same(t, "changes", got, want)
}

// wantNoChange checks that no change waits and the subscription has not ended.
func wantNoChange(t *testing.T, s *mcpclient.Subscription) {
	t.Helper()
	ctx := withTimeout(t, time.Millisecond)
	for change, err := range s.Changes(ctx) {
		check.That(t, err != nil, "got %v, %v, want nothing", change, err)
	}
}

// end drops the remaining changes and returns the last error.
func end(s *mcpclient.Subscription) (last error) {
	for _, err := range s.Changes(context.Background()) {
		last = err
	}
	return last
}

func updated(uri string) mcp.Change { return mcp.Change{Kind: mcp.ResourceUpdated, URI: uri} }

var (
	toolsChanged = mcp.Change{Kind: mcp.ToolsChanged}
	stale        = mcp.Change{Kind: mcp.Stale}
	onTools      = mcp.SubscriptionFilter{ToolsListChanged: true}
)

func onResources(uris ...string) mcp.SubscriptionFilter {
	return mcp.SubscriptionFilter{Resources: uris}
}

func TestSubscribeModern(t *testing.T) {
	var observed diary
	opts := modern()
	opts.Timeouts.Call = time.Second // does not bound the stream
	opts.OnNotification = func(n *mcp.Notification) { observed.write("%s", n.Method) }
	playAll(t, []conversation{{name: "subscribe_modern", opts: opts, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		all := mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, Resources: []string{"file:///b", "file:///a", "file:///b"}}
		s := subscribed(t, ctx, c, all)
		check.Same(t, "filter", s.Filter(), mcp.SubscriptionFilter{ToolsListChanged: true, Resources: []string{"file:///a"}})
		synctest.Wait()
		wantChanges(t, s, toolsChanged, updated("file:///a"), updated("file:///a/part"))
		check.Is(t, end(s), mcpclient.ErrSubscriptionEnded)
		seen := observed.read()
		check.That(t, len(seen) == 6 && seen[1] == "notifications/tools/list_changed", "OnNotification: got %v, want all six", seen)
		ping(t, ctx, c)
	}}})
}

// On a shared connection a notification reaches the subscription that it names.
func TestSubscriptionsShareAConnection(t *testing.T) {
	playAll(t, []conversation{{name: "subscribe_shared_modern", way: "pipe", opts: modern(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		one := subscribed(t, ctx, c, onTools)
		two := subscribed(t, ctx, c, onResources("file:///a"))
		wantChanges(t, one, toolsChanged)
		wantChanges(t, two, updated("file:///a"))
		wantNoChange(t, one)
		_ = one.Close()
		_ = one.Close()
		synctest.Wait()
		check.NoError(t, end(one), "closed")
		ping(t, ctx, c)
		wantChanges(t, two, updated("file:///b"), updated("file:///c"))
		wantBoth(t, end(two), mcpclient.ErrSubscriptionEnded, `"going down"`, "cancelled by the server")
		ping(t, ctx, c)
	}}})
}

func TestSubscribeRefused(t *testing.T) {
	undeclared := func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		_, err := c.Subscribe(ctx, mcp.SubscriptionFilter{ToolsListChanged: true, ResourcesListChanged: true, Resources: []string{"file:///a"}})
		check.Is(t, err, mcpclient.ErrUndeclared)
		check.Fails(t, check.Err(c.Subscribe(ctx, mcp.SubscriptionFilter{})), "empty filter")
	}
	playAll(t, bothEras(conversation{name: "subscribe_undeclared", play: undeclared}))
	playAll(t, []conversation{
		{name: "subscribe_refused_modern", opts: modern(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			wantCode(t, check.Err(c.Subscribe(ctx, onTools)), mcp.CodeMethodNotFound)
			check.Is(t, check.Err(c.Subscribe(ctx, onTools)), mcpclient.ErrSubscriptionEnded, "ended before it began")
		}},
		{name: "subscribe_silent_modern", way: "pipe", opts: modern(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			start := time.Now()
			check.Fails(t, check.Err(c.Subscribe(ctx, onTools)))
			check.Equal(t, "by default after", time.Since(start), 30*time.Second)
			synctest.Wait()
			start = time.Now()
			check.Fails(t, check.Err(c.Subscribe(ctx, onTools, mcpclient.WithTimeout(time.Second))))
			check.Equal(t, "after", time.Since(start), time.Second)
		}},
		{name: "subscribe_refused_legacy", opts: legacy(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			wantCode(t, check.Err(c.Subscribe(ctx, onResources("file:///a", "file:///b"))), mcp.CodeResourceNotFound)
			synctest.Wait()
			check.Is(t, check.Err(c.Subscribe(ctx, onResources("file:///s"), mcpclient.WithTimeout(time.Second))), context.DeadlineExceeded, "silent server")
		}},
	})
}

// The changes that wait for a slow reader are bounded.
func TestSubscriptionBounds(t *testing.T) {
	inBubble(t, undeclared(modern()), func(t *testing.T, c *mcpclient.Client, p *peer) {
		go p.acknowledge()
		s := subscribed(t, t.Context(), c, onResources("file:///a"))
		change := func(part int) {
			p.send(`{"method":"notifications/resources/updated","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":2},"uri":"file:///a/%d"}}`, part)
		}
		for part := range 1025 {
			change(part)
		}
		change(5) // the reader does not need it
		synctest.Wait()
		wantChanges(t, s, stale)
		wantNoChange(t, s)
		change(7)
		wantChanges(t, s, updated("file:///a/7"))
		check.NoError(t, c.Close())
		check.Is(t, end(s), mcpclient.ErrClosed, "client closed")
	})
}

func TestSubscribeLegacy(t *testing.T) {
	playAll(t, []conversation{{name: "subscribe_legacy", way: "pipe", opts: legacy(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		f := mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, Resources: []string{"file:///a", "file:///b"}}
		one := subscribed(t, ctx, c, f)
		f.PromptsListChanged = false
		check.Same(t, "filter", one.Filter(), f)
		two := subscribed(t, ctx, c, mcp.SubscriptionFilter{ResourcesListChanged: true, Resources: []string{"file:///c", "file:///a"}})
		ping(t, ctx, c)
		wantChanges(t, one, updated("file:///a"), toolsChanged, updated("file:///c/part"))
		wantChanges(t, two, updated("file:///a"), updated("file:///c"), updated("file:///c/part"), mcp.Change{Kind: mcp.ResourcesChanged})
		_ = one.Close()
		synctest.Wait()
		ping(t, ctx, c)
		wantChanges(t, two, updated("file:///a"))
		wantNoChange(t, one)
		_ = two.Close()
	}}})
}

// A broken stream is opened again, and the subscription reports that changes may be missing.
func TestSubscriptionReopened(t *testing.T) {
	playAll(t, []conversation{
		{name: "http_subscribe_cut_modern", way: "json", opts: modern(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			s := subscribed(t, ctx, c, onTools)
			wantChanges(t, s, toolsChanged)
			start := time.Now()
			wantChanges(t, s, stale)
			waited := time.Since(start)
			check.That(t, waited >= 1500*time.Millisecond && waited <= 3*time.Second,
				"got two waits of %v together, want one of about 1 s and one of about 2 s", waited)
			wantChanges(t, s, toolsChanged, stale)
			wantStatus(t, end(s), 404)
		}},
		{name: "http_subscribe_closed_modern", way: "json", opts: modern(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			check.NoError(t, subscribed(t, ctx, c, onTools).Close())
		}},
	})
}

func acknowledgement(m message, notifications string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":%s}%s}}`, m.ID, notifications)
}

// If a server agrees to nothing, subscribing fails. An acknowledgement without a filter means that it agrees to everything.
func TestAgreedToNothing(t *testing.T) {
	inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		go func() { p.send("%s", acknowledgement(p.next(), `,"notifications":{}`)) }()
		check.Is(t, check.Err(c.Subscribe(t.Context(), onTools)), mcpclient.ErrUndeclared)
		p.expect("notifications/cancelled")
		go p.acknowledge()
		check.Same(t, "filter", subscribed(t, t.Context(), c, onTools).Filter(), onTools)
	})
}

// A subscription asks for neither progress nor log messages.
func TestSubscriptionAsksForChangesOnly(t *testing.T) {
	opts := modern()
	opts.LogLevel = "debug"
	inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
		go func() {
			m := p.next()
			meta := string(m.Params.Meta)
			check.That(t, !strings.Contains(meta, "logLevel") && !strings.Contains(meta, "progressToken"), "got %s", meta)
			p.send("%s", acknowledgement(m, `,"notifications":{"toolsListChanged":true}`))
		}()
		subscribed(t, t.Context(), c, onTools, mcpclient.WithProgress(func(mcp.Progress) {}))
	})
}

// A change that already waits is not added again.
func TestChangesAreDistinct(t *testing.T) {
	inBubble(t, undeclared(modern()), func(t *testing.T, c *mcpclient.Client, p *peer) {
		go func() {
			m := p.next()
			p.send("%s", acknowledgement(m, ""))
			for _, uri := range []string{"a", "b", "a", "b", "a"} {
				p.send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":%q,"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, uri, m.ID)
			}
		}()
		s := subscribed(t, t.Context(), c, onResources("a", "b"))
		synctest.Wait()
		wantChanges(t, s, updated("a"), updated("b"))
		wantNoChange(t, s)
	})
}

// Wake and Next report the same changes as Changes, and the end.
func TestChangesInASelect(t *testing.T) {
	inBubble(t, undeclared(modern()), func(t *testing.T, c *mcpclient.Client, p *peer) {
		go func() {
			m := p.next()
			p.send("%s", acknowledgement(m, ""))
			for _, uri := range []string{"a", "b"} {
				p.send(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":%q,"_meta":{"io.modelcontextprotocol/subscriptionId":%s}}}`, uri, m.ID)
			}
			p.send(`{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete"}}`, m.ID)
		}()
		s := subscribed(t, t.Context(), c, onResources("a", "b"))
		var got []mcp.Change
		var last error
		for last == nil {
			<-s.Wake()
			for {
				change, ok, err := s.Next()
				if last = err; !ok {
					break
				}
				got = append(got, change)
			}
		}
		check.Same(t, "changes", got, []mcp.Change{updated("a"), updated("b")})
		check.Is(t, last, mcpclient.ErrSubscriptionEnded)
	})
}

// When a stream is opened again, the cache is cleared, because changes may be missing. The server may agree to less than before.
func TestReopenedSubscriptionForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut := make(chan bool)
		agreed := `,"notifications":{"toolsListChanged":true,"promptsListChanged":true}`
		listed := 0
		s := httpServer(t, func(w http.ResponseWriter, r *http.Request, m message) {
			if m.Method == "tools/list" {
				listed++
				_, _ = fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{"tools":[],"ttlMs":3600000}}`, m.ID)
				return
			}
			stream(w)(acknowledgement(m, agreed))
			agreed = `,"notifications":{"toolsListChanged":true}`
			until(r, cut)
		})
		c := connectTo(t, s, modern())
		sub := subscribed(t, t.Context(), c, onTools)
		for range 2 {
			wantTools(t, t.Context(), c, "")
		}
		check.Same(t, "filter", sub.Filter(), mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true})
		cut <- true
		wantChanges(t, sub, stale)
		check.Same(t, "filter afterwards", sub.Filter(), onTools)
		for range 2 {
			wantTools(t, t.Context(), c, "")
		}
		check.Equal(t, "listed times", listed, 2)
	})
}

// watching runs f with a client in session s-1 of a server with resource subscriptions.
func watching(t *testing.T, f func(t *testing.T, c *mcpclient.Client, s *sessionServer)) {
	t.Helper()
	inSessionWith(t, undeclared(legacy()), f)
}

// After a lost session the resources are subscribed in the new one, for all subscriptions to the same resource.
func TestSubscribeInALostSession(t *testing.T) {
	watching(t, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.forget()
		s.seen()
		together(3, func() { check.NoError(t, check.Err(c.Subscribe(t.Context(), onResources("file:///a", "file:///b")))) })
		got := slices.DeleteFunc(s.seen(), func(what string) bool {
			return !strings.HasPrefix(what, "resources/") || what == "resources/subscribe s-1 2025-11-25"
		})
		if len(got) < 2 || !slices.Equal(slices.Compact(got), []string{"resources/subscribe s-2 2025-11-25"}) {
			t.Errorf("in the new session: got %q, want both resources watched", got) // twice, if one came before the restoring
		}
	})
}

// There is an end to new sessions if the server forgets each at once.
func TestSubscribeInSessionsLostAgain(t *testing.T) {
	watching(t, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.set(func() { s.known, s.lost = "", 1000 })
		s.seen()
		check.Fails(t, check.Err(c.Subscribe(t.Context(), onResources("file:///a"))), "")
		got := s.seen()
		check.That(t, len(got) <= 12, "got %d requests: %q", len(got), got)
	})
}

// A subscription that was being made when the connection was lost is made on the next one.
func TestSubscribeOnALostConnection(t *testing.T) {
	restarting(t, undeclared(legacy()), nil, func(t *testing.T, c *mcpclient.Client, transport *peerTransport, p *peer) {
		subscribed := background(func() error { return check.Err(c.Subscribe(t.Context(), onResources("file:///a"))) })
		p.expect("resources/subscribe")
		_ = p.conn.Close()
		p = <-transport.peers
		p.answer(p.expect("resources/subscribe"))
		check.NoError(t, <-subscribed)
		p.quiet()
	})
}

// After a timeout the server may watch the resource or not: the next subscription to the resource asks again.
func TestSubscribeAfterSilence(t *testing.T) {
	inBubble(t, undeclared(legacy()), func(t *testing.T, c *mcpclient.Client, p *peer) {
		go func() {
			check.Is(t, check.Err(c.Subscribe(t.Context(), onResources("file:///a"), mcpclient.WithTimeout(time.Second))), context.DeadlineExceeded)
		}()
		p.expect("resources/subscribe")
		second := background(func() error { return check.Err(c.Subscribe(t.Context(), onResources("file:///a"))) })
		m := p.next()
		if m.Method == "notifications/cancelled" { // sent while the test continues
			m = p.next()
		}
		check.That(t, m.Method == "resources/subscribe", "of the second: got %+v", m)
		p.answer(m)
		check.NoError(t, <-second)
	})
}

// If the resources cannot be watched in a new session, their subscription says so, and calls continue.
func TestNewSessionCannotWatch(t *testing.T) {
	watching(t, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		watching, listing := subscribed(t, t.Context(), c, onResources("file:///a")), subscribed(t, t.Context(), c, mcp.SubscriptionFilter{ToolsListChanged: true})
		s.on("resources/subscribe", func(w http.ResponseWriter, _ *http.Request, _ message) bool {
			w.WriteHeader(http.StatusNotImplemented)
			return true
		})
		s.forget()
		ping(t, t.Context(), c)
		for change, err := range watching.Changes(t.Context()) {
			check.That(t, errors.Is(err, mcpclient.ErrSubscriptionEnded) && strings.Contains(err.Error(), "HTTP status 501"), "got %v, %v", change, err)
		}
		wantChanges(t, listing, stale)
	})
}

// A server that is busy when a session begins is asked again later, and the resource counts as changed.
func TestNewSessionWatchesLater(t *testing.T) {
	watching(t, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		sub := subscribed(t, t.Context(), c, onResources("file:///a"))
		busy := 9
		s.on("resources/subscribe", func(w http.ResponseWriter, _ *http.Request, _ message) bool {
			if busy--; busy >= 0 {
				w.WriteHeader(http.StatusServiceUnavailable)
			}
			return busy >= 0
		})
		s.forget()
		ping(t, t.Context(), c)
		wantChanges(t, sub, stale, mcp.Change{Kind: mcp.ResourceUpdated, URI: "file:///a"})
	})
}

// A session in which not all could be restored is replaced: before the next call, which is not sent without it, or without a
// call after a while.
func TestNewSessionIsNotFinished(t *testing.T) {
	for name, wait := range map[string]func(context.Context, *mcpclient.Client) error{
		"call": func(ctx context.Context, c *mcpclient.Client) error {
			err := check.Err(c.CallTool(ctx, "a", nil))
			check.That(t, mcpclient.Unsent(err) && !errors.Is(err, mcpclient.ErrSessionLost), "got %v of a call that was not sent", err)
			return c.Ping(ctx)
		},
		"time": func(context.Context, *mcpclient.Client) error { time.Sleep(2 * time.Minute); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			watching(t, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
				sub := subscribed(t, t.Context(), c, onResources("file:///a"))
				s.on("notifications/initialized", func(w http.ResponseWriter, r *http.Request, _ message) bool {
					session := r.Header.Get("Mcp-Session-Id")
					busy := session == "s-2" || session == "s-3"
					if busy {
						w.WriteHeader(http.StatusServiceUnavailable)
					}
					return busy
				})
				s.forget()
				wantBoth(t, c.Ping(t.Context()), mcpclient.ErrSessionLost, "HTTP status 503")
				check.Must(t, wait(t.Context(), c))
				has(t, s.seen(), "resources/subscribe s-4 2025-11-25", true)
				wantChanges(t, sub, stale)
			})
		})
	}
}

// A server that does not answer when a session begins, or when it is asked again later, is asked once more. It keeps no call
// from the session, and no other subscription from its turn.
func TestNewSessionWatchesAfterSilence(t *testing.T) {
	watching(t, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		sub := subscribed(t, t.Context(), c, onResources("file:///a"))
		var asked atomic.Int32
		silent := make(chan bool)
		s.on("resources/subscribe", func(w http.ResponseWriter, r *http.Request, _ message) bool {
			n := asked.Add(1)
			switch {
			case n == 1:
				<-r.Context().Done()
			case n < 10:
				w.WriteHeader(http.StatusServiceUnavailable)
			case n == 10:
				close(silent)
				<-r.Context().Done()
			}
			return n <= 10
		})
		s.forget()
		ping(t, t.Context(), c)
		<-silent
		subscribed(t, t.Context(), c, onResources("file:///b"))
		wantChanges(t, sub, stale, mcp.Change{Kind: mcp.ResourceUpdated, URI: "file:///a"})
	})
}

// A session that is lost while the resources are watched again is followed by another one, which watches them.
func TestNewSessionIsLostWhileItWatches(t *testing.T) {
	watching(t, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		sub := subscribed(t, t.Context(), c, onResources("file:///a"))
		s.on("resources/subscribe", func(w http.ResponseWriter, r *http.Request, _ message) bool {
			lost := r.Header.Get("Mcp-Session-Id") == "s-2"
			if lost {
				s.forget()
				w.WriteHeader(http.StatusNotFound)
			}
			return lost
		})
		s.forget()
		check.Is(t, c.Ping(t.Context()), mcpclient.ErrSessionLost)
		s.seen()
		ping(t, t.Context(), c)
		has(t, s.seen(), "resources/subscribe s-3 2025-11-25", true)
		wantChanges(t, sub, stale)
	})
}

// Requests to watch go one after the other. Neither another subscription nor a new session waits without end for one
// that the server does not answer.
func TestWatchingWaitsForItsTurn(t *testing.T) {
	watching(t, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		s.on("resources/subscribe", func(_ http.ResponseWriter, r *http.Request, _ message) bool { <-r.Context().Done(); return true })
		ctx, cancel := context.WithCancel(t.Context())
		silent := background(func() error {
			return check.Err(c.Subscribe(ctx, onResources("file:///a"), mcpclient.WithTimeout(time.Hour)))
		})
		synctest.Wait()
		start := time.Now()
		err := check.Err(c.Subscribe(t.Context(), onResources("file:///b"), mcpclient.WithTimeout(time.Second)))
		check.Is(t, err, context.DeadlineExceeded)
		within(t, "another subscription", start, time.Second)
		s.forget()
		start = time.Now()
		wantBoth(t, c.Ping(t.Context()), mcpclient.ErrSessionLost, "could not start a new session")
		within(t, "a new session", start, 30*time.Second)
		cancel()
		check.Is(t, <-silent, context.Canceled)
	})
}

// A subscription that is closed while a session begins waits 5 s for it, and then the log says what the server still does.
func TestUnsubscribeWithoutASession(t *testing.T) {
	opts, log := logs(undeclared(legacy()), slog.LevelWarn)
	inSessionWith(t, opts, func(t *testing.T, c *mcpclient.Client, s *sessionServer) {
		sub := subscribed(t, t.Context(), c, onResources("file:///a"))
		s.on("initialize", func(_ http.ResponseWriter, r *http.Request, _ message) bool { <-r.Context().Done(); return true })
		s.forget()
		go func() { _ = c.Ping(t.Context()) }()
		synctest.Wait()
		check.NoError(t, sub.Close())
		time.Sleep(5*time.Second - 1)
		synctest.Wait()
		check.Equal(t, "log before the end of the wait", log.String(), "")
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		check.Contains(t, "log", log.String(), "the server still watches resources")
	})
}
