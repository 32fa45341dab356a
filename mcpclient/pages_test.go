package mcpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
	"github.com/mcpchain/mcpchain/mcpclient/transport"
)

// collect returns the names of a list and the error at its end.
func collect[T any](seq iter.Seq2[*T, error], name func(*T) string) (names []string, err error) {
	for item, err := range seq {
		if err != nil {
			return names, err
		}
		names = append(names, name(item))
	}
	return names, nil
}

// wantList checks the names of a list and the error at its end.
func wantList[T any](t *testing.T, seq iter.Seq2[*T, error], name func(*T) string, wantErr error, want ...string) {
	t.Helper()
	names, err := collect(seq, name)
	check.Is(t, err, wantErr)
	check.Same(t, "list", names, want)
}

func toolName(t *mcp.Tool) string                { return t.Name }
func promptName(p *mcp.Prompt) string            { return p.Name }
func resourceURI(r *mcp.Resource) string         { return r.URI }
func templateURI(r *mcp.ResourceTemplate) string { return r.URITemplate }

func TestLists(t *testing.T) {
	play := func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		wantList(t, c.Tools(ctx), func(t *mcp.Tool) string {
			schema := strings.ReplaceAll(string(t.InputSchema), " ", "")
			return fmt.Sprint(t.DisplayName(), " ", schema, " ", t.OutputSchema != nil, " ", t.Annotations != nil && *t.Annotations.ReadOnlyHint)
		}, nil, `a {"type":"object"} false false`, `b {} false false`, `The C {} true true`)
		wantList(t, c.Prompts(ctx), promptName, nil, "p")
		wantList(t, c.Resources(ctx), func(r *mcp.Resource) string { return fmt.Sprint(r.URI, " ", *r.Size) }, nil, "file:///r 9007199254740993")
		wantList(t, c.ResourceTemplates(ctx), templateURI, nil, "file:///{path}")
	}
	broken := func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		tools, err := collect(c.Tools(ctx), toolName)
		check.Text(t, err, "list does not end", "a repeated cursor")
		check.That(t, slices.Equal(tools, []string{"a", "b"}), "tools before the repeated cursor: %q", tools)
		wantList(t, c.Prompts(ctx), promptName, nil, "p") // null for an item
		wantList(t, c.Resources(ctx), resourceURI, nil)   // no items
		check.Is(t, check.Err(collect(c.ResourceTemplates(ctx), templateURI)), mcp.ErrInvalidResult, "an object for the items")
		wantCode(t, check.Err(collect(c.Prompts(ctx), promptName)), mcp.CodeInvalidParams)
	}
	playAll(t, bothEras(conversation{name: "lists", play: play}, conversation{name: "list_broken", play: broken}))
}

// A list whose every page has a new cursor ends with an error.
func TestEndlessList(t *testing.T) {
	eachPeer(t, func(t *testing.T, _ string, c *mcpclient.Client, p *peer) {
		go func() {
			for m := range p.inbox {
				p.send(`{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"a","inputSchema":{}}],"nextCursor":"%s"}}`, m.ID, m.ID)
			}
		}()
		names, err := collect(c.Tools(t.Context()), toolName)
		check.Text(t, err, "list does not end")
		check.Equal(t, "pages", len(names), 1000)
	})
}

// The log reports tolerated violations in lists.
func TestListsWarn(t *testing.T) {
	for page, want := range map[string]string{
		`{"tools":[null,{"name":"a","inputSchema":{}},null]}`: "items that are null\" method=tools/list nulls=2",
		`{"prompts":[]}`: "has no items, not even none\" method=tools/list want=tools",
		`{"tools":null}`: "",
		`{"tools":[]}`:   "",
	} {
		opts, log := logs(legacy(), slog.LevelWarn)
		inBubble(t, opts, func(t *testing.T, c *mcpclient.Client, p *peer) {
			go p.reply(`{"id":%s,"result":%s}`, page)
			check.NoError(t, check.Err(mcpclient.ListPage[mcp.Tool](t.Context(), c, nil)), page)
			text := log.String()
			check.That(t, (text == "") == (want == "") && strings.Contains(text, want), "%s: got the log %q, want %q", page, text, want)
		})
	}
}

// Each range over a list sends new requests, and none after the loop has ended.
func TestListIsLazy(t *testing.T) {
	playAll(t, []conversation{{name: "list_lazy", opts: legacy(), play: func(t *testing.T, ctx context.Context, c *mcpclient.Client) {
		tools := c.Tools(ctx)
		for range 2 {
			for tool, err := range tools {
				check.That(t, err == nil && tool.Name == "a", "got %+v, %v", tool, err)
				break
			}
		}
	}}})
}

// toolPage is the page with one tool and the members behind its tools.
const toolPage = `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"%s","inputSchema":{}}]%s}}`

// A cursor of a legacy session is sent neither in the next one nor to the next server. The modern era has no sessions.
func TestCursorsOfSessions(t *testing.T) {
	for name, opts := range eras() {
		t.Run("restart, "+name, func(t *testing.T) {
			restarting(t, opts, nil, func(t *testing.T, c *mcpclient.Client, transport *peerTransport, p *peer) {
				go p.reply(toolPage, "a", `,"nextCursor":"c"`)
				dying := func(tool *mcp.Tool) string { // the server, after the first page
					if tool.Name == "a" {
						_ = p.conn.Close()
						if p = <-transport.peers; name == "modern" {
							go p.reply(toolPage, "b", "")
						}
					}
					return tool.Name
				}
				if name == "modern" {
					wantList(t, c.Tools(t.Context()), dying, nil, "a", "b")
				} else {
					wantList(t, c.Tools(t.Context()), dying, mcpclient.ErrSessionLost, "a")
				}
				p.quiet()
			})
		})
	}
	bubble(t, "session", func(t *testing.T) {
		s := new(sessionServer)
		var cursors []string // and the session of each
		server := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
			switch session := r.Header.Get("Mcp-Session-Id"); {
			case strings.Contains(m.raw, "cursor"):
				cursors = append(cursors, session)
				s.forget()
			case strings.Contains(m.raw, "tools/list"):
				_, _ = fmt.Fprintf(jsonWriter(w), toolPage, m.ID, "a", `,"nextCursor":"c"`)
				return
			}
			s.ServeHTTP(w, r)
		})
		c := connectTo(t, server, legacy())
		wantList(t, c.Tools(t.Context()), toolName, mcpclient.ErrSessionLost, "a")
		check.Is(t, check.Err(mcpclient.ListPage[mcp.Tool](t.Context(), c, new("c"))), mcpclient.ErrSessionLost, "a page")
		check.Same(t, "cursors in the sessions", cursors, []string{"s-1", "s-2"})
	})
}

// A cursor belongs to the session in which its page was requested, even if another began before the page arrived.
func TestCursorOfSessionBefore(t *testing.T) {
	for name, ping := range map[string]bool{"next session": true, "next user": false} {
		bubble(t, name, func(t *testing.T) {
			s, o := newDiplomat(), legacy()
			token := new(transport.Bearer)
			o.Middleware = []mcpclient.Middleware{handlerOf(func(ctx context.Context, r *mcpclient.Request, next mcpclient.Handler) (json.RawMessage, error) {
				raw, err := next(ctx, r)
				if r.Method == "tools/list" {
					_ = token.ChangeUser("other")
					if ping {
						err = errors.Join(err, r.Client.Ping(ctx))
					}
				}
				return raw, err
			})}
			c := connectWith(t, serve(t, s), token, o)
			s.read()
			wantList(t, c.Tools(t.Context()), toolName, mcpclient.ErrSessionLost, "a")
			seen := s.read()
			has(t, seen, "tools/list s-1", true)
			has(t, seen, "tools/list s-2 Bearer other", false)
		})
	}
}

// If a page had to be requested in a newer session than that of the iteration, its cursor belongs to that session.
func TestCursorOfNextSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(sessionServer)
		s.on("tools/list", func(w http.ResponseWriter, r *http.Request, m message) bool {
			switch {
			case r.Header.Get("Mcp-Session-Id") != "s-2":
				return false
			case strings.Contains(m.raw, "cursor"):
				_, _ = fmt.Fprintf(jsonWriter(w), toolPage, m.ID, "b", "")
			default:
				_, _ = fmt.Fprintf(jsonWriter(w), toolPage, m.ID, "a", `,"nextCursor":"c"`)
			}
			return true
		})
		c := connectTo(t, serve(t, s), legacy())
		s.forget()
		wantList(t, c.Tools(t.Context()), toolName, nil, "a", "b")
	})
}

// A session that begins while a page is requested loses nothing of the list: the cursor of a first
// page from the new session belongs to it, and a cursor of the old one is not sent in another.
func TestCursorWhileSessionBegins(t *testing.T) {
	for name, test := range map[string]struct {
		refused string   // part of the request that gets 401, once
		in      []string // the sessions of the pages
		names   []string
		err     error
	}{
		"before the first page": {`"method":"tools/list"`, []string{"s-2", "s-2"}, []string{"a", "b"}, nil},
		"before the next page":  {`"cursor":"c"`, []string{"s-1"}, []string{"a"}, mcpclient.ErrSessionLost},
	} {
		bubble(t, name, func(t *testing.T) {
			s := newDiplomat()
			s.lax = true
			refused := false
			var in []string // the sessions in which pages were requested
			server := served(t, func(w http.ResponseWriter, r *http.Request, m message) {
				switch {
				case !refused && strings.Contains(m.raw, test.refused):
					refused = true
					w.WriteHeader(http.StatusUnauthorized)
					return
				case m.Method == "tools/list":
					in = append(in, r.Header.Get("Mcp-Session-Id"))
					if strings.Contains(m.raw, "cursor") {
						_, _ = fmt.Fprintf(jsonWriter(w), toolPage, m.ID, "b", "")
						return
					}
				}
				s.ServeHTTP(w, r)
			})
			token := new(transport.Bearer)
			token.Refused = func(context.Context, *transport.Refusal) error { return token.ChangeUser("other") }
			wantList(t, connectWith(t, server, token, legacy()).Tools(t.Context()), toolName, test.err, test.names...)
			check.Same(t, "pages in the sessions", in, test.in)
		})
	}
}

// A cursor of a session that the server has forgotten is not sent while the next one begins.
func TestCursorOfForgottenSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(sessionServer)
		server := serve(t, s)
		var c *mcpclient.Client
		var got error
		h := &mcpclient.HTTP{URL: server.URL(), Client: server.Client(), WrapTransport: watched(func(r *http.Request) {
			if c == nil || r.GetBody == nil {
				return
			}
			body, _ := r.GetBody()
			if raw, _ := io.ReadAll(body); strings.Contains(string(raw), `"initialize"`) {
				_, got = mcpclient.ListPage[mcp.Tool](r.Context(), c, new("c"))
			}
		})}
		c = connected(t, h, legacy())
		s.forget()
		s.seen()
		err := c.Ping(t.Context())
		check.That(t, err == nil && errors.Is(got, mcpclient.ErrSessionLost), "got %v, and %v of the page, want a lost session", err, got)
		wantSeen(t, s, "ping s-1 2025-11-25", "initialize", "notifications/initialized s-2 2025-11-25", "ping s-2 2025-11-25")
	})
}
