package browsertest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/adapter/approval"
	"github.com/mcpchain/mcpchain/adapter/profile"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/views"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/demoservers"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/testenv"
	"github.com/mcpchain/mcpchain/mcpclient"
	"github.com/mcpchain/mcpchain/mcpclient/apps"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// chatter is the person at the terminal of the chatbot, who decides on what a view wants.
type chatter struct {
	t     *testing.T
	wants chan string
	says  chan bool
}

func (c *chatter) decide(what string) error {
	c.wants <- what
	if <-c.says {
		return nil
	}
	return apps.ErrDenied
}

func (c *chatter) Approve(_ context.Context, q *approval.Request) (approval.Decision, error) {
	return approval.Decision{Allow: c.decide("call "+q.Definition.Name+" "+string(q.Arguments)) == nil}, nil
}

func (c *chatter) Elicit(context.Context, *mcp.ElicitParams) (*mcp.ElicitResult, error) {
	return nil, apps.ErrDenied
}
func (c *chatter) OpenLink(_ context.Context, _, url string) error { return c.decide(url) }
func (c *chatter) TakeMessage(_ context.Context, server, text string) error {
	return c.decide(server + ": " + text)
}

// hears waits until a view wants something, and decides.
func (c *chatter) hears(what string, yes bool) {
	c.t.Helper()
	check.Contains(c.t, "what the view wants", received(c.t, c.wants), what)
	c.says <- yes
}

// calls calls a tool of a server, and opens the page of its view.
func (c *chatter) calls(name string, server mcpclient.Transport, tool, arguments string) *person {
	c.t.Helper()
	client := check.Value(apps.Declare(&mcpclient.Options{}))(c.t)
	tools := check.Value(adapter.Open(c.t.Context(), []adapter.Server{{Name: name, Transport: server}}, &adapter.Options{ClientOptions: client}))(c.t)
	c.t.Cleanup(func() { _ = tools.Close() })
	service := views.New(views.Options{
		Tools: tools, Person: c, OnCallStart: func(*views.Call) {}, OnCallEnd: func(*views.Call) {},
		Interruptible: func(ctx context.Context) (context.Context, func()) { return ctx, func() {} },
	})
	c.t.Cleanup(service.Close)
	called := check.Value(tools.Catalog(profile.Plain).LookupStored(name, tool, ""))(c.t)
	result := check.Value(called.Client().CallTool(c.t.Context(), tool, json.RawMessage(arguments)))(c.t)
	return open(c.t, &program{url: check.Value(service.Offer(called, json.RawMessage(arguments), result))(c.t)}, nil)
}

// TestViewOfChatbot shows a view on the chatbot's page, and has the person decide on what the view wants.
func TestViewOfChatbot(t *testing.T) {
	t.Parallel()
	servers := check.Value(demoservers.Start())(t)
	t.Cleanup(func() { _ = servers.Close() })
	c := &chatter{t, make(chan string), make(chan bool)}
	page := c.calls("desk", &mcpclient.HTTP{URL: servers.DeskURL}, "visitors", `{"day":"Friday"}`)
	page.see("h1", "View of desk, for visitors")
	page.sees("Visitors on Friday")
	page.sees("Emmy Noether")
	page.inView(day + " && Math.abs(innerHeight - Math.ceil(document.documentElement.getBoundingClientRect().height)) <= 1") // the size that it tells
	page.shoot("chatbot view")

	page.checkIn("Lise Meitner")
	c.hears("check_in", true)
	page.sees("Lise Meitner is checked in.")
	page.checkIn("Maria Mayer")
	c.hears("Maria Mayer", false)
	page.sees("denied by the user")
	page.inView(day, "document.querySelector('#help').click()")
	c.hears("https://desk.example.com/rules", false)
	page.sees("Page: ")
	page.inView(day, "document.querySelector('#tell').click()")
	c.hears("desk: How many visitors are there?", true)
	page.sees("Message: sent")

	page.inView(day, "document.querySelector('#full').click()")
	page.sees("shown inline") // the page has no other mode
	reached := eval[bool](page, "(() => { try { return Boolean(document.querySelector('iframe').contentDocument); } catch { return false; } })()")
	check.That(t, !reached, "the page reaches into the frame: they have one origin")
	page.click("#close", "Close", "#says", "The view is closed")
	page.do(chromedp.Reload())
	page.sees("Visitors on Friday")
}

// TestManyViewsOfChatbot opens pages until one says that there are too many: the browser has six connections for all of
// them, and each page needs one as long as it is open.
func TestManyViewsOfChatbot(t *testing.T) {
	t.Parallel()
	servers := check.Value(demoservers.Start())(t)
	t.Cleanup(func() { _ = servers.Close() })
	c := &chatter{t, make(chan string), make(chan bool)}
	page := c.calls("desk", &mcpclient.HTTP{URL: servers.DeskURL}, "visitors", `{"day":"Friday"}`)
	for opened := 1; ; opened++ {
		check.Require(t, opened < 7, "got %d open pages, want an error", opened)
		page.sees("Visitors on Friday")
		page.checkIn(fmt.Sprint("Visitor ", opened))
		c.hears("check_in", true)
		next := page.another()
		until := next.expectErrors("429")
		next.await("Boolean(document.querySelector('iframe')) || document.body.innerText.includes('too many views are open')")
		if eval[bool](next, "!document.querySelector('iframe')") {
			break
		}
		until()
	}
}

// TestRealViewOfChatbot shows a view of the official repository, which is made with the official library.
func TestRealViewOfChatbot(t *testing.T) {
	t.Parallel()
	servers := testenv.InstallNPM(t, os.DirFS(filepath.Join("..", "..", "..", "evals", "apps", "testdata", "servers")))
	script := filepath.Join(servers.Module("@modelcontextprotocol/server-basic-vanillajs"), "dist", "index.js")
	c := &chatter{t, make(chan string), make(chan bool)}
	page := c.calls("clock", &mcpclient.Command{Path: servers.Node(), Args: []string{script, "--stdio"}}, "get-time", `{}`)
	const clock = "document.getElementById('get-time-btn')"
	page.inView(clock + " && /\\d\\d:\\d\\d/.test(document.body.innerText)")
	page.shoot("chatbot real view")
	page.inView(clock, clock+".click()")
	c.hears("get-time", true)
	page.click("#close", "Close", "#says", "The view is closed")
}
