package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

func wantTools(t *testing.T, ctx context.Context, c *mcpclient.Client, want string, opts ...mcpclient.CallOption) {
	t.Helper()
	check.Equal(t, "tools", strings.Join(check.Value(collect(c.Tools(ctx, opts...), toolName))(t), " "), want)
}

// wantRead reads resources whose text is the id of the request that fetched it.
func wantRead(t *testing.T, ctx context.Context, c *mcpclient.Client, want string, uris ...string) {
	t.Helper()
	var texts []string
	for _, uri := range uris {
		texts = append(texts, check.Value(c.ReadResource(ctx, uri))(t).Contents[0].Text)
	}
	check.Equal(t, "", strings.Join(texts, " "), want)
}

func TestCache(t *testing.T) {
	rooted := modern()
	rooted.Roots = []mcp.Root{}
	playAll(t, []conversation{
		{name: "cache_modern", opts: modern(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			wantTools(t, ctx, c, "a b")
			wantTools(t, ctx, c, "a b")
			time.Sleep(time.Second)
			wantTools(t, ctx, c, "a b2")
			wantTools(t, ctx, c, "a b2")
			wantTools(t, ctx, c, "a3 b3", mcpclient.WithoutCache())
			wantTools(t, ctx, c, "a3 b3")
			wantTools(t, ctx, c, "a4", mcpclient.WithMeta("k", json.RawMessage("1")))
			check.Is(t, check.Err(collect(c.Prompts(ctx), promptName)), mcp.ErrInvalidResult)
			check.NoError(t, check.Err(collect(c.Prompts(ctx), promptName)))
			raw, err := c.Call(ctx, "tools/list", nil)
			check.That(t, err == nil && strings.Contains(string(raw), "raw"), "a custom call: got %s, %v", raw, err)
		}},
		{name: "cache_cursor_modern", opts: modern(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			wantTools(t, ctx, c, "a b")
			time.Sleep(time.Second)
			wantTools(t, ctx, c, "new") // and no page that the server no longer knows
		}},
		{name: "cache_read_modern", opts: rooted, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			wantRead(t, ctx, c, "2 3 2 3", "file:///a", "file:///b", "file:///a", "file:///b")
			wantRead(t, ctx, c, "5 6 7 8 9 9", slices.Repeat([]string{"file:///r"}, 6)...)
			r, err := c.ReadResource(ctx, "file:///r")
			check.That(t, err == nil && r.TTL == 24*time.Hour, "got the lifetime %v, %v", r.TTL, err)
			check.Fails(t, check.Err(c.ReadResource(ctx, "file:///e")), "")
			wantRead(t, ctx, c, "11 11", "file:///e", "file:///e")
			over, cancel := context.WithCancel(ctx)
			cancel()
			check.Is(t, check.Err(c.ReadResource(over, "file:///e")), context.Canceled, "cancelled")
			check.NoError(t, c.Close())
			check.Is(t, check.Err(c.ReadResource(ctx, "file:///e")), mcpclient.ErrClosed, "closed")
		}},
		{name: "cache_changed_modern", way: "pipe", opts: modern(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			wantTools(t, ctx, c, "a")
			templates := func() { check.NoError(t, check.Err(collect(c.ResourceTemplates(ctx), templateURI))) }
			templates()
			wantRead(t, ctx, c, "4 5 6", "file:///a", "file:///b", "file:///c")
			templates()
			wantRead(t, ctx, c, "8 5 9", "file:///a", "file:///b", "file:///c")
			wantTools(t, ctx, c, "b")
			wantTools(t, ctx, c, "b")
			c.ClearCache()
			wantTools(t, ctx, c, "c")
		}},
		{name: "cache_legacy", opts: legacy(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			wantTools(t, ctx, c, "a")
			wantTools(t, ctx, c, "b")
		}},
	})
}

func TestCacheBounds(t *testing.T) {
	small, off := modern(), modern()
	small.Limits.Cache, off.Limits.Cache = 900, -1
	playAll(t, []conversation{
		{name: "cache_bounds_modern", opts: small, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			wantRead(t, ctx, c, "2 3 2 4 2 4 5", "file:///a", "file:///b", "file:///a", "file:///c", "file:///a", "file:///c", "file:///b")
			long := "file:///" + strings.Repeat("x", 600)
			wantRead(t, ctx, c, "6 7", long, long)
		}},
		{name: "cache_off_modern", opts: off, play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
			wantTools(t, ctx, c, "a")
			wantTools(t, ctx, c, "b")
		}},
	})
}

func TestPages(t *testing.T) {
	playAll(t, []conversation{{name: "cache_cursor_modern", opts: modern(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		first := check.Value(mcpclient.ListPage[mcp.Tool](ctx, c, nil))(t)
		next := "c"
		check.Same(t, "page", first, &mcp.Page[mcp.Tool]{Items: []*mcp.Tool{tool("a", "{}")}, NextCursor: &next, TTL: time.Minute})
		second, err := mcpclient.ListPage[mcp.Tool](ctx, c, first.NextCursor)
		check.That(t, err == nil && second.NextCursor == nil && second.Items[0].Name == "b", "got %+v, %v", second, err)
		time.Sleep(time.Second)
		_, err = mcpclient.ListPage[mcp.Tool](ctx, c, first.NextCursor)
		e := wantError[*mcp.RPCError](t, err)
		check.That(t, e.Code == mcp.CodeInvalidParams && strings.Contains(err.Error(), "tools/list: "), "got %v", err)
		again, err := mcpclient.ListPage[mcp.Tool](ctx, c, nil)
		check.That(t, err == nil && again.Items[0].Name == "new", "got %+v, %v", again, err)
	}}})
}

// keeper answers every request with a result that may be cached for an hour, and counts the requests.
func (p *peer) keeper(asked map[string]int) {
	for m := range p.inbox {
		asked[m.Method]++
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[],"prompts":[],"resources":[],"resourceTemplates":[],"skills":[],"skill":{"uri":"u"},"contents":[],"ttlMs":3600000}}`, m.ID)
	}
}

// Each notification removes the results that it affects from the cache, and no others.
func TestNotificationsInvalidate(t *testing.T) {
	for notice, want := range map[string][]string{
		`{"method":"notifications/tools/list_changed"}`:                                                          {"tools/list"},
		`{"method":"notifications/prompts/list_changed"}`:                                                        {"prompts/list"},
		`{"method":"notifications/resources/list_changed"}`:                                                      {"resources/list", "resources/templates/list", "skills/get", "skills/list"},
		`{"method":"notifications/resources/updated","params":{"uri":"u"}}`:                                      {"resources/read"},
		`{"method":"notifications/resources/updated","params":{"uri":"u/part"}}`:                                 {"resources/read"},
		`{"method":"notifications/resources/updated","params":{"uri":"v"}}`:                                      nil,
		`{"method":"notifications/resources/updated","params":{"uri":"` + strings.Repeat("x", 9<<10) + `"}}`:     {"resources/read"},
		`{"method":"notifications/tasks","params":{"taskId":"k"}}`:                                               nil,
		`{"method":"notifications/message","params":{"level":"info","data":"notifications/tools/list_changed"}}`: nil,
	} {
		peerBubble(t, notice[:min(len(notice), 80)], undeclared(modern()), func(t *testing.T, c *mcpclient.Client, p *peer) {
			asked := map[string]int{}
			go p.keeper(asked)
			all := func() {
				_, tools := mcpclient.ListPage[mcp.Tool](t.Context(), c, nil)
				_, prompts := mcpclient.ListPage[mcp.Prompt](t.Context(), c, nil)
				_, resources := mcpclient.ListPage[mcp.Resource](t.Context(), c, nil)
				_, templates := mcpclient.ListPage[mcp.ResourceTemplate](t.Context(), c, nil)
				_, skills := collect(mcpclient.List[struct{}](t.Context(), c, "skills/list", "skills"), func(*struct{}) string { return "" })
				_, skill := c.Call(t.Context(), "skills/get", map[string]string{"uri": "u"})
				_, read := c.ReadResource(t.Context(), "u")
				check.NoError(t, errors.Join(tools, prompts, resources, templates, skills, skill, read))
			}
			all()
			clear(asked)
			p.send("%s", notice)
			synctest.Wait()
			all()
			check.Same(t, "asked again for", slices.Sorted(maps.Keys(asked)), want)
		})
	}
}

// Cached results belong to one token and one server.
func TestCacheEndsWithTokenAndConnection(t *testing.T) {
	list := func(t *testing.T, c *mcpclient.Client, asked *int, want int) {
		t.Helper()
		for range 2 {
			wantTools(t, t.Context(), c, "")
		}
		check.Equal(t, "asked times", *asked, want)
	}
	const answer = `{"jsonrpc":"2.0","id":%s,"result":{"tools":[],"ttlMs":3600000}}`
	bubble(t, "token", func(t *testing.T) {
		asked, token := 0, new(transport.Bearer)
		c := connectWith(t, httpServer(t, func(w http.ResponseWriter, _ *http.Request, m message) {
			asked++
			fmt.Fprintf(jsonWriter(w), answer, m.ID)
		}), token, modern())
		for i, next := range []string{"one", "one", "two"} {
			check.Must(t, token.ChangeUser(next))
			list(t, c, &asked, []int{1, 1, 2}[i])
		}
		_ = token.Renew("two-b")
		list(t, c, &asked, 2)
	})
	t.Run("connection", func(t *testing.T) {
		restarting(t, modern(), nil, func(t *testing.T, c *mcpclient.Client, transport *peerTransport, p *peer) {
			asked := 0
			for range 2 {
				go p.each(func(m message) {
					asked++
					p.send(answer, m.ID)
				})
				list(t, c, &asked, 1)
				asked = 0
				_ = p.conn.Close()
				p = <-transport.peers
				synctest.Wait() // for the end of the restart
			}
		})
	})
}

// A client whose connection has ended by itself returns nothing from the cache: no notification could say what is outdated.
func TestCacheEndsWithClient(t *testing.T) {
	inBubble(t, modern(), func(t *testing.T, c *mcpclient.Client, p *peer) {
		go p.keeper(map[string]int{})
		wantTools(t, t.Context(), c, "")
		_ = p.conn.Close()
		<-c.Done()
		check.Is(t, check.Err(mcpclient.ListPage[mcp.Tool](t.Context(), c, nil)), mcpclient.ErrClosed)
	})
}

// A result that must not be cached removes the cached one.
func TestUncachedAnswerReplacesCached(t *testing.T) {
	ttl, asked := []int{3600000, 0, 0}, 0
	overModernHTTP(t, func(w http.ResponseWriter, _ *http.Request, m message) {
		fmt.Fprintf(jsonWriter(w), `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","tools":[],"ttlMs":%d}}`, m.ID, ttl[asked])
		asked++
	}, func(t *testing.T, c *mcpclient.Client) {
		wantTools(t, t.Context(), c, "")
		wantTools(t, t.Context(), c, "", mcpclient.WithoutCache())
		wantTools(t, t.Context(), c, "")
		check.Equal(t, "requests", asked, 3)
	})
}
